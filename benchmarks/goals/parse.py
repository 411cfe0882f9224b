"""Typed parse of a 50 MB recording against a raw read (goal G4)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Result, ratio
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import APPS, CTXTUI, EMPTY, Terminal

READ_ONCE = APPS / "read_once.py"


def results(folder: Path, runs: int) -> list[Result]:
    """The typed records of every line, and the whole session with its tree (no target: shown for scale); how soon its
    list is there beside an empty app and a read of what a list shows."""
    path = session(folder, 10_000, 50_000_000)

    def once(how: str) -> float:
        command = [sys.executable, str(READ_ONCE), how, str(path)]
        return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    parsed = ratio(lambda: once("typed"), lambda: once("raw"), runs)
    read = ratio(lambda: once("whole"), lambda: once("raw"), max(2, runs // 2))
    env = home(folder / "home")

    def listed() -> float:
        with Terminal([*CTXTUI, str(path)], env=env) as run:
            return run.until_text(MARK.encode())

    def floor() -> float:
        with Terminal(EMPTY, env=env) as run:
            return run.until_frame() + once("heads")

    shown = ratio(listed, floor, runs)
    return [
        Result(
            "G4",
            "typed parse of 50 MB",
            "raw read",
            parsed[0],
            3.0,
            note=f"{parsed[1] * 1e3:.0f} / {parsed[2] * 1e3:.0f} ms",
        ),
        Result(
            "G4",
            "its list is on screen",
            "empty Textual app + read of heads",
            shown[0],
            1.5,
            note=f"{shown[1] * 1e3:.0f} / {shown[2] * 1e3:.0f} ms",
        ),
        Result("G4", "whole session with tree", "raw read", read[0], note=f"{read[1] * 1e3:.0f} ms"),
    ]
