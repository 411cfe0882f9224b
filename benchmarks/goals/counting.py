"""Counting against a bare tiktoken loop over the same texts, in processor time, and by the clock (goal G5)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, ratio
from benchmarks.sessions import home, session
from benchmarks.terminal import APPS

COUNT_ONCE = APPS / "count_once.py"
TARGETS = {"figures": 1.15, "all": 1.6, "again": 0.05}
NAMES = {
    "figures": "every figure",
    "all": "reading, figures and full-text index",
    "again": "every figure again, counts remembered",
}


ELAPSED = 0.75
"""The most that every figure may take by the clock beside the loop in one thread: two processors are there for it."""


def results(folder: Path, runs: int) -> Iterator[Result]:
    """A session of 10,000 messages and 50 MB."""
    path, env = session(folder, 10_000, 50_000_000), {**os.environ, **home(folder / "home")}
    place = folder / "counts.db"

    def once(how: str) -> tuple[float, float]:
        if how != "again":
            (folder / "bare.db" if how == "bare" else place).unlink(missing_ok=True)
        command = [sys.executable, str(COUNT_ONCE), how, str(path), str(folder / "bare.db" if how == "bare" else place)]
        said = subprocess.run(command, capture_output=True, check=True, text=True, env=env).stdout.split()
        return float(said[0]), float(said[1])

    for how, target in TARGETS.items():
        once("figures")
        elapsed: dict[str, list[float]] = {how: [], "bare": []}

        def spent(which: str, elapsed: dict[str, list[float]] = elapsed) -> float:
            processor, clock = once(which)
            elapsed[which].append(clock)
            return processor

        shown = ratio(lambda how=how: spent(how), lambda: spent("bare"), max(2, runs // 2))  # type: ignore[misc]
        note = f"{shown[1]:.2f} / {shown[2]:.2f} s"
        yield Result("G5", NAMES[how], "bare tiktoken loop", shown[0], target, note=note)
        if how == "figures":
            pairs = list(zip(elapsed[how][1:], elapsed["bare"][1:], strict=True))  # without the warm-up
            value = median(a / b for a, b in pairs)
            note = f"{median(a for a, _ in pairs):.2f} / {median(b for _, b in pairs):.2f} s"
            yield Result("G5", f"{NAMES[how]}, elapsed", "bare tiktoken loop, one thread", value, ELAPSED, note=note)
