"""First frames and first screenfuls (goals G2, G3).

G3 is held against three things: an empty app with a raw read of the file (the issue's limit for a file), an empty app
alone and our own first frame (the limits of a recorded session, which ours are for a file and for one in the database).
Whatever is compared runs in turn, one after the other, and the ratios are taken round by round, of as many rounds as it
takes until each of them is sure.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.measure import Result, settled, sure
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import APPS, CTXTUI, EMPTY, PYTHON, Terminal

SHOWN = "first screenful of 10,000 messages, 50 MB"
STORED = "the same session from the database"
OWN = "our own first frame"
APP = "empty Textual app"
READ = f"{APP} + raw read"
_MOST: Final = 12.0
"""Seconds at most, for each run that is asked for: eight rounds on a quiet machine."""

Round = dict[str, float]
"""Seconds of each, by what was run."""


class Held(NamedTuple):
    """A figure: what of ours is held against what."""

    goal: str
    name: str
    ours: str
    peer: str
    limit: float

    def of(self, rounds: Sequence[Round]) -> float:
        """The ratio, round by round, the median."""
        return median(one[self.ours] / one[self.peer] for one in rounds)

    def result(self, rounds: Sequence[Round]) -> Result:
        """Its line."""
        ours, peer = (1e3 * median(one[which] for one in rounds) for which in (self.ours, self.peer))
        low, high = sure(self.of, rounds)
        note = f"{ours:.0f} / {peer:.0f} ms; 80 %: {low:.3f} to {high:.3f}; {len(rounds)} rounds"
        return Result(self.goal, self.name, self.peer, self.of(rounds), self.limit, note=note)


FIGURES: Final = (
    Held("G2", "first frame of Home", OWN, APP, 1.2),
    Held("G3", SHOWN, SHOWN, READ, 1.5),
    Held("G3", SHOWN, SHOWN, APP, 1.3),
    Held("G3", SHOWN, SHOWN, OWN, 1.1),
    Held("G3", f"{STORED}, first screenful", STORED, APP, 1.3),
    Held("G3", f"{STORED}, first screenful", STORED, OWN, 1.1),
)


def results(folder: Path, runs: int) -> Iterator[Result]:
    """First frame of Home; first screenful of a file and of the same session from the database."""
    env, kept = home(folder / "home"), home(folder / "kept")
    big = session(folder, 10_000, 50_000_000)
    id_ = _stored(big, kept)
    heavy = _loaded(env)
    name = "heavy libraries loaded at the first frame"
    yield Result("G2", name, "", float(len(heavy)), 0.0, "of 9", ", ".join(heavy))
    rounds: list[Round] = []
    warm, begun = False, time.monotonic()
    while not enough(rounds) and (not rounds or time.monotonic() - begun < runs * _MOST):
        one = {
            APP: _frame(EMPTY, env),
            OWN: _frame(CTXTUI, env),
            SHOWN: _screenful(str(big), kept),
            STORED: _screenful(id_, kept),
        }
        one[READ] = one[APP] + _read(big)
        rounds += [one] if warm else []
        warm = True
    for figure in FIGURES:
        yield figure.result(rounds)


def enough(rounds: Sequence[Round]) -> bool:
    """Whether every figure is sure, not only some of them: all are of the same rounds."""
    return all(settled(figure.of, rounds) for figure in FIGURES)


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
