"""Tables: declared columns define heads, rows, narrow layouts, and sort orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, fit_spans, padded, width

Row = TypeVar("Row")

SORT_MARK: Final = " ↓"


class Column(Struct, Generic[Row], frozen=True):
    """A column with the head `name`.

    - `width`: in cells; 0 for the one column that takes the rest, `least` cells or more.
    - `cell`: a row's spans, given the cells of the column; longer ones are cut and end in ``…``.
    - `sum`: explains a row's figure, or returns "" (None: never).
    - `align`: ``right`` or ``left``; `gap`: blanks before it.
    - `from_width`, `below`: shown on lines of at least `from_width` cells, and of fewer than `below` (0: no maximum).
    - `wider`: pairs (least width of the line, width of the column), ascending; they replace `width`.
    - `sort`: the sort key, if any.
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
        return next((wide for start, wide in reversed(self.wider) if line >= start), self.width)

    def draw(self, row: Row, room: int) -> Spans:
        spans = self.cell(row, room)
        if isinstance(spans, Span):
            return [self.align_span(spans, room)]
        if self.align == "right" and width(spans) <= room:
            return padded(spans, room, "right")
        return fit_spans(spans, room)

    def align_span(self, span: Span, room: int) -> Span:
        fit = cells.right if self.align == "right" else cells.left
        return Span(fit(span.text, room), span.style)


class Table(Struct, Generic[Row], frozen=True):
    """Lines of `columns`.

    - `mark`: cells of the cursor mark before them (0: none). `tail`: blanks that end a line.
    - `style`: of the heads; that of the sorted column is in ``ink``, followed by `ordered_by`.
    - `instead`: if it returns spans for a row, they replace all columns but the first.
    - `group`: the heading of the group to which a row belongs; lists draw it above the group's first row.
    """

    columns: tuple[Column[Row], ...]
    mark: int = 1
    tail: int = 1
    style: str = "dim"
    ordered_by: str = SORT_MARK
    instead: Callable[[Row], Spans] | None = None
    group: Callable[[Row], Spans] | None = None

    def visible_columns(self, line_width: int) -> list[tuple[Column[Row], int]]:
        visible = [
            (column, column.room(line_width))
            for column in self.columns
            if line_width >= column.from_width and (line_width < column.below or not column.below)
        ]
        used = self.mark + self.tail + sum(column.gap + column_width for column, column_width in visible)
        return [(column, column_width or max(column.least, line_width - used)) for column, column_width in visible]

    @property
    def has_heads(self) -> bool:
        return any(column.name for column in self.columns)

    def heads(self, line_width: int, order: str = "") -> list[Span]:
        """The line of heads; `order` is the name of the sorted column."""
        line = [Span(" " * self.mark, self.style)]
        for column, wide in self.visible_columns(line_width):
            here = bool(order) and column.name == order
            name = column.name + self.ordered_by * here
            line.append(Span(" " * column.gap, self.style))
            excess = cells.width(name) - wide if column.align == "right" else 0
            overlap = max(0, min(excess, column.gap + _blanks(line[-2].text)))
            text_before = (line[-2].text + line[-1].text)[: -overlap or None]
            line[-2:] = [
                Span(text_before, line[-2].style),
                column.align_span(Span(name, "ink" if here else self.style), wide + overlap),
            ]
        return line

    def draw(self, row: Row, line_width: int, *, here: bool = False) -> list[Span]:
        line = [Span(("▸" if here else "").ljust(self.mark), "accent")] if self.mark else []
        words = self.instead(row) if self.instead is not None else ()
        for column, wide in self.visible_columns(line_width)[: 1 if words else None]:
            if column.gap:
                line.append(Span(" " * column.gap))
            line += column.draw(row, wide)
        line += fit_spans(words, line_width - width(line) - self.tail) if words else []
        if self.tail:
            line.append(Span(" " * self.tail))
        return line

    def column_at(self, line_width: int, x: int) -> Column[Row] | None:
        """The column at cell `x` of a line of `line_width` cells."""
        at = self.mark
        for column, wide in self.visible_columns(line_width):
            at += column.gap
            if at <= x < at + wide:
                return column
            at += wide
        return None

    def head_at(self, line_width: int, x: int) -> str:
        column = self.column_at(line_width, x)
        return column.name if column is not None else ""

    def sum_at(self, row: Row, line_width: int, x: int) -> str:
        """Explain the figure of `row` at cell `x`; "" without an explanation."""
        column = self.column_at(line_width, x)
        is_replaced = self.instead is not None and self.instead(row)
        return column.sum(row) if column is not None and column.sum is not None and not is_replaced else ""

    def with_column(self, name: str) -> Table[Row]:
        """A copy that shows column `name` on lines of any width."""
        columns = (replace(column, from_width=0, below=0) if column.name == name else column for column in self.columns)
        return replace(self, columns=tuple(columns)) if name else self

    @property
    def sortable_names(self) -> list[str]:
        return [column.name for column in self.columns if column.sort is not None]

    def sort_rows(self, rows: Iterable[Row], name: str) -> list[Row]:
        """Sort `rows` by the column `name`, one of `sortable_names`, largest first."""
        sort = next(column.sort for column in self.columns if column.name == name and column.sort is not None)
        return sorted(rows, key=sort, reverse=True)


def _blanks(text: str) -> int:
    return len(text) - len(text.rstrip())
