"""Counting against a bare tiktoken loop over the same texts, in processor time (goal G5)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def results(folder: Path, runs: int) -> list[Result]:
    """A session of 10,000 messages and 50 MB."""
    path, env = session(folder, 10_000, 50_000_000), {**os.environ, **home(folder / "home")}
    place = folder / "counts.db"

    def once(how: str) -> float:
        if how != "again":
            place.unlink(missing_ok=True)
        command = [sys.executable, str(COUNT_ONCE), how, str(path), str(place)]
        return float(subprocess.run(command, capture_output=True, check=True, text=True, env=env).stdout)

    found = []
    for how, target in TARGETS.items():
        once("figures")
        shown = ratio(lambda how=how: once(how), lambda: float(_bare(path, folder, env)), max(2, runs // 2))  # type: ignore[misc]
        note = f"{shown[1]:.2f} / {shown[2]:.2f} s"
        found.append(Result("G5", NAMES[how], "bare tiktoken loop", shown[0], target, note=note))
    return found


def _bare(path: Path, folder: Path, env: dict[str, str]) -> str:
    command = [sys.executable, str(COUNT_ONCE), "bare", str(path), str(folder / "bare.db")]
    return subprocess.run(command, capture_output=True, check=True, text=True, env=env).stdout
