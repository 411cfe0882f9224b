"""Paired runs: the two sides in turn, the ratio pair by pair, the median quoted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Result:
    """One line of the table: `value` against `target` (both in `unit`; ratios have the unit ``x``)."""

    name: str
    value: float
    target: float
    unit: str = "x"
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.target


def ratio(ours: Callable[[], float], floor: Callable[[], float], runs: int = 5) -> tuple[float, float, float]:
    """Median of ours/floor over `runs` interleaved pairs, and the two medians in seconds. One pair is a warm-up."""
    ours(), floor()
    pairs = [(ours(), floor()) for _ in range(runs)]
    return median(a / b for a, b in pairs), median(a for a, _ in pairs), median(b for _, b in pairs)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0..1) of `values` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
