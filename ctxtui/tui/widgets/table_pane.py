"""A pane of the rows of a table: the body of most lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

Row = TypeVar("Row")

_SIGN_CELLS = 8
"""Cells at the left of a row in which its sign may stand."""


class TablePane(Pane, Generic[Row]):
    """Shows rows, one line each, below the heads of their table (which scroll with them). `working` is what is said as
    long as they are worked out, `inset` blanks are left at the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "move(-1)", "previous row", show=False),
        Binding("j", "move(1)", "next row", show=False),
    ]

    class HeadClicked(Message):
        """The head of a column was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, title: str, none: str, *, working: Spans = (), inset: int = 1) -> None:
        super().__init__(title=title, id=title.replace(" ", "-"))
        self._working = working or [Span("·", "faint")]
        self._inset = inset
        self._trouble = ""
        self._order = ""
        self.rows: Sequence[Row] | None = None
        self.table: Table[Row] | None = None
        self.none = none
        """The sentence where there are no rows."""
        self.told: Spans = ()
        """What follows the title."""
        self.noted: Spans = ()
        """What stands at the right of the rule."""

    def show(self, rows: Sequence[Row], table: Table[Row], order: str = "", *, cursor: int | None = None) -> None:
        """Other rows, ordered by the column `order` of their table; the cursor stays where it is unless it is told."""
        self.rows, self.table, self._order = rows, table, order
        # The heads are the first row of the list.
        at = None if cursor is None else cursor + table.headed
        self.forget()
        self.reload(cursor=at)

    def fail(self, trouble: str) -> None:
        """There are no rows, and why."""
        self._trouble = trouble
        self.redraw()

    @property
    def _above(self) -> int:
        return int(bool(self.rows) and self.table is not None and self.table.headed)

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        at = self.cursor - self._above
        return self.rows[at] if self.rows and 0 <= at < len(self.rows) else None

    def row_in(self, line: int) -> Row | None:
        """The row in line `line` of the pane."""
        at = self.row_under(line)
        return self.rows[at - self._above] if self.rows and at is not None and at >= self._above else None

    def sum_at(self, x: int, line: int) -> str:
        """What the figure at cell `x` of line `line` is made of."""
        row = self.row_in(line)
        if row is None or self.table is None:
            return ""
        return self.table.sum_at(row, self.body_width - self._inset, x - bool(self.join))

    def is_text(self, x: int, line: int, *, figure: bool = False) -> bool:
        """Whether cell `x` of line `line` belongs to a row's words: what looks like a `figure` there is none, and no
        sign is one."""
        if self.row_in(line) is None or self.table is None:
            return False
        at = x - bool(self.join)
        column = self.table.column_at(self.body_width - self._inset, at)
        return column is not None and not column.width and column.sum is None and (figure or at > _SIGN_CELLS)

    @property
    def row_count(self) -> int:
        """How many rows there are, with the heads."""
        return len(self.rows) + self._above if self.rows else 0

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A row, or the heads."""
        assert self.rows is not None and self.table is not None
        if index < self._above:
            return self.table.heads(width - self._inset, self._order)
        return self.table.draw(self.rows[index - self._above], width - self._inset, here=index == self.cursor)

    def selectable(self, index: int) -> bool:
        """Heads are passed over."""
        return index >= self._above

    def on_click(self, event: events.Click) -> None:
        """A click on a head asks for its order; rows are `Pane`'s."""
        row = self.row_under(event.y)
        if row is None or row >= self._above or self.table is None:
            return
        event.stop()
        name = self.table.head_at(self.body_width - self._inset, event.x - bool(self.join))
        if name:
            self.post_message(self.HeadClicked(name))

    def empty(self) -> Spans:
        """While it is worked out, where there is nothing, and why."""
        if self._trouble:
            return [Span(f" ▲ {safe_text.one_line(self._trouble, 400)}", "warn")]
        return self._working if self.rows is None else [Span(self.none, "dim")]

    def after(self) -> Spans:
        """What follows the title."""
        return self.told

    def notes(self) -> Spans:
        """At the right of the rule."""
        return self.noted
