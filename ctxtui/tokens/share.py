"""Shares of a block's features: what its segments count, so that they add up to the block exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.tokens.features import Features

_SPREAD: Final = frozenset({"text", "result", "json", "tools", "symbols", "letters"})
"""Features that grow with the text; every other one (an image, the fact that it is a call) belongs to one segment."""


def shares(whole: Features, weights: Sequence[float], keeper: int = 0) -> list[Features]:
    """`whole` in as many parts as there are `weights` (tokens of each segment's text, by any count), in proportion.

    Parts are whole numbers where `whole` is, by differences of rounded running sums, so that they add up to it whatever
    their order; what does not grow with the text goes to part `keeper`.
    """
    running = _running(weights)
    columns = [
        _spread(amount, running) if name in _SPREAD else _kept(amount, keeper, len(weights))
        for name, amount in zip(Features._fields, whole, strict=True)
    ]
    return [Features(*row) for row in zip(*columns, strict=True)]


def _running(weights: Sequence[float]) -> list[float]:
    """Which share of the text ends with each segment."""
    total, sums, so_far = sum(weights), [], 0.0
    for weight in weights:
        so_far += weight
        sums.append(so_far / total if total else 1.0)
    return [*sums[:-1], 1.0]


def _spread(amount: float, running: Sequence[float]) -> list[float]:
    if not amount:
        return [0.0] * len(running)
    ends = [min(amount, float(round(amount * share))) for share in running[:-1]] + [amount]
    return [end - start for start, end in zip([0.0, *ends], ends, strict=False)]


def _kept(amount: float, keeper: int, count: int) -> list[float]:
    return [amount if n == keeper else 0.0 for n in range(count)]
