"""The shape of a context's growth: a line, a bend, nothing; fitted by least squares and said with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Final

from msgspec import Struct

LINEAR: Final = "linear"
FASTER: Final = "quadratic"
SLOWING: Final = "slowing"
FLAT: Final = "flat"
SHRINKING: Final = "shrinking"
UNEVEN: Final = "uneven"
"""Kinds: the same with every call, more with every call, less with every call, none to speak of, less than before, and
steps that no curve follows."""

FEWEST: Final = 4
"""Calls that a line needs."""
FEWEST_BENT: Final = 8
"""Calls that a bend needs."""
_STILL: Final = 0.05
"""Growth over all calls, as a share of their mean size, below which a context counts as flat."""
_FOLLOWS: Final = 0.5
"""The share of the differences that a line must account for (R²)."""
_CLEARLY: Final = 12.0
"""By how much a bend must account for more than a line does (its F with one degree of freedom; about 0.2 % by
chance)."""
_BENDS: Final = 2.0
"""How many times as much the last call must bring as the first, or the other way round, to be called a bend."""


class GrowthShape(Struct, frozen=True, kw_only=True):
    """How contexts grew over `calls` that follow each other. `per_call` is the slope of the fitted line in tokens,
    `begins` and `ends` those of the fitted bend at its ends (the line's, where there is no bend), `r2` the share of the
    differences that the line accounts for, `r2_bent` that of the bend. `doubled`: twice as many calls would send so
    many times as much in all, on the fitted curve."""

    kind: str
    calls: int
    first: int
    per_call: float
    begins: float
    ends: float
    r2: float
    r2_bent: float
    doubled: float

    @property
    def sent(self) -> str:
        """How all that is sent grows with the number of calls: `LINEAR` or `FASTER`."""
        return FASTER if self.doubled >= 2.5 else LINEAR


def shape(sizes: Sequence[int], first: int = 1) -> GrowthShape | None:
    """The shape of contexts of these `sizes` (tokens), call by call from number `first` on; None of too few."""
    n = len(sizes)
    if n < FEWEST:
        return None
    # In the largest unit that leaves whole numbers: on which side of a limit a shape stands is no matter of rounding.
    unit = gcd(*sizes) or 1
    sizes = [size // unit for size in sizes]
    mean = sum(sizes) / n
    whole = sum((size - mean) ** 2 for size in sizes)
    middle = (n - 1) / 2
    # Orthogonal on whole numbers 0 .. n-1, so that each figure stands for itself.
    line = [x - middle for x in range(n)]
    bend = [x * x - (n * n - 1) / 12 for x in line]
    slope = _along(sizes, line)
    curve = _along(sizes, bend)
    by_line = slope * slope * sum(x * x for x in line)
    by_bend = curve * curve * sum(x * x for x in bend)
    r2 = by_line / whole if whole else 1.0
    r2_bent = (by_line + by_bend) / whole if whole else 1.0
    left = max(whole - by_line - by_bend, 0.0)
    begins, ends = slope - 2 * curve * middle, slope + 2 * curve * middle
    kind = _kind(n, mean, slope, r2)
    if n >= FEWEST_BENT and kind not in (FLAT, SHRINKING) and by_bend > _CLEARLY * left / (n - 3):
        if ends >= _BENDS * max(begins, 0.0) and r2_bent >= _FOLLOWS:
            kind = FASTER
        elif begins >= _BENDS * max(ends, 0.0) and r2_bent >= _FOLLOWS:
            kind = SLOWING
    bent = kind in (FASTER, SLOWING)
    if not bent:
        begins = ends = slope

    def at(x: float) -> float:
        moved = x - middle
        return max(0.0, mean + slope * moved + (curve * (moved * moved - (n * n - 1) / 12) if bent else 0.0))

    once = sum(map(at, range(n)))
    doubled = (once + sum(map(at, range(n, 2 * n)))) / once if once else 2.0
    return GrowthShape(
        kind=kind,
        calls=n,
        first=first,
        per_call=unit * slope,
        begins=unit * begins,
        ends=unit * ends,
        r2=r2,
        r2_bent=r2_bent,
        doubled=doubled,
    )


def _along(sizes: Sequence[int], by: Sequence[float]) -> float:
    return sum(size * x for size, x in zip(sizes, by, strict=True)) / sum(x * x for x in by)


def _kind(n: int, mean: float, slope: float, r2: float) -> str:
    if abs(slope) * (n - 1) < _STILL * mean:
        return FLAT
    if r2 < _FOLLOWS:
        return UNEVEN
    return LINEAR if slope > 0 else SHRINKING
