"""Curves in braille dots (2 across and 4 down in each cell), and overlays of curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxtui.views.text.span import Span, merged

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of the dots in a braille character, by line and column."""

Mask = list[list[int]]
"""Dots of a curve: one bit mask of eight dots per cell, lines from the top."""


def _pixel(value: float, low: float, high: float, count: int) -> int:
    part = (value - low) / (high - low) if high > low else 0.0
    return min(count - 1, max(0, int(part * (count - 1) + 0.5)))


def curve(
    points: Iterable[tuple[float, float]],
    width: int,
    height: int,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
) -> Mask:
    """The dots of a line through `points` in `width` x `height` cells.

    Outside values are clamped.
    """
    mask = [[0] * width for _ in range(height)]
    if width <= 0 or height <= 0:
        return mask
    before: tuple[int, int] | None = None
    for x, y in points:
        here = (_pixel(x, *x_range, 2 * width), 4 * height - 1 - _pixel(y, *y_range, 4 * height))
        for column, row in _line_between(before or here, here):
            mask[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
        before = here
    return mask


def _line_between(start: tuple[int, int], end: tuple[int, int]) -> Iterable[tuple[int, int]]:
    (x0, y0), (x1, y1) = start, end
    count = max(abs(x1 - x0), abs(y1 - y0))
    for i in range(count + 1):
        part = i / count if count else 0.0
        yield round(x0 + (x1 - x0) * part), round(y0 + (y1 - y0) * part)


def rows(layers: Sequence[tuple[Mask, str]]) -> list[list[Span]]:
    """Curves as lines of spans; each layer is (dots, style), and earlier layers are on top."""
    if not layers:
        return []
    height, width = len(layers[0][0]), len(layers[0][0][0]) if layers[0][0] else 0
    lines = []
    for row in range(height):
        cells = (
            next(
                (Span(chr(0x2800 + mask[row][column]), style) for mask, style in layers if mask[row][column]), Span(" ")
            )
            for column in range(width)
        )
        lines.append(merged(cells))
    return lines
