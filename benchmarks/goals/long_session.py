"""A session of 100,000 messages (130 MB): when its end is on the screen, a key while it is read, until all is read, and
the memory of the process. Held against what they were on 2026-11-22, on two cores: 14 s and 1 GB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, PAGE_UP, Terminal

SECONDS, BYTES = 14.0, 1e9
SHARE = 0.3


def results(folder: Path, runs: int) -> Iterator[Result]:
    """One run in a terminal (it takes long)."""
    path = session(folder, 100_000, 40_000_000)
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    peer = "14 s and 1 GB on 2026-11-22"
    with Terminal([*CTXTUI, str(path)], env=home(folder / "home")) as run:
        shown = run.until_text(MARK.encode(), cap=120)
        yield Result("long", "100,000 messages: its end is on screen after", "", shown, 2.0, "s", size)
        pressed = [took for _ in range(12) if (took := run.press(PAGE_UP)) is not None]
        key = 1e3 * median(pressed)
        yield Result("long", "100,000 messages: a page scroll while it is read", "", key, 50, "ms")
        run.rest(cap=600)
        used, memory = run.cpu(), run.memory()
        helpers, together = run.cpu_together() - used, run.most_together
    yield Result(
        "long",
        "100,000 messages: processor time of the screen's process",
        peer,
        used / SECONDS,
        SHARE,
        note=f"{used:.1f} s",
    )
    yield Result(
        "long",
        "100,000 messages: most memory of the screen's process",
        peer,
        memory / BYTES,
        SHARE,
        note=f"{memory / 1e6:.0f} MB",
    )
    yield Result("long", "100,000 messages: processor time of the processes beside it", "", helpers, unit="s")
    yield Result("long", "100,000 messages: most memory of all processes together", "", together / 1e6, unit="MB")
