"""``ctxtui --help`` against an interpreter that does nothing (goal G1), and against Toolong's where it is installed."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from benchmarks.measure import Result, not_run, ratio
from benchmarks.peers import missing, peer
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI, PYTHON


def results(folder: Path, runs: int) -> list[Result]:
    """Processor time of whole processes."""
    env = {**os.environ, **home(folder / "home")}

    def spent(*command: str) -> float:
        before = _children()
        subprocess.run(command, env=env, capture_output=True, check=True)
        return _children() - before

    def ours() -> float:
        return spent(*CTXTUI, "--help")

    bare = ratio(ours, lambda: spent(PYTHON, "-c", "pass"), max(runs, 9))
    note = f"{bare[1] * 1e3:.0f} / {bare[2] * 1e3:.0f} ms"
    found = [Result("G1", "ctxtui --help", "python -c pass", bare[0], 2.5, note=note)]
    toolong = peer("tl")
    if toolong is None:
        return [*found, not_run("G1", "ctxtui --help", "tl --help (Toolong)", missing("tl"), 1.0)]
    beside = ratio(ours, lambda: spent(toolong, "--help"), runs)
    note = f"{beside[1] * 1e3:.0f} / {beside[2] * 1e3:.0f} ms"
    return [*found, Result("G1", "ctxtui --help", "tl --help (Toolong)", beside[0], 1.0, note=note)]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
