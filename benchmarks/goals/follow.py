"""A growing session: how soon a write is on screen, what idle following costs."""

from __future__ import annotations

import json
import shutil
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.measure import Result
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, Terminal

_COOLED = 6.0
"""Seconds without growth after which a recording is at rest, and looked at as often as any."""


RATE, SECONDS = 30, 10


def results(folder: Path, runs: int) -> list[Result]:
    """Seconds from a write to its text on screen, and the share of a core used while nothing happens."""
    env = home(folder / "home")
    source = session(folder, 100, 100_000)
    live = folder / "live.jsonl"
    shutil.copy(source, live)
    delays = []
    with Terminal([*CTXTUI, str(live)], env=env) as run:
        run.until_text(MARK.encode())
        run.settle(1.0)
        parent = json.loads(source.read_bytes().rstrip().rsplit(b"\n", 1)[1])
        for number in range(runs * 2):
            delays.append(_seen(run, live, parent, f"written-{number:04d}"))
            run.settle(0.5)
        run.settle(_COOLED, cap=_COOLED)
        used, begun = run.cpu(), time.perf_counter()
        while time.perf_counter() - begun < 20:
            run.read(1.0)
        idle = (run.cpu() - used) / (time.perf_counter() - begun)
        rested = []
        for number in range(runs):
            rested.append(_seen(run, live, parent, f"rested-{number:04d}"))
            run.settle(_COOLED, cap=_COOLED)
    return [
        Result("follow", "write to screen, median", "", median(delays) * 1e3, 200, "ms"),
        Result("follow", "write to screen, worst", "", max(delays) * 1e3, 200, "ms"),
        Result("follow", "write to screen after a rest, worst", "", max(rested) * 1e3, 200, "ms"),
        Result("G10", "idle, one session followed", "", idle * 100, 0.5, "% of a core"),
        *_written_at_30(folder, env),
    ]


def _written_at_30(folder: Path, env: dict[str, str]) -> list[Result]:
    """10,000 messages on the screen, and thirty more each second: what a frame of them all costs, and how many come."""
    source, live = session(folder, 10_000, 10_000_000), folder / "live-long.jsonl"
    shutil.copy(source, live)
    parent = json.loads(source.read_bytes().rstrip().rsplit(b"\n", 1)[1])
    shown: list[float] = []
    with Terminal([*CTXTUI, str(live)], env=env) as run, live.open("ab", buffering=0) as file:
        run.until_text(MARK.encode())
        run.rest(quiet=6.0, cap=300)
        used, begun = run.cpu(), time.perf_counter()
        for number in range(SECONDS * RATE):
            text = f"at-{number:04d}"
            file.write(_record(parent, text))
            # Each message follows the one before, as a client writes them: with one parent each would take the place of
            # the last.
            parent = {**parent, "uuid": f"u-{text}"}
            while (left := begun + (number + 1) / RATE - time.perf_counter()) > 0:
                if run.read(left):
                    shown.append(time.perf_counter())
        took = time.perf_counter() - begun
        share = (run.cpu() - used) / took
    # A frame comes in several pieces.
    frames = sum(b - a > 0.005 for a, b in pairwise(shown))
    return [
        Result(
            "G10", "10,000 messages and 30 more a second, between two frames", "", 1e3 * took / frames, 1e3 / 29, "ms"
        ),
        Result("G10", "the same, processor time", "", 100 * share, 25, "% of a core"),
    ]


def _seen(run: Terminal, path: Path, parent: dict[str, object], text: str) -> float:
    run.forget()
    with path.open("ab") as file:
        file.write(_record(parent, text))
    begun = time.perf_counter()
    run.until_text(text.encode(), cap=1e9)
    return time.perf_counter() - begun


def _record(parent: dict[str, object], text: str) -> bytes:
    record = {
        "type": "user",
        "uuid": f"u-{text}",
        "parentUuid": parent["uuid"],
        "sessionId": parent["sessionId"],
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": text},
    }
    return json.dumps(record).encode() + b"\n"
