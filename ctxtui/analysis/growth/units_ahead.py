"""Forecasts growth or cost of the next few turns or rounds (*units*), as a range.

The range should contain four of five cases, by the errors of such forecasts in this session and in others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

TAIL_SHARE: Final = 0.1
"""Share of cases below a range, and above it."""
TYPICAL_SPREAD: Final = 2.0
"""Relative spread of single units in other sessions; it weighs as much as `SPREAD_UNITS` units of this session."""
SPREAD_UNITS: Final = 3.0
TYPICAL_UNITS: Final = 4.0
"""Weight of the typical growth in other sessions, as a number of units of this session."""
TYPICAL_ERRORS: Final = 16.0
"""Weight of the errors in other sessions, as a number of errors in this session."""
_MAX_CUTS: Final = 40
"""Earlier positions in the session from which the same forecast is tried."""


class Range(NamedTuple):
    """A typical figure with a low and a high bound."""

    low: float
    mid: float
    high: float

    def map(self, function: Callable[[float], float]) -> Range:
        """Apply a non-decreasing function to all three."""
        return Range(function(self.low), function(self.mid), function(self.high))


class Typical(NamedTuple):
    """Statistics of other sessions: growth of a unit (0: not applicable), and forecast `errors`.

    The errors are evenly spread quantiles, in units of the forecast's deviation.
    """

    unit: float
    errors: tuple[float, ...]


def units_ahead(values: Sequence[float], n: int, typical: Typical) -> Range:
    """Forecast the sum of the next `n` units, as an 80 % range.

    `values` are those of the units so far (at least one).
    """
    expected, deviation = forecast_sum(values, n, typical.unit)
    weighed = [(error, TYPICAL_ERRORS / len(typical.errors)) for error in typical.errors]
    weighed += own_errors(values, n, typical.unit)
    weighed.sort()
    low, mid, high = (
        expected + deviation * _weighted_quantile(weighed, share) for share in (TAIL_SHARE, 0.5, 1 - TAIL_SHARE)
    )
    return Range(low, mid, high)


def forecast_sum(values: Sequence[float], n: int, unit: float) -> tuple[float, float]:
    """Expected sum of the next `n` units, and the deviation that errors are measured in."""
    count, usual = len(values), TYPICAL_UNITS if unit else 0.0
    mean = sum(values) / count
    size = max((sum(map(abs, values)) + usual * unit) / (count + usual), 1e-12)
    expected = (count * mean + usual * min(unit, size)) / (count + usual)
    squares = sum((value - mean) ** 2 for value in values) + SPREAD_UNITS * (TYPICAL_SPREAD * size) ** 2
    # Proportional to n, not its square root: the pace of a session persists.
    return n * expected, n * math.sqrt(squares / (count - 1 + SPREAD_UNITS))


def own_errors(values: Sequence[float], n: int, unit: float) -> Iterator[tuple[float, float]]:
    """Yield (error, weight) of the same forecast at earlier positions.

    Near the end, it is over fewer than `n` units.
    """
    for cut in range(max(1, len(values) - _MAX_CUTS), len(values)):
        count = min(n, len(values) - cut)
        expected, deviation = forecast_sum(values[:cut], count, unit)
        # Stretches overlap: the longer they are, the less information each has.
        yield (sum(values[cut : cut + count]) - expected) / deviation, count**-0.5


def _weighted_quantile(weighed: Sequence[tuple[float, float]], share: float) -> float:
    """First value up to which `share` of the weights lie."""
    remaining_weight = share * sum(weight for _, weight in weighed)
    for value, weight in weighed:
        remaining_weight -= weight
        if remaining_weight <= 1e-12:
            return value
    return weighed[-1][0]


# Learnt from the recordings of all sources: output of ``python -m benchmarks.preflight`` (there each source is
# forecast from the others only).
_GROWTH: Final = (
    -0.62, -0.53, -0.47, -0.43, -0.36, -0.32, -0.24, -0.18, -0.09, -0.04,
    0.04, 0.15, 0.25, 0.35, 0.49, 0.66, 0.86, 1.31, 2.25,
)  # fmt: skip
"""Errors of growth forecasts in other sessions, in deviations: 19 evenly spread quantiles."""
_COST: Final = (
    -0.51, -0.44, -0.41, -0.37, -0.32, -0.27, -0.21, -0.15, -0.09, -0.03,
    0.03, 0.1, 0.16, 0.26, 0.35, 0.48, 0.61, 0.82, 1.47,
)  # fmt: skip
"""The same for forecasts of cost."""

GROWTH_OF_ROUNDS: Final = Typical(451.0, _GROWTH)
GROWTH_OF_TURNS: Final = Typical(4_283.0, _GROWTH)
COST: Final = Typical(0.0, _COST)
"""For the cost of a turn with the context ahead; prices differ too much for a typical one."""
