"""The band that a foretold cache read comes with: how much less is read now and then without a cause in the record.

Automatic caches fall back: another machine answers, or what was just written is not there yet. How far is learnt from
the reports, model by model, starting from what other sessions showed.
"""

from __future__ import annotations

import math
from bisect import insort
from typing import Final

HOLDS: Final = 0.95
"""Share of reports that the band should hold."""
TYPICAL: Final = (0.1, 0.6, 0.8, 0.9)
"""Shares of the expected read in sessions seen before, where less was read ..."""
_WHOLE: Final = 60
"""... beside this many calls that read all of it."""


class Shortfalls:
    """Reports as shares of what was expected."""

    def __init__(self) -> None:
        self._shares: list[float] = [*TYPICAL, *([1.0] * _WHOLE)]

    def learn(self, tokens: int, expected: int) -> None:
        """A call read `tokens` where `expected` were foretold."""
        if expected > 0:
            insort(self._shares, min(tokens / expected, 1.0))

    def floor(self, expected: int) -> int:
        """The least that is read of `expected` tokens in `HOLDS` of all cases."""
        rank = max(0, math.floor((1 - HOLDS) * (len(self._shares) + 1)) - 1)
        return math.floor(expected * self._shares[rank])
