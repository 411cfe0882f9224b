"""First frames and first screenfuls (goals G2, G3)."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from benchmarks.measure import Result, ratio
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import APPS, CTXTUI, EMPTY, PYTHON, Terminal


def results(folder: Path, runs: int) -> list[Result]:
    """First frame of Home against an empty app; first screenful of 50 MB against an empty app plus a raw read."""
    env = home(folder / "home")
    big = session(folder, 10_000, 50_000_000)

    def empty() -> float:
        with Terminal(EMPTY, env=env) as run:
            return run.until_frame()

    def first() -> float:
        with Terminal(CTXTUI, env=env) as run:
            return run.until_frame()

    def screenful() -> float:
        with Terminal([*CTXTUI, str(big)], env=env) as run:
            return run.until_text(MARK.encode())

    def floor() -> float:
        begun = time.perf_counter()
        big.read_bytes()
        read = time.perf_counter() - begun
        return empty() + read

    def loaded() -> list[str]:
        command = [PYTHON, str(APPS / "first_frame.py")]
        said = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout
        return said.split()

    frame = ratio(first, empty, runs)
    shown = ratio(screenful, floor, runs)
    heavy = loaded()
    return [
        Result("G2", "heavy libraries loaded at the first frame", "", float(len(heavy)), 0.0, "of 9", ", ".join(heavy)),
        Result(
            "G2",
            "first frame of Home",
            "empty Textual app",
            frame[0],
            1.2,
            note=f"{frame[1] * 1e3:.0f} / {frame[2] * 1e3:.0f} ms",
        ),
        Result(
            "G3",
            "first screenful of 10,000 messages, 50 MB",
            "empty Textual app + raw read",
            shown[0],
            1.5,
            note=f"{shown[1] * 1e3:.0f} / {shown[2] * 1e3:.0f} ms",
        ),
    ]
