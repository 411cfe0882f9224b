"""Key to frame, and independence of the number of blocks (goals G8, G9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, percentile
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, DOWN, ONE_STATIC, Terminal

UP = b"\x1b[A"
IN_VIEW = ([UP] * 6 + [DOWN] * 6) * 3
"""The cursor goes up from the last row and down again: the transcript does not scroll."""


def results(folder: Path, runs: int) -> Iterator[Result]:
    """The cursor key in the transcript against an app with one Static; 100,000 blocks against 100."""
    env = home(folder / "home")
    floor, ours = [], []
    for _ in range(runs):
        floor += _floor(env)
        ours += _cursor(env, session(folder, 10_000, 10_000_000))
    half, tail = median(ours) / median(floor), percentile(ours, 0.95) / percentile(floor, 0.95)
    note = f"{median(ours) * 1e3:.1f} / {median(floor) * 1e3:.1f} ms"
    yield Result("G8", "cursor key to frame, p50", "one Static", half, 1.3, note=note)
    yield Result("G8", "cursor key to frame, p95", "one Static", tail, 2.0)
    small, large = [], []
    mounted: tuple[list[float], list[float]] = ([], [])
    # Each run reads all of the large session, and presses three dozen keys.
    for _ in range(max(1, runs // 2)):
        small += _cursor(env, session(folder, 100, 100_000), mounted[0])
        large += _cursor(env, session(folder, 100_000, 40_000_000), mounted[1])
    yield Result(
        "G9",
        "cursor key, 100,000 messages",
        "100 messages",
        median(large) / median(small),
        1.2,
        note=f"{median(large) * 1e3:.1f} / {median(small) * 1e3:.1f} ms",
    )
    yield Result(
        "G9",
        "end of 100,000 messages on screen",
        "100 messages",
        median(mounted[1]) / median(mounted[0]),
        1.3,
        note=f"{median(mounted[1]) * 1e3:.0f} / {median(mounted[0]) * 1e3:.0f} ms",
    )


def _floor(env: dict[str, str]) -> list[float]:
    with Terminal(ONE_STATIC, env=env) as run:
        run.until_frame()
        run.settle()
        return _pressed(run, [DOWN] * 30)


def _cursor(env: dict[str, str], path: Path, mounted: list[float] | None = None) -> list[float]:
    with Terminal([*CTXTUI, str(path)], env=env) as run:
        shown = run.until_text(MARK.encode())
        if mounted is not None:
            mounted.append(shown)
        run.rest(cap=600)
        return _pressed(run, IN_VIEW)


def _pressed(run: Terminal, keys: list[bytes]) -> list[float]:
    return [took for key in keys if (took := run.press(key)) is not None]
