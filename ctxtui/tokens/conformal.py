"""Conformal intervals: how far past forecasts were off, in units of the deviation they were given (90 % of them)."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final

SHARE: Final = 0.9
"""The share of reports that an interval is meant to hold."""
_MEMORY: Final = 120
"""Errors that are remembered; older ones go."""
_STEP: Final = 0.01
"""How much one miss widens the share aimed at (adaptive conformal inference, Gibbs and Candès 2021)."""


class Errors:
    """Past errors over their deviations. It begins with `typical` ones, of other sessions, which count as seen."""

    def __init__(self, typical: tuple[float, ...]) -> None:
        self._sorted = sorted(typical)
        self._order = list(typical)
        self._outside = 1 - SHARE
        self._bounds: tuple[float, float] | None = None
        """As long as nothing more was learnt."""

    def bounds(self) -> tuple[float, float]:
        """The interval for the next error, in deviations: (low, high), low <= 0 <= high."""
        if self._bounds is None:
            each = min(max(self._outside, 0.01), 0.4) / 2
            self._bounds = min(0.0, self._at(each)), max(0.0, self._at(1 - each))
        return self._bounds

    def _at(self, share: float) -> float:
        values = self._sorted
        place = share * (len(values) + 1) - 1
        low, last = int(place), len(values) - 1
        if place <= 0.0 or low >= last:
            return values[0 if place <= 0.0 else last]
        return values[low] + (values[low + 1] - values[low]) * (place - low)

    def learn(self, error: float) -> None:
        """Take in one error; where the interval did not hold it the next ones are wider."""
        low, high = self.bounds()
        self._bounds = None
        self._outside += _STEP * ((1 - SHARE) - (not low <= error <= high))
        self._order.append(error)
        insort(self._sorted, error)
        if len(self._order) > _MEMORY:
            oldest = self._order.pop(0)
            del self._sorted[bisect_left(self._sorted, oldest)]
