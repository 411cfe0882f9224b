"""Draws strips of calls: one column per call; read, write and fresh in eighths of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.views.text.scale import buckets, short
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, merged

EIGHTHS_UP: Final = " ▁▂▃▄▅▆▇█"

GHOST: Final = "faint"
COMPACTION: Final = "compaction"
MARKS_BY_RANK: Final = (COMPACTION, "here", "error", "miss", "ttl miss", "model", "loop", "bookmark", "turn")
"""Precedence of the marks in a column.

Compactions come first: they are rare, and would be hidden by the miss that comes with most of them.
"""

PRICE_WEIGHTS: Final = (0.1, 1.25, 1.0)
"""Typical prices of tokens read, written and fresh, relative to fresh ones (facts §2)."""


class StripColumn(Struct, frozen=True):
    """One call in the strip: tokens `read`, `write` and `fresh`.

    `ghost`: tokens that staged edits would remove. `is_shown`: it is the call shown.
    """

    read: float
    write: float = 0
    fresh: float = 0
    marks: tuple[str, ...] = ()
    is_shown: bool = False
    ghost: float = 0

    @property
    def total(self) -> float:
        return self.read + self.write + self.fresh

    @property
    def typical_cost(self) -> float:
        """Estimated cost of the input, as a number of fresh tokens."""
        parts = zip(PRICE_WEIGHTS, (self.read, self.write, self.fresh), strict=True)
        return sum(weight * part for weight, part in parts)


class Window(NamedTuple):
    """Calls in view: indices (from 0) `first` to `last`, inclusive, each `per` cells wide."""

    first: int
    last: int
    per: int


def window(count: int, cursor: int, room: int) -> Window:
    """The part of `count` calls that fits in `room` cells, ending at `cursor` or later.

    All calls with two cells each if they fit.
    """
    if count <= 0 or room <= 0:
        return Window(0, -1, 1)
    if room >= 2 * count:
        return Window(0, count - 1, 2)
    last = min(count - 1, max(cursor, room - 1))
    return Window(max(0, last - room + 1), last, 1)


def bucket_columns(columns: Sequence[StripColumn], room: int) -> list[StripColumn]:
    """All calls in at most `room` columns (0: no limit).

    Each is the dearest of its calls, with the marks of all.
    """
    count = len(columns)
    if count <= room or room <= 0:
        return list(columns)
    out = []
    for bucket in buckets(count, room):
        group = columns[bucket.start : bucket.stop]
        dearest = max(group, key=lambda column: column.typical_cost)
        marks = tuple(name for name in MARKS_BY_RANK if any(name in column.marks for column in group))
        out.append(replace(dearest, marks=marks))
    return out


def _levels(column: StripColumn, height: int, top: float) -> list[tuple[int, str]]:
    """The upper end of each part in eighths from the bottom, and its style; the ghost is last."""
    ghost = max(0.0, min(column.ghost, column.total))
    parts = [("accent" if column.is_shown else "read", column.read), ("write", column.write), ("fresh", column.fresh)]
    # The column keeps its height: ghost tokens are taken from read, then write, then fresh.
    remaining = ghost
    for at, (style, part) in enumerate(parts):
        removed = min(remaining, max(0.0, part))
        parts[at], remaining = (style, part - removed), remaining - removed
    ends, sum_ = [], 0.0
    for style, part in [*parts, (GHOST, ghost)]:
        sum_ += max(0.0, part)
        end = min(8 * height, int(sum_ * 8 * height / top + 0.5)) if top > 0 else 0
        if sum_ > 0 and end == 0:
            end = 1
        ends.append((end, style))
    return ends


def stacked_cell(levels: list[tuple[int, str]], row: int) -> Span:
    """One cell of a column, `row` (from 0) from the bottom.

    Small parts are merged with a neighbour.
    """
    if not levels or levels[-1][0] <= 8 * row:
        return Span(" ")
    if levels[0][0] >= 8 * row + 8:
        return Span("█", levels[0][1])
    parts: list[tuple[int, str]] = []
    at = 8 * row
    for end, style in [*levels, (8 * row + 8, "")]:
        eighths = min(end, 8 * row + 8) - at
        if eighths > 0:
            parts.append((eighths, style))
            at += eighths
    while len(parts) > 2:
        smallest = min(range(len(parts)), key=lambda i: parts[i][0])
        merged_size, neighbour = parts.pop(smallest)[0], max(smallest - 1, 0)
        parts[neighbour] = (parts[neighbour][0] + merged_size, parts[neighbour][1])
    (size, lower), upper = parts[0], parts[1][1] if len(parts) > 1 else ""
    if len(parts) == 1:
        return Span("█", lower) if lower else Span(" ")
    return Span(EIGHTHS_UP[size], f"{lower} on-{upper}" if upper else lower)


def _plain_cell(levels: list[tuple[int, str]], row: int) -> Span:
    """Like `stacked_cell`, without colour: the largest part, at the height of all."""
    bottom, top = 8 * row, min(levels[-1][0], 8 * row + 8)
    if top <= bottom:
        return Span(" ")
    start, largest = 0, (0, "")
    for end, style in levels:
        largest = max(largest, (min(end, top) - max(start, bottom), style), key=lambda part: part[0])
        start = end
    return ghost_sign(colour=False) if largest[1] == GHOST else Span(EIGHTHS_UP[top - bottom], largest[1])


def ghost_sign(*, colour: bool) -> Span:
    return Span("█" if colour else "░", GHOST)


def rows(
    columns: Sequence[StripColumn], height: int, top: float, *, per: int = 1, colour: bool = True
) -> list[list[Span]]:
    """The strip as `height` lines, top line first, with `per` cells for each call; not padded.

    `top` is the number of tokens of the full height. Without `colour` a cell has the style of its largest part.
    """
    cells = [_cells(column, height, top, colour) for column in columns]
    return [
        merged(Span(text * per, style) for text, style in (cells_of_column[y] for cells_of_column in cells))
        for y in range(height)
    ]


@lru_cache(maxsize=4096)
def _cells(column: StripColumn, height: int, top: float, colour: bool) -> tuple[Span, ...]:
    """The column's cells, top first; cached, since few columns change between two frames."""
    levels = _levels(column, height, top)
    draw = stacked_cell if colour else _plain_cell
    return tuple(draw(levels, row) for row in range(height - 1, -1, -1))


