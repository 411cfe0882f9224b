"""Split a block's features among its segments so that the parts add up to the block exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.tokens.features import Features

_TEXT_FEATURES: Final = frozenset({"text", "result", "json", "tools", "symbols", "letters"})
"""Features that grow with the text; every other one (an image, a tool call) belongs to one segment."""


def split_features(whole: Features, weights: Sequence[float], keeper: int = 0) -> list[Features]:
    """Split `whole` in proportion to `weights` (tokens of each segment's text, by any count).

    Parts are whole numbers if `whole` is: they are differences of rounded running sums, so that they add up in
    any order. Features that do not grow with the text go to part `keeper`.
    """
    running = _running_shares(weights)
    columns = [
        _spread_by_share(amount, running)
        if name in _TEXT_FEATURES
        else [amount if n == keeper else 0.0 for n in range(len(weights))]
        for name, amount in zip(Features._fields, whole, strict=True)
    ]
    return [Features(*row) for row in zip(*columns, strict=True)]


def _running_shares(weights: Sequence[float]) -> list[float]:
    total, sums, so_far = sum(weights), [], 0.0
    for weight in weights:
        so_far += weight
        sums.append(so_far / total if total else 1.0)
    return [*sums[:-1], 1.0]


def _spread_by_share(amount: float, running: Sequence[float]) -> list[float]:
    if not amount:
        return [0.0] * len(running)
    ends = [min(amount, float(round(amount * share))) for share in running[:-1]] + [amount]
    return [end - start for start, end in zip([0.0, *ends], ends, strict=False)]
