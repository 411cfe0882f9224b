"""First frames and first screenfuls (goals G2, G3).

G3 is held against three things: an empty app with a raw read of the file (the issue's limit for a file), an empty app
alone and our own first frame (the limits of a recorded session, which ours are for a file and for one in the database).
Whatever is compared runs in turn, one after the other, and the ratios are taken round by round.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, agreed
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import APPS, CTXTUI, EMPTY, PYTHON, Terminal

SHOWN = "first screenful of 10,000 messages, 50 MB"
STORED = "the same session from the database"
OWN = "our own first frame"
APP = "empty Textual app"


def results(folder: Path, runs: int) -> Iterator[Result]:
    """First frame of Home; first screenful of a file and of the same session from the database."""
    env, kept = home(folder / "home"), home(folder / "kept")
    big = session(folder, 10_000, 50_000_000)
    id_ = _stored(big, kept)
    heavy = _loaded(env)
    name = "heavy libraries loaded at the first frame"
    yield Result("G2", name, "", float(len(heavy)), 0.0, "of 9", ", ".join(heavy))
    rounds: list[dict[str, float]] = []
    for number in range(runs + 1):
        one = {
            APP: _frame(EMPTY, env),
            OWN: _frame(CTXTUI, env),
            SHOWN: _screenful(str(big), kept),
            STORED: _screenful(id_, kept),
            "read": _read(big),
        }
        rounds += [one] if number else []  # the first is a warm-up
        if all(agreed([each[which] / each[APP] for each in rounds]) for which in (OWN, SHOWN)):
            break
    yield _held("G2", "first frame of Home", OWN, APP, rounds, 1.2)
    with_read = [{**one, f"{APP} + raw read": one[APP] + one["read"]} for one in rounds]
    yield _held("G3", SHOWN, SHOWN, f"{APP} + raw read", with_read, 1.5)
    for what, which in ((SHOWN, SHOWN), (f"{STORED}, first screenful", STORED)):
        yield _held("G3", what, which, APP, rounds, 1.3)
        yield _held("G3", what, which, OWN, rounds, 1.1)


def _held(goal: str, what: str, ours: str, peer: str, rounds: list[dict[str, float]], limit: float) -> Result:
    value = median(one[ours] / one[peer] for one in rounds)
    note = f"{median(one[ours] for one in rounds) * 1e3:.0f} / {median(one[peer] for one in rounds) * 1e3:.0f} ms"
    return Result(goal, what, peer, value, limit, note=note)


def _frame(command: tuple[str, ...], env: dict[str, str]) -> float:
    with Terminal(command, env=env) as run:
        return run.until_frame()


def _screenful(name: str, env: dict[str, str]) -> float:
    with Terminal([*CTXTUI, name], env=env) as run:
        return run.until_text(MARK.encode())


def _read(path: Path) -> float:
    begun = time.perf_counter()
    path.read_bytes()
    return time.perf_counter() - begun


def _stored(path: Path, env: dict[str, str]) -> str:
    """The id under which a session stands in the database then."""
    command = [*CTXTUI, "import", str(path), "--json"]
    said = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout
    return str(json.loads(said)["imported"][0]["id"])


def _loaded(env: dict[str, str]) -> list[str]:
    """The heavy libraries that are there at Home's first frame."""
    command = [PYTHON, str(APPS / "first_frame.py")]
    said = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout
    return said.split()
