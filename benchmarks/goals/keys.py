"""Key to frame, and independence of the number of blocks (goals G8, G9).

All programs of a comparison are open at once, and keys go to them in turn: what else the machine does in the meantime
comes to both sides. The long session is read once, whatever the number of runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, percentile
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, DOWN, EMPTY, ONE_STATIC, PAGE_DOWN, PAGE_UP, Terminal

UP = b"\x1b[A"
IN_VIEW = ([UP] * 6 + [DOWN] * 6) * 3
"""The cursor goes up from the last row and down again: the transcript does not scroll."""
PAGES = [PAGE_UP] * 8 + [PAGE_DOWN] * 8
REST = 3.0
"""Seconds without work after which a program is at rest."""
SMALL, LARGE = (100, 100_000), (100_000, 40_000_000)
"""Messages and bytes of the sessions of G9."""


def results(folder: Path, runs: int) -> Iterator[Result]:
    """The cursor key and a page scroll in the transcript against an app with one Static; 100,000 blocks against 100."""
    env = home(folder / "home")
    yield from _against_one_static(folder, runs, env)
    small, large = session(folder, *SMALL), session(folder, *LARGE)
    with ExitStack() as opened:
        few, many = (opened.enter_context(_open(path, env)) for path in (small, large))
        few.until_text(MARK.encode())
        many.until_text(MARK.encode())
        many.rest(quiet=REST, cap=900)
        few.rest(quiet=REST)
        took = _in_turn([few, many], [IN_VIEW, IN_VIEW], runs)
        memory = many.memory()
    yield _ratio("G9", "cursor key, 100,000 messages", "100 messages", took[1], took[0], 1.2)
    # What was counted is remembered by now, of both: no figure is waited for.
    mounted = [[_shown(path, env) for path in (small, large)] for _ in range(runs)]
    few_took, many_took = zip(*mounted, strict=True)
    yield _ratio("G9", "end of 100,000 messages on screen", "100 messages", many_took, few_took, 1.3)
    with Terminal(EMPTY, env=env) as app:
        app.until_frame()
        app.settle()
        least = app.memory() + large.stat().st_size
    note = f"{memory / 1e6:,.0f} / {least / 1e6:,.0f} MB"
    yield Result("G9", "most memory, 100,000 messages", "empty Textual app + its text", memory / least, 1.5, note=note)


def _against_one_static(folder: Path, runs: int, env: dict[str, str]) -> Iterator[Result]:
    path = session(folder, 10_000, 10_000_000)
    with ExitStack() as opened:
        floor, ours = opened.enter_context(Terminal(ONE_STATIC, env=env)), opened.enter_context(_open(path, env))
        floor.until_frame()
        floor.settle()
        ours.until_text(MARK.encode())
        ours.rest(quiet=REST, cap=600)
        keys = _in_turn([floor, ours], [[DOWN] * len(IN_VIEW), IN_VIEW], runs)
        pages = _in_turn([floor, ours], [[DOWN] * len(PAGES), PAGES], runs)
    yield _ratio("G8", "cursor key to frame, p50", "one Static", keys[1], keys[0], 1.3)
    tails = [percentile(list(took), 0.95) for took in keys]
    note = f"{tails[1] * 1e3:.1f} / {tails[0] * 1e3:.1f} ms"
    yield Result("G8", "cursor key to frame, p95", "one Static", tails[1] / tails[0], 2.0, note=note)
    yield _ratio("G8", "page scroll to frame, p50", "one Static", pages[1], pages[0], 3.5)


def _open(path: Path, env: dict[str, str]) -> Terminal:
    return Terminal([*CTXTUI, str(path)], env=env)


def _shown(path: Path, env: dict[str, str]) -> float:
    """Seconds until the end of a session is on the screen."""
    with _open(path, env) as run:
        return run.until_text(MARK.encode())


def _in_turn(programs: Sequence[Terminal], keys: Sequence[Sequence[bytes]], runs: int) -> list[list[float]]:
    """Seconds that each of `programs` took to answer its `keys`, `runs` times over, one key of each in turn."""
    took: list[list[float]] = [[] for _ in programs]
    for _ in range(runs):
        for pressed in zip(*keys, strict=True):
            for program, key, found in zip(programs, pressed, took, strict=True):
                answer = program.press(key)
                found += [answer] if answer is not None else []
    given, answered = runs * min(map(len, keys)), min(map(len, took))
    # Each key moves something: one that is not answered within a second must not be left out of a median.
    assert answered > 0.98 * given, f"{answered} of {given} keys were answered"
    return took


def _ratio(goal: str, name: str, peer: str, ours: Sequence[float], theirs: Sequence[float], limit: float) -> Result:
    note = f"{median(ours) * 1e3:.1f} / {median(theirs) * 1e3:.1f} ms"
    return Result(goal, name, peer, median(ours) / median(theirs), limit, note=note)
