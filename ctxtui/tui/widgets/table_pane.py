"""A pane of the rows of a table: the body of most lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from textual import events
from textual.message import Message
from textual.strip import Strip

from ctxtui.tui.theme.theme import Look
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans, cropped
from ctxtui.views.text.table import Table

Row = TypeVar("Row")

_ESC = (Span("esc", "accent bold"), Span(" shows all", "dim"))
_SIGN_CELLS = 8
"""Cells at the left of a row that may hold its sign."""


class TablePane(Pane, Generic[Row]):
    """Rows of a table, one line each, below fixed column heads.

    `none` is the text of an empty list, `working` the text while rows are computed; `inset` blanks are left free at the
    right.
    """

    class HeadClicked(Message):
        """The head of a column was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, title: str, none: str, *, working: Spans = (), inset: int = 1) -> None:
        super().__init__(title=title, id=title.replace(" ", "-"))
        self._working = working or [Span("·", "faint")]
        self._inset = inset
        self._error = ""
        self._order = ""
        self._heads: Strip | None = None
        self._groups: dict[int, Spans] = {}
        """Group headings by the row below them."""
        self.rows: Sequence[Row] | None = None
        self.table: Table[Row] | None = None
        self.none = none
        self.title_spans: Spans = ()
        """Spans after the title."""
        self.note_spans: Spans = ()
        """Spans at the right of the title rule."""
        self.filter_text = ""
        """The filter text; "" if all rows are shown."""

    def show(self, rows: Sequence[Row], table: Table[Row], order: str = "", *, cursor: int | None = None) -> None:
        """Show other rows, which are sorted by the column `order` ("": in the table's own order).

        The cursor stays unless `cursor` is given.
        """
        self.rows, self.table, self._order = rows, table, order
        group = table.group if not order else None
        heads = [list(group(row)) for row in rows] if group is not None else []
        self._groups = {n: head for n, head in enumerate(heads) if not n or head != heads[n - 1]}
        self.opened = frozenset(self._groups)
        self.forget()
        self.reload(cursor=cursor)
        # The heads may have appeared and taken a line.
        self.viewport.mark_fitted()

    def fail(self, error: str) -> None:
        self._error = error
        self.redraw()

    @property
    def row(self) -> Row | None:
        return self.rows[self.cursor] if self.rows and self.cursor < len(self.rows) else None

    def row_in(self, line: int) -> Row | None:
        """Return the row in line `line` of the pane; None if there is none."""
        index = self.row_under(line)
        return self.rows[index] if self.rows and index is not None else None

    def sum_at(self, x: int, line: int) -> str:
        """Return the arithmetic of the figure at cell `x` of line `line`; "" if there is none."""
        row = self.row_in(line)
        if row is None or self.table is None:
            return ""
        return self.table.sum_at(row, self.body_width - self._inset, x - bool(self.join))

    def is_text(self, x: int, line: int, *, figure: bool = False) -> bool:
        """Whether cell `x` of `line` is in a row's text, where figures and signs have no meaning.

        `figure`: whether it holds a figure; if not, it may be a row's sign in the first cells.
        """
        if self.row_in(line) is None or self.table is None:
            return False
        cell = x - bool(self.join)
        column = self.table.column_at(self.body_width - self._inset, cell)
        return column is not None and not column.width and column.sum is None and (figure or cell > _SIGN_CELLS)

    @property
    def row_count(self) -> int:
        return len(self.rows or ())

    def row_height(self, index: int, width: int) -> int:
        """Return 1; more for the first row of a group, which has the heading above it."""
        return 1 + len(self._heading(index))

    def _heading(self, index: int) -> Sequence[Spans]:
        return ([()] if index else []) + [self._groups[index]] if index in self._groups else []

    def row_state(self, index: int, line: int) -> str:
        """Return the cursor's state for the line below the heading."""
        return super().row_state(index, abs(line - len(self._heading(index))))

    def redraw_row(self, index: int, *, whole: bool = False) -> None:
        """Repaint the whole row: the cursor may be in a line below a heading."""
        super().redraw_row(index, whole=True)

    @property
    def lines(self) -> int:
        return self.row_count + sum(len(self._heading(index)) for index in self._groups)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        assert self.rows is not None and self.table is not None
        heading = self._heading(index)
        if line < len(heading):
            return cropped(heading[line], width)
        return self.table.draw(self.rows[index], width - self._inset, here=index == self.cursor)

    @property
    def head_height(self) -> int:
        return int(bool(self.rows) and self.table is not None and self.table.has_heads)

    def head_line(self, y: int, look: Look) -> Strip:
        if self._heads is None and self.table is not None:
            self._heads = self.strip_of(self.table.heads(self.body_width - self._inset, self._order), look)
        return self._heads or self.strip_of((), look)

    def forget(self) -> None:
        super().forget()
        self._heads = None

    def on_click(self, event: events.Click) -> None:
        """Post `HeadClicked` for a clicked head; `Pane` handles clicks on rows."""
        if self.table is None or not self.rule_height <= event.y < self.body_top:
            return
        event.stop()
        name = self.table.head_at(self.body_width - self._inset, event.x - bool(self.join))
        if name:
            self.post_message(self.HeadClicked(name))

    def empty(self) -> Spans:
        if self._error:
            return [Span(f" ▲ {safe_text.one_line(self._error, 400)}", "warn")]
        if self.rows is not None and self.filter_text:
            return [Span(f"No row contains “{safe_text.one_line(self.filter_text, 60)}”. ", "dim"), *_ESC]
        return self._working if self.rows is None else [Span(self.none, "dim")]

    def after(self) -> Spans:
        if not self.filter_text or not self.rows:
            return self.title_spans
        count = f"{len(self.rows):,} with “{safe_text.one_line(self.filter_text, 30)}”  "
        return [Span(count, "accent"), *self.title_spans]

    def notes(self) -> Spans:
        return self.note_spans
