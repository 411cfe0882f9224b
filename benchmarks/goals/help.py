"""``ctxtui --help`` against an interpreter that does nothing."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from benchmarks.measure import Result, ratio
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI, PYTHON


def results(folder: Path, runs: int) -> list[Result]:
    """Processor time of whole processes."""
    env = {**os.environ, **home(folder / "home")}

    def spent(*command: str) -> float:
        before = _children()
        subprocess.run(command, env=env, capture_output=True, check=True)
        return _children() - before

    value, ours, bare = ratio(lambda: spent(*CTXTUI, "--help"), lambda: spent(PYTHON, "-c", "pass"), max(runs, 9))
    note = f"{ours * 1e3:.0f} / {bare * 1e3:.0f} ms"
    return [Result("help", "ctxtui --help", "python -c pass", value, 3.0, note=note)]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
