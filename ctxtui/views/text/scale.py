"""Axis scales: round steps, and the line of figures below a map."""

from __future__ import annotations

import math

from ctxtui.views.text.numbers import tokens
from ctxtui.views.text.span import Span, merged

_ROUND = (1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Upper ends of an axis, times a power of ten."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Steps between figures of an axis, times a power of ten."""


def ceiling(value: float) -> float:
    """The next round figure from `value` (tokens) on, for an axis's top: 154,000 -> 160,000."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((power * step for step in _ROUND if power * step >= value * (1 - 1e-9)), power * 10)


def step(span: float, most: int) -> float:
    """The smallest round step that divides `span` into at most `most` parts."""
    if span <= 0 or most < 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    return next((power * s for s in _STEPS if span / (power * s) <= most * (1 + 1e-9)), power * 10)


def buckets(count: int, most: int) -> list[range]:
    """Divide `count` indices evenly among at most `most` columns."""
    columns = min(count, most)
    return [range(n * count // columns, (n + 1) * count // columns) for n in range(columns)]


def short(value: float) -> str:
    """Format an axis figure without trailing zeros: ``0``, ``50k``, ``1.5M``."""
    figure = tokens(value)
    head, unit = (figure[:-1], figure[-1]) if figure[-1:].isalpha() else (figure, "")
    return head.rstrip("0").rstrip(".") + unit if "." in head else figure


def line(width: int, scale: float, here: float | None = None) -> list[Span]:
    """The scale below a map: ``0    50k    100k   150k``, with ``▲`` below the token `here`.

    Figures start at their position, the last one ends at the right edge; a figure that `▲` or another figure would
    overlap is left out.
    """
    spans = [Span(" ")] * width
    mark = min(width - 1, max(0, int(here * width / scale))) if here is not None and scale > 0 and width > 0 else None
    used_cells = {mark} if mark is not None else set()
    by = step(scale, max(1, width // 10))
    labels = [(width - len(short(scale)), short(scale))]
    labels += [(int(i * by * width / scale), short(i * by)) for i in range(math.ceil(scale / by - 1e-9))]
    for start, figure in labels:
        cells_of_figure = set(range(start - 1, start + len(figure) + 1))
        if start < 0 or start + len(figure) > width or cells_of_figure & used_cells:
            continue
        used_cells |= cells_of_figure - {start - 1}
        spans[start : start + len(figure)] = [Span(char, "faint") for char in figure]
    if mark is not None:
        spans[mark] = Span("▲", "accent")
    return merged(spans)
