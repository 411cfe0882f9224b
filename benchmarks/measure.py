"""Paired runs: the two sides in turn, the ratio pair by pair, the median quoted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from statistics import median
from typing import Any, Final, TypeVar

T = TypeVar("T")

NO_LIMIT: Final = float("inf")
"""The limit of a figure that is shown for scale."""
AGREED: Final = 0.04
"""Of the median: how far apart ratios may lie that need no further pairs."""
_DRAWN_AGAIN: Final = 200
"""Times that rounds are drawn again to say how sure a figure is."""


@dataclass(frozen=True)
class Result:
    """One line of the table: `value` against `limit` (both in `unit`; ratios have the unit ``x``).

    `peer` is what was measured in turn with ours, or sets the limit. `value` is None where it was not run; `note` says
    why.
    """

    goal: str
    name: str
    peer: str
    value: float | None
    limit: float = NO_LIMIT
    unit: str = "x"
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the limit is kept; what was not run breaks none."""
        return self.value is None or self.value <= self.limit

    @property
    def margin(self) -> float | None:
        """How far below its limit the figure is, as a share of the limit; negative where it is missed."""
        return None if self.value is None or self.limit in (0, NO_LIMIT) else 1 - self.value / self.limit

    def as_fields(self) -> dict[str, Any]:
        """For JSON: without a limit it is null."""
        return {**asdict(self), "limit": None if self.limit == NO_LIMIT else self.limit, "margin": self.margin}

    @staticmethod
    def of(fields: dict[str, Any]) -> Result:
        """What `as_fields` gave."""
        limit = NO_LIMIT if fields["limit"] is None else fields["limit"]
        return Result(**{**{key: value for key, value in fields.items() if key != "margin"}, "limit": limit})


def not_run(goal: str, name: str, peer: str, why: str, limit: float = NO_LIMIT) -> Result:
    """The line of something that could not be measured here."""
    return Result(goal, name, peer, None, limit, note=f"not run: {why}")


def shown_for_scale(result: Result) -> Result:
    """The same without its limit."""
    return replace(result, limit=NO_LIMIT)


def ratio(ours: Callable[[], float], floor: Callable[[], float], runs: int = 5) -> tuple[float, float, float]:
    """Median of ours/floor over at most `runs` interleaved pairs, and the two medians in seconds. One pair is a
    warm-up; once three pairs agree within `AGREED`, no more are run."""
    ours(), floor()
    pairs: list[tuple[float, float]] = []
    while len(pairs) < runs and not agreed([a / b for a, b in pairs]):
        pairs.append((ours(), floor()))
    return median(a / b for a, b in pairs), median(a for a, _ in pairs), median(b for _, b in pairs)


def agreed(values: list[float]) -> bool:
    """Whether so many values lie so close together that more would not move their median."""
    return len(values) >= 3 and max(values) - min(values) <= AGREED * median(values)


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0..1) of `values` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def sure(figure: Callable[[Sequence[T]], float], rounds: Sequence[T]) -> tuple[float, float]:
    """Between what the `figure` of rounds lies in four of five draws of as many of them."""
    rng = Random(15)
    found = [figure(rng.choices(rounds, k=len(rounds))) for _ in range(_DRAWN_AGAIN)]
    return percentile(found, 0.1), percentile(found, 0.9)


def settled(figure: Callable[[Sequence[T]], float], rounds: Sequence[T]) -> bool:
    """Whether the `figure` of rounds is sure to within `AGREED` of itself: more rounds would hardly move it."""
    if len(rounds) < 3:
        return False
    low, high = sure(figure, rounds)
    return high - low <= AGREED * figure(rounds)
