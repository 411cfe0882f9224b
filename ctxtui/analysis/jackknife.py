"""How certain a ratio over sessions is: its interval by leaving out one session at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

_NORMAL: Final = 1.96
"""Standard errors to each side for 95 %."""
_LEAST: Final = 3
"""Sessions below which nothing is said of how certain a figure is."""


class Estimate(NamedTuple):
    """A ratio, and the ends of its 95 % interval; None where too few sessions tell how certain it is."""

    value: float
    low: float | None = None
    high: float | None = None
    error: float | None = None
    """Its standard error."""


def ratio(parts: Sequence[tuple[float, float]]) -> Estimate | None:
    """The sum of all numerators over that of all denominators, of one (numerator, denominator) a session; None where
    there is nothing to divide by. The sessions are taken to be independent of each other, their calls are not."""
    above, below = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if not below:
        return None
    value = above / below
    others = [(above - a) / (below - b) for a, b in parts if below - b > 0]
    count = len(others)
    if count < _LEAST:
        return Estimate(value)
    mean = sum(others) / count
    error = sqrt((count - 1) / count * sum((one - mean) ** 2 for one in others))
    return Estimate(value, value - _NORMAL * error, value + _NORMAL * error, error)


def change(before: Estimate, after: Estimate) -> Estimate:
    """What `after` is more than `before`, with the interval of the difference."""
    value = after.value - before.value
    if before.error is None or after.error is None:
        return Estimate(value)
    error = sqrt(before.error**2 + after.error**2)
    return Estimate(value, value - _NORMAL * error, value + _NORMAL * error, error)
