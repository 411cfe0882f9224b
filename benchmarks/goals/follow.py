"""A growing session: how soon a write is on screen, what idle following costs."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, Terminal

_COOLED = 6.0
"""Seconds without growth after which a recording is at rest, and looked at as often as any."""


def results(folder: Path, runs: int) -> Iterator[Result]:
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
    yield Result("follow", "write to screen, worst", "", max(delays) * 1e3, 200, "ms")
    yield Result("follow", "write to screen after a rest, worst", "", max(rested) * 1e3, 200, "ms")
    yield Result("follow", "idle, one session followed", "", idle * 100, 1.0, "% of a core")


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
