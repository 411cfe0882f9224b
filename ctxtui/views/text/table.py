"""Tables: columns that are declared once give heads, rows, what a narrow line leaves out, and what it is ordered by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.views.text import cells
from ctxtui.views.text.grid import fitted
from ctxtui.views.text.span import Span, Spans, padded, width

Row = TypeVar("Row")

ORDERED: Final = " ↓"
"""Behind the head of the column that a list is ordered by."""


class Column(Struct, Generic[Row], frozen=True):
    """A column `name`, `width` cells wide; 0 is the one column that takes what the others leave, `least` cells or more.

    `cell` draws a row's spans in so many cells; what is too long ends in ``…``. `sum` says what its figure is made of,
    "" where that is not known. `gap` blanks stand before it. It is
    there on lines from `from_width` cells on, and `below` so many (0: on all). `wider` are (cells of a line, width):
    from there on it is as wide as that. Rows can be ordered by `sort`, where it has one.
    """

    name: str
    width: int
    cell: Callable[[Row, int], Span | Spans]
    align: str = "right"
    gap: int = 0
    from_width: int = 0
    below: int = 0
    wider: tuple[tuple[int, int], ...] = ()
    least: int = 4
    sort: Callable[[Row], float | str] | None = None
    sum: Callable[[Row], str] | None = None

    def room(self, line: int) -> int:
        """Its cells in a line of `line` cells."""
        return next((wide for start, wide in reversed(self.wider) if line >= start), self.width)

    def draw(self, row: Row, room: int) -> Spans:
        """The cell of a row in exactly `room` cells."""
        found = self.cell(row, room)
        if isinstance(found, Span):
            return [self.aligned(found, room)]
        if self.align == "right" and width(found) <= room:
            return padded(found, room, "right")
        return fitted(found, room)

    def aligned(self, span: Span, room: int) -> Span:
        """`span` at its side of the column."""
        fit = cells.right if self.align == "right" else cells.left
        return Span(fit(span.text, room), span.style)


class Table(Struct, Generic[Row], frozen=True):
    """Lines of `columns`. The cursor's mark takes `mark` cells before them (0: there is none), `tail` blanks end one;
    heads are drawn in `style`, the one of the order in ``ink`` with `ordered_by` behind it. Where `instead` says
    something of a row, that stands in place of all its columns but the first."""

    columns: tuple[Column[Row], ...]
    mark: int = 1
    tail: int = 1
    style: str = "dim"
    ordered_by: str = ORDERED
    instead: Callable[[Row], Spans] | None = None
    group: Callable[[Row], Spans] | None = None

    def shown(self, room: int) -> list[tuple[Column[Row], int]]:
        """The columns of a line of `room` cells, with the cells of each."""
        found = [
            (one, one.room(room))
            for one in self.columns
            if room >= one.from_width and (room < one.below or not one.below)
        ]
        taken = self.mark + self.tail + sum(one.gap + wide for one, wide in found)
        return [(one, wide or max(one.least, room - taken)) for one, wide in found]

    @property
    def headed(self) -> bool:
        """Whether any column has a name."""
        return any(one.name for one in self.columns)

    def heads(self, room: int, order: str = "") -> list[Span]:
        """The line of heads; one at the right that is longer than its column reaches into the blanks before it."""
        line = [Span(" " * self.mark, self.style)]
        for column, wide in self.shown(room):
            here = bool(order) and column.name == order
            name = column.name + self.ordered_by * here
            line.append(Span(" " * column.gap, self.style))
            lacks = cells.width(name) - wide if column.align == "right" else 0
            reach = max(0, min(lacks, column.gap + _blanks(line[-2].text)))
            kept = (line[-2].text + line[-1].text)[: -reach or None]
            line[-2:] = [
                Span(kept, line[-2].style),
                column.aligned(Span(name, "ink" if here else self.style), wide + reach),
            ]
        return line

    def draw(self, row: Row, room: int, *, here: bool = False) -> list[Span]:
        """A row in `room` cells; `here` puts the cursor's mark in front."""
        line = [Span(("▸" if here else "").ljust(self.mark), "accent")] if self.mark else []
        words = self.instead(row) if self.instead is not None else ()
        for column, wide in self.shown(room)[: 1 if words else None]:
            if column.gap:
                line.append(Span(" " * column.gap))
            line += column.draw(row, wide)
        line += fitted(words, room - width(line) - self.tail) if words else []
        if self.tail:
            line.append(Span(" " * self.tail))
        return line

    def column_at(self, room: int, x: int) -> Column[Row] | None:
        """The column at cell `x` of a line of `room` cells."""
        at = self.mark
        for column, wide in self.shown(room):
            at += column.gap
            if at <= x < at + wide:
                return column
            at += wide
        return None

    def head_at(self, room: int, x: int) -> str:
        """The name of the column at cell `x` of a line of `room` cells, "" where there is none."""
        column = self.column_at(room, x)
        return column.name if column is not None else ""

    def sum_at(self, row: Row, room: int, x: int) -> str:
        """What the figure of `row` at cell `x` is made of, "" where that is not told."""
        column = self.column_at(room, x)
        said = self.instead is not None and self.instead(row)
        return column.sum(row) if column is not None and column.sum is not None and not said else ""

    def showing(self, name: str) -> Table[Row]:
        """The same table, with the column `name` on lines of any width."""
        columns = (replace(one, from_width=0, below=0) if one.name == name else one for one in self.columns)
        return replace(self, columns=tuple(columns)) if name else self

    @property
    def orders(self) -> list[str]:
        """The names of the columns by which rows can be ordered."""
        return [one.name for one in self.columns if one.sort is not None]

    def ordered(self, rows: Iterable[Row], name: str) -> list[Row]:
        """`rows` by a column, the largest first; rows that are equal keep their order."""
        sort = next(one.sort for one in self.columns if one.name == name and one.sort is not None)
        return sorted(rows, key=sort, reverse=True)


def _blanks(text: str) -> int:
    return len(text) - len(text.rstrip())
