"""An inspector on 10,000 messages, 50 MB, until every figure stands, against ``ctxtui show`` on the same file.

Processor time and memory are those of all its processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, Terminal


def results(folder: Path, runs: int) -> Iterator[Result]:
    """At most three pairs: each takes some twenty seconds. Each starts without remembered counts."""
    path = session(folder, 10_000, 50_000_000)
    ratios, more, notes = [], [], []
    for number in range(min(runs, 3)):
        shown, most = _show(path, {**os.environ, **home(folder / f"show{number}")})
        with Terminal([*CTXTUI, str(path)], env=home(folder / f"home{number}")) as run:
            run.until_text(MARK.encode())
            run.rest(quiet=4.0, cap=900)
            used, memory = run.cpu_together(), run.most_together
        ratios.append(used / shown)
        more.append((memory - most) / 1e6)
        notes.append(f"{used:.1f} / {shown:.1f} s, {memory / 1e6:.0f} / {most / 1e6:.0f} MB")
    yield Result("inspector", "50 MB, until every figure stands", "ctxtui show", median(ratios), 1.5, note=notes[-1])
    yield Result("inspector", "the same, memory above that of ctxtui show", "", median(more), 150, "MB", notes[-1])


def _show(path: Path, env: dict[str, str]) -> tuple[float, int]:
    """Seconds of processor time and bytes of memory at most of ``ctxtui show``."""
    with subprocess.Popen([*CTXTUI, "show", str(path)], env=env, stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
