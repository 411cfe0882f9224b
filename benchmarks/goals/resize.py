"""Another width: the first correct frame against a page scroll, heights against Textual's own wrapping (goal G18)."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from pathlib import Path
from statistics import median

from benchmarks.measure import Result
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, EMPTY, PAGE_DOWN, Terminal

PAGE_UP = b"\x1b[5~"
TOKENS = 1_000_000


def results(folder: Path, runs: int) -> list[Result]:
    """10,000 messages (10 M tokens) on a terminal that changes its width; 1 M tokens of opened blocks measured."""
    env = home(folder / "home")
    pages, resized = [], []
    for _ in range(runs):
        with Terminal([*CTXTUI, str(session(folder, 10_000, 50_000_000))], env=env) as run:
            run.until_text(MARK.encode())
            run.settle(quiet=2.5, cap=120)
            pages += [took for key in [PAGE_UP] * 6 + [PAGE_DOWN] * 6 if (took := run.press(key)) is not None]
            resized += [_resize(run, width) for width in (110, 120, 96, 120, 132, 120)]
    with Terminal(EMPTY, env=env) as run:
        run.until_frame()
        run.settle()
        floor = median(_resize(run, width) for width in (110, 120, 96, 120, 132, 120))
    near, every, theirs = _heights(session(folder, 1_000, 5_000_000))
    page = median(pages)
    return [
        Result(
            "G18",
            "last byte of another width",
            "a page scroll",
            median(resized) / page,
            2.0,
            note=f"{median(resized) * 1e3:.0f} / {page * 1e3:.0f} ms; an empty Textual app takes {floor * 1e3:.0f} ms",
        ),
        Result(
            "G18",
            "heights after every category is opened, 1 M tokens: rows near the cursor",
            "Textual's wrapping of all",
            near / theirs,
            0.1,
            note=f"{near * 1e3:.0f} / {theirs * 1e3:.0f} ms",
        ),
        Result(
            "G18",
            "heights of every row in full, 1 M tokens",
            "Textual's wrapping of all",
            every / theirs,
            0.1,
            note=f"{every * 1e3:.0f} / {theirs * 1e3:.0f} ms",
        ),
    ]


def _resize(run: Terminal, width: int) -> float:
    """Seconds from the new size to the last byte of the frame drawn for it."""
    begun = time.perf_counter()
    fcntl.ioctl(run.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    last, wait = begun, 1.0
    while run.read(wait):
        last, wait = time.perf_counter(), 0.06
    return last - begun


def _heights(path: Path) -> tuple[float, float, float]:
    """CPU seconds to find on which line each row stands with every category in full as the pane does it (rows near the
    cursor first), for all rows, and for Textual to wrap all."""
    from textual.content import Content

    from ctxtui.core.category import CATEGORIES
    from ctxtui.services.recordings.open import load
    from ctxtui.tui.highlight import highlight
    from ctxtui.tui.inspector.transcript import NEAR
    from ctxtui.tui.widgets.rows import Heights
    from ctxtui.views.model.block_cache import Readings
    from ctxtui.views.text.grid import Grid
    from ctxtui.views.transcript.context_rows import FULL, ContextRows
    from ctxtui.views.transcript.row_index import Boundaries
    from tests.cases.sessions import book_of

    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    loaded = load(path)
    book = book_of(loaded.session)
    rows = ContextRows(Readings(loaded.session, book.names), highlight)
    scene = _scene(book)
    rows.show(scene, Boundaries(loaded.session.tree), None, (FULL,) * len(CATEGORIES))
    grid = Grid.of(120, 120)
    begun = time.process_time()
    # As the pane does it: blocks near the cursor are open, the others are a line each until one comes near them.
    near = range(max(0, rows.count - NEAR), rows.count)
    lines = Heights(rows.count, {index: rows.height(index, grid) for index in near}).total
    ours = time.process_time() - begun
    begun = time.process_time()
    whole = Heights(rows.count, {index: rows.height(index, grid) for index in range(rows.count)}).total
    every = time.process_time() - begun
    texts = [rows.readings.words(entry) for entry in rows.entries if entry > 0]
    begun = time.process_time()
    wrapped = sum(len(Content(text).wrap(grid.body)) for text in texts)
    took = time.process_time() - begun
    assert lines > rows.count and whole > lines and wrapped > rows.count
    return ours, every, took


def _scene(book):  # type: ignore[no-untyped-def]
    from ctxtui.analysis.running_totals import RunningTotals
    from ctxtui.views.model.scene import calls_of, scene_at

    calls = calls_of(book.session, "main")
    running = RunningTotals(book, calls[-1].model)
    running.advance(None)
    return scene_at(book, running, calls, len(calls) - 1, 0.75, (), {}, {})
