"""Raster of a context's map, and the cache track below it.

A pixel is the same number of tokens everywhere; it has the colour of its category.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from ctxtui.core.category import INDEX
from ctxtui.views.text.signs import CATEGORY, MARK, NOT_RECORDED, TRACK
from ctxtui.views.text.span import Span, merged


class Cell(NamedTuple):
    """One cell of the map; `fg` and `bg` are the categories of its pixels (None: free)."""

    glyph: str
    fg: int | None
    bg: int | None


FREE_CELL: Final = Cell(" ", None, None)
_RESULT, _CALL = INDEX["tool_result"], INDEX["tool_call"]
_CONVERSATION: Final = (INDEX["user"], INDEX["assistant"])


def cells(shown: Sequence[int | None], width: int, height: int, whole: bool = False) -> list[list[Cell]]:
    """The map as `height` rows of `width` cells, filled top to bottom, then left to right.

    `shown` is the category index at each pixel. A cell has two pixels, one above the other; if `whole`, one, drawn as a
    glyph for terminals without colour.
    """
    if whole:
        return [[*map(_whole_cell, shown[row::height][:width])] for row in range(height)]
    # Pixels alternate between upper and lower.
    halves = ((shown[2 * row :: 2 * height], shown[2 * row + 1 :: 2 * height]) for row in range(height))
    return [[*map(_half, tops[:width], bottoms[:width])] for tops, bottoms in halves]


@lru_cache(maxsize=1000)
def _half(top: int | None, bottom: int | None) -> Cell:
    if top is None:
        return FREE_CELL
    if top == bottom:
        return Cell("░" if top == NOT_RECORDED else "█", top, bottom)
    return Cell("▀", top, bottom)


def _whole_cell(category: int | None) -> Cell:
    if category is None:
        return FREE_CELL
    glyph = {_RESULT: "░", _CALL: "▒"}.get(category, CATEGORY[category].glyph)
    return Cell(glyph, category, category)


def _letter(category: int) -> str:
    # Results and calls are nine tenths of most contexts, so their letters are small.
    letter = CATEGORY[category].letter
    return letter.lower() if category in (_RESULT, _CALL) else letter


def _style(cell: Cell, letters: bool, whole: bool) -> str:
    if cell.fg is None:
        return "hair"
    style = CATEGORY[cell.fg].style
    if whole or letters:
        quiet, loud = cell.fg in (_RESULT, _CALL), cell.fg in _CONVERSATION
        return style + (" quiet" if quiet and letters else " bold" if loud else "")
    if cell.bg is None or cell.bg == cell.fg:
        return style
    return f"{style} on-{CATEGORY[cell.bg].style}"


def pixel_count(width: int, height: int, *, colour: bool = True, letters: bool = False) -> int:
    return width * height * (1 if letters or not colour else 2)


def rows_of(
    shown: Sequence[int | None], width: int, height: int, *, colour: bool = True, letters: bool = False
) -> list[list[Span]]:
    """The map as `height` lines of `width` cells from the category index at each pixel.

    Half blocks in two colours; without `colour` a glyph per cell (``░`` result, ``▒`` call); with `letters` an ASCII
    letter. Free cells are blank, with dots in the last line (in every line without `colour`).
    """
    whole = letters or not colour
    out = []
    for number, row in enumerate(cells(shown, width, height, whole)):
        free = " " if number < height - 1 and colour else "." if letters else "·"
        out.append(merged([_draw_cell(cell, letters, whole, free) for cell in row]))
    return out


@lru_cache(maxsize=1000)
def _draw_cell(cell: Cell, letters: bool, whole: bool, free: str) -> Span:
    glyph = free if cell.fg is None else _letter(cell.fg) if letters else cell.glyph
    return Span(glyph, _style(cell, letters, whole))


def token_at(column: int, row: float, width: int, height: int, scale: float) -> float:
    """The token at a point of the map: `column` and `row` in cells.

    Row ½ is the middle of the first.
    """
    return (column * height + min(max(row, 0.0), float(height))) * scale / max(1, width * height)


def column_of(token: float, width: int, scale: float) -> int:
    return min(max(0, width - 1), max(0, int(token * width / scale))) if scale > 0 else 0


def track(
    segments: Sequence[tuple[str, float]],
    width: int,
    scale: float,
    breakpoints: Sequence[tuple[float, bool]] = (),
    break_at: float | None = None,
) -> list[Span]:
    """The cache track below the map: ``━`` read, ``╍`` written, ``┄`` fresh.

    `segments` are (state, tokens) in prompt order. `breakpoints` are (token, whether automatic or inferred): ``◇`` if
    so, else ``◆``. `break_at` is the token where the prefix ends: ``╳``.
    """
    ends = list(accumulate(tokens for _, tokens in segments))
    total = ends[-1] if ends else 0
    spans = []
    for column in range(width):
        token = (column + 0.5) * scale / width
        state = segments[bisect_right(ends, token)][0] if token < total else ""
        spans.append(TRACK[state].span if state in TRACK else Span(" "))
    for token, automatic in sorted(breakpoints, key=lambda mark: not mark[1]):
        spans[column_of(token, width, scale)] = MARK["automatic breakpoint" if automatic else "breakpoint"].span
    if break_at is not None:
        spans[column_of(break_at, width, scale)] = MARK["break"].span
    return merged(spans)
