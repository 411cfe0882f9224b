"""Key to frame in a session of 10,000 messages, p95, against an app with one Static: at rest, while the session is
worked out, and with 100 edits staged.

Both programs are open at once, and keys go to them in turn: what else the machine does in the meantime comes to both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.measure import Result, percentile
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, DOWN, ONE_STATIC, PAGE_DOWN, PAGE_UP, Terminal

UP: Final = b"\x1b[A"
IN_VIEW: Final = ([UP] * 6 + [DOWN] * 6) * 3
"""The cursor goes up from the last row and down again: the transcript does not scroll."""
PAGES: Final = [PAGE_UP] * 8 + [PAGE_DOWN] * 8
REST: Final = 3.0
"""Seconds without work after which a program is at rest."""
EDITS: Final = 100
DROPS: Final = 40
FRAME: Final = 0.015
"""Seconds without output that end a frame."""
LIMIT: Final = 7.0
"""33 ms where the app with one Static answers in 5."""


def results(folder: Path, runs: int) -> Iterator[Result]:
    """The cursor key, a page scroll, and the key that drops a block."""
    env = home(folder / "home")
    with ExitStack() as opened:
        floor = opened.enter_context(Terminal(ONE_STATIC, env=env))
        floor.until_frame()
        floor.settle()
        working = opened.enter_context(Terminal([*CTXTUI, str(session(folder, 10_000, 50_000_000))], env=env))
        working.until_text(MARK.encode())
        yield _row("cursor key while 50 MB are worked out", *_in_turn([working, floor], IN_VIEW, 1))
        ours = opened.enter_context(Terminal([*CTXTUI, str(session(folder, 10_000, 10_000_000))], env=env))
        ours.until_text(MARK.encode())
        ours.rest(quiet=REST, cap=600)
        yield _row("cursor key", *_in_turn([ours, floor], IN_VIEW, runs))
        yield _row("page scroll", *_in_turn([ours, floor], PAGES, runs))
        ours.press(b"d", quiet=1.0)
        for _ in range(EDITS):
            ours.press(PAGE_UP, quiet=0.02)
            ours.press(b"d", quiet=0.02)
        ours.settle(1.0)
        name = f"the key that drops a block, {EDITS} edits staged"
        # The block is marked in the first frame; its price comes in a later one.
        yield _row(name, *_dropped(ours, floor, FRAME))
        priced = _dropped(ours, floor, 0.25)[0]
        yield Result("keys", f"{name}, to its price, p95", "", 1e3 * percentile(priced, 0.95), unit="ms")


def _in_turn(programs: Sequence[Terminal], keys: Sequence[bytes], runs: int) -> list[list[float]]:
    """Seconds that each of two programs took to answer, `runs` times over: the first to `keys`, the other to `DOWN`."""
    took: list[list[float]] = [[], []]
    for _ in range(runs):
        for key in keys:
            for program, pressed, found in zip(programs, (key, DOWN), took, strict=True):
                answer = program.press(pressed)
                found += [answer] if answer is not None else []
    given, answered = runs * len(keys), min(map(len, took))
    # Each key moves something: one that is not answered within a second must not be left out.
    assert answered > 0.98 * given, f"{answered} of {given} keys were answered"
    return took


def _dropped(ours: Terminal, floor: Terminal, quiet: float) -> list[list[float]]:
    """Seconds that dropping another block took, and a key in the other program, until `quiet` seconds of nothing."""
    took: list[list[float]] = [[], []]
    for _ in range(DROPS):
        ours.press(PAGE_UP, quiet=0.5)
        for program, key, found in ((ours, b"d", took[0]), (floor, DOWN, took[1])):
            spent = program.press(key, quiet=quiet)
            found += [spent] if spent is not None else []
        ours.settle(0.3)
    return took


def _row(name: str, ours: Sequence[float], floor: Sequence[float]) -> Result:
    mine, least = (percentile(list(took), 0.95) for took in (ours, floor))
    note = f"{mine * 1e3:.1f} / {least * 1e3:.1f} ms, {len(ours)} keys"
    return Result("keys", f"{name}, to its frame, p95", "one Static", mine / least, LIMIT, note=note)
