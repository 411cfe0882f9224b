"""Every figure of a session whose counts are remembered, against a bare tiktoken loop over its texts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result, ratio, shown_for_scale
from benchmarks.sessions import home, session
from benchmarks.terminal import APPS

COUNT_ONCE = APPS / "count_once.py"
PEER = "bare tiktoken loop"


def results(folder: Path, runs: int) -> Iterator[Result]:
    """A session of 10,000 messages and 50 MB; for scale, the same counted for the first time."""
    path, env = session(folder, 10_000, 50_000_000), {**os.environ, **home(folder / "home")}
    place = folder / "counts.db"

    def spent(how: str) -> float:
        if how == "figures":
            place.unlink(missing_ok=True)
        command = [sys.executable, str(COUNT_ONCE), how, str(path), str(folder / "bare.db" if how == "bare" else place)]
        return float(subprocess.run(command, capture_output=True, check=True, text=True, env=env).stdout.split()[0])

    for how, name in (("figures", "every figure"), ("again", "every figure again, counts remembered")):
        value, ours, bare = ratio(lambda how=how: spent(how), lambda: spent("bare"), max(2, runs // 2))  # type: ignore[misc]
        row = Result("counts", name, PEER, value, 0.15, note=f"{ours:.2f} / {bare:.2f} s")
        yield row if how == "again" else shown_for_scale(row)