def marks(columns: Sequence[StripColumn], here: int | None = None, *, per: int = 1) -> list[Span]:
    """The line under the strip: the first mark of each call by rank, ``▲`` for call `here`.

    A compaction stays: with two cells per call the next mark is shown too, with one cell it gets the colour of ``▲``
    for `here`.
    """
    spans = []
    for number, column in enumerate(columns):
        names = (*column.marks, "here") if number == here else column.marks
        mark_spans = [MARK[name].span for name in MARKS_BY_RANK if name in names]
        if COMPACTION not in names or per < 2:
            mark_spans = mark_spans[:1]
        if per < 2 and COMPACTION in names and number == here:
            mark_spans = [mark_spans[0]._replace(style=MARK["here"].style)]
        spans += [*mark_spans[:2], Span(" " * (per - len(mark_spans[:2])))]
    return merged(spans)


def limit_rows(room: int, height: int, top: float, usable: float) -> list[list[Span]]:
    """The free area to the right of the columns, with the `usable` limit (0: unknown) as ``┄``."""
    limit = height - 1 - int(usable * height / top) if min(top, usable) > 0 and height >= 6 else -1
    return [merged([Span("┄", "warn") if y == limit else Span(" ")] * room) for y in range(height)]


def axis(height: int, top: float, room: int) -> list[list[Span]]:
    """The y axis, one list per line: `top`, its half from 8 lines on, and 0."""
    figures = dict.fromkeys(range(height), "")
    figures[0] = short(top)
    if height >= 8:
        figures[height // 2] = short(top / 2)
    if height > 1:
        figures[height - 1] = "0"
    return [[Span(f"{figures[row]:>{room}} "[-room - 1 :], "faint")] for row in range(height)]
