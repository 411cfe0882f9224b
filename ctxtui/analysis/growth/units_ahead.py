"""What the next few turns or rounds bring, as a range that holds four of five: from what those so far brought, and from
how far such forecasts were off, here and in other sessions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

TAIL: Final = 0.1
"""The share of cases below a range, and above it."""
SPREAD: Final = 2.0
"""How far single units of a session differ, over their size, where too few tell: in other sessions."""
SEEN: Final = 3.0
"""As many units as that counts for."""
USUAL: Final = 4.0
"""How many units of the session's own what one brings elsewhere counts for."""
ELSEWHERE: Final = 16.0
"""How many errors of the session's own those of other sessions count for."""
_MOST: Final = 40
"""Earlier places of the session from which the same forecast is tried."""


class Range(NamedTuple):
    """A typical figure between a low and a high one."""

    low: float
    mid: float
    high: float

    def mapped(self, made: Callable[[float], float]) -> Range:
        """The range of what is `made` of the figure, which must not fall where that rises."""
        return Range(made(self.low), made(self.mid), made(self.high))


class Typical(NamedTuple):
    """What other sessions show: how much one unit brings (0: that says nothing about this one), and the `errors` of
    forecasts in units of their deviation, evenly spread over what came."""

    unit: float
    errors: tuple[float, ...]


def units_ahead(values: Sequence[float], n: int, typical: Typical) -> Range:
    """The sum over the next `n` units, where those so far brought `values` (at least one): 80 % of what comes lies in
    it. Its width is never zero."""
    expected, deviation = forecast(values, n, typical.unit)
    weighed = [(error, ELSEWHERE / len(typical.errors)) for error in typical.errors]
    weighed += own_errors(values, n, typical.unit)
    weighed.sort()
    low, mid, high = (expected + deviation * _at(weighed, share) for share in (TAIL, 0.5, 1 - TAIL))
    return Range(low, mid, high)


def forecast(values: Sequence[float], n: int, unit: float) -> tuple[float, float]:
    """What the next `n` units are expected to bring together, and the deviation that errors are measured in. What one
    brings elsewhere (`unit`) counts for some that were seen."""
    seen, usual = len(values), USUAL if unit else 0.0
    mean = sum(values) / seen
    size = max((sum(map(abs, values)) + usual * unit) / (seen + usual), 1e-12)
    expected = (seen * mean + usual * min(unit, size)) / (seen + usual)
    squares = sum((value - mean) ** 2 for value in values) + SEEN * (SPREAD * size) ** 2
    # Not by the square root of n: a session that speeds up goes on so.
    return n * expected, n * math.sqrt(squares / (seen - 1 + SEEN))


def own_errors(values: Sequence[float], n: int, unit: float) -> Iterator[tuple[float, float]]:
    """(error, weight) of the same forecast at earlier places of the session; over fewer units where fewer follow."""
    for cut in range(max(1, len(values) - _MOST), len(values)):
        over = min(n, len(values) - cut)
        expected, deviation = forecast(values[:cut], over, unit)
        # Stretches overlap: the longer, the less each tells.
        yield (sum(values[cut : cut + over]) - expected) / deviation, over**-0.5


def _at(weighed: Sequence[tuple[float, float]], share: float) -> float:
    """The first value up to which `share` of the weights lie."""
    left = share * sum(weight for _, weight in weighed)
    for value, weight in weighed:
        left -= weight
        if left <= 1e-12:
            return value
    return weighed[-1][0]


# Learnt from the recordings of all sources: what ``python -m benchmarks.preflight`` prints (there each source is
# foretold by the others alone).
_GROWTH: Final = (
    -0.62, -0.53, -0.47, -0.43, -0.36, -0.32, -0.24, -0.18, -0.09, -0.04,
    0.04, 0.15, 0.25, 0.35, 0.49, 0.66, 0.86, 1.31, 2.25,
)  # fmt: skip
_COST: Final = (
    -0.51, -0.44, -0.41, -0.37, -0.32, -0.27, -0.21, -0.15, -0.09, -0.03,
    0.03, 0.1, 0.16, 0.26, 0.35, 0.48, 0.61, 0.82, 1.47,
)  # fmt: skip

GROWTH_OF_ROUNDS: Final = Typical(451.0, _GROWTH)
GROWTH_OF_TURNS: Final = Typical(4_283.0, _GROWTH)
COST: Final = Typical(0.0, _COST)
"""Of what a turn costs with the context that lies ahead; prices differ too much for a typical one."""
