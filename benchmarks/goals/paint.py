"""First frame of Home and first screenful of a long session, against an empty Textual app.

Whatever is compared runs in turn, and the ratios are taken round by round, of as many rounds as it takes until each of
them is sure.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.measure import Result, settled, sure
from benchmarks.sessions import MARK, home, session
from benchmarks.terminal import CTXTUI, EMPTY, Terminal

HOME: Final = "first frame of Home"
SHOWN: Final = "first screenful of 10,000 messages, 50 MB"
APP: Final = "empty Textual app"
LIMIT: Final = 1.5
_SECONDS_A_RUN: Final = 12.0
"""The most that a run takes: eight rounds on a quiet machine."""

Round = dict[str, float]
"""Seconds of each, by what was run."""


class Compared(NamedTuple):
    """A figure: `ours` against the empty app."""

    ours: str

    def of(self, rounds: Sequence[Round]) -> float:
        """The ratio, round by round, the median."""
        return median(one[self.ours] / one[APP] for one in rounds)

    def result(self, rounds: Sequence[Round]) -> Result:
        """Its line."""
        ours, peer = (1e3 * median(one[which] for one in rounds) for which in (self.ours, APP))
        low, high = sure(self.of, rounds)
        note = f"{ours:.0f} / {peer:.0f} ms; 80 %: {low:.3f} to {high:.3f}; {len(rounds)} rounds"
        return Result("start", self.ours, APP, self.of(rounds), LIMIT, note=note)


FIGURES: Final = (Compared(HOME), Compared(SHOWN))


def results(folder: Path, runs: int) -> Iterator[Result]:
    """The first frame of Home, and the end of a session of 50 MB."""
    env = home(folder / "home")
    big = session(folder, 10_000, 50_000_000)
    rounds: list[Round] = []
    warm, begun = False, time.monotonic()
    while not enough(rounds) and (not rounds or time.monotonic() - begun < runs * _SECONDS_A_RUN):
        one = {APP: _frame(EMPTY, env), HOME: _frame(CTXTUI, env), SHOWN: _screenful(big, env)}
        rounds += [one] if warm else []
        warm = True
    for figure in FIGURES:
        yield figure.result(rounds)


def enough(rounds: Sequence[Round]) -> bool:
    """Whether every figure is sure, not only some of them: all are of the same rounds."""
    return all(settled(figure.of, rounds) for figure in FIGURES)


def _frame(command: tuple[str, ...], env: dict[str, str]) -> float:
    with Terminal(command, env=env) as run:
        return run.until_frame()


def _screenful(path: Path, env: dict[str, str]) -> float:
    with Terminal([*CTXTUI, str(path)], env=env) as run:
        return run.until_text(MARK.encode())
