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
"""Cells at the left of a row in which its sign may stand."""


class TablePane(Pane, Generic[Row]):
    """Shows rows, one line each, below the heads of their table, which stay in view. `working` is what is said as long
    as they are worked out, `inset` blanks are left at the right."""

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
        self._heads: Strip | None = None
        self._groups: dict[int, Spans] = {}
        """The headings of groups, by the row that each stands over."""
        self.rows: Sequence[Row] | None = None
        self.table: Table[Row] | None = None
        self.none = none
        """The sentence where there are no rows."""
        self.told: Spans = ()
        """What follows the title."""
        self.noted: Spans = ()
        """What stands at the right of the rule."""
        self.filtered = ""
        """The words that the rows shown have; "" where all are shown."""

    def show(self, rows: Sequence[Row], table: Table[Row], order: str = "", *, cursor: int | None = None) -> None:
        """Other rows, ordered by the column `order` of their table; the cursor stays where it is unless it is told."""
        self.rows, self.table, self._order = rows, table, order
        group = table.group if not order else None
        heads = [list(group(row)) for row in rows] if group is not None else []
        self._groups = {n: head for n, head in enumerate(heads) if not n or head != heads[n - 1]}
        self.opened = frozenset(self._groups)
        self.forget()
        self.reload(cursor=cursor)
        # The heads may have come, and left a line less.
        self.viewport.fitted()

    def fail(self, trouble: str) -> None:
        """There are no rows, and why."""
        self._trouble = trouble
        self.redraw()

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.rows and self.cursor < len(self.rows) else None

    def row_in(self, line: int) -> Row | None:
        """The row in line `line` of the pane."""
        at = self.row_under(line)
        return self.rows[at] if self.rows and at is not None else None

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
        """How many rows there are."""
        return len(self.rows or ())

    def row_height(self, index: int, width: int) -> int:
        """The first row of a group has its heading over it, and a blank line over that."""
        return 1 + len(self._heading(index))

    def _heading(self, index: int) -> Sequence[Spans]:
        return ([()] if index else []) + [self._groups[index]] if index in self._groups else []

    def row_state(self, index: int, line: int) -> str:
        """The cursor's ground below the heading."""
        return super().row_state(index, abs(line - len(self._heading(index))))

    def repaint_row(self, index: int, *, whole: bool = False) -> None:
        """The cursor may stand in another line than the first."""
        super().repaint_row(index, whole=True)

    @property
    def lines(self) -> int:
        """Lines of all rows with their headings."""
        return self.row_count + sum(len(self._heading(index)) for index in self._groups)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A row, below the heading of its group."""
        assert self.rows is not None and self.table is not None
        heading = self._heading(index)
        if line < len(heading):
            return cropped(heading[line], width)
        return self.table.draw(self.rows[index], width - self._inset, here=index == self.cursor)

    @property
    def head_height(self) -> int:
        """A line for the heads, where there is anything below them."""
        return int(bool(self.rows) and self.table is not None and self.table.has_heads)

    def head_line(self, y: int, look: Look) -> Strip:
        """The heads."""
        if self._heads is None and self.table is not None:
            self._heads = self.strip_of(self.table.heads(self.body_width - self._inset, self._order), look)
        return self._heads or self.strip_of((), look)

    def forget(self) -> None:
        """Drop what was painted."""
        super().forget()
        self._heads = None

    def on_click(self, event: events.Click) -> None:
        """A click on a head asks for its order; rows are `Pane`'s."""
        if self.table is None or not self.rule_height <= event.y < self.body_top:
            return
        event.stop()
        name = self.table.head_at(self.body_width - self._inset, event.x - bool(self.join))
        if name:
            self.post_message(self.HeadClicked(name))

    def empty(self) -> Spans:
        """While it is worked out, where there is nothing, and why."""
        if self._trouble:
            return [Span(f" ▲ {safe_text.one_line(self._trouble, 400)}", "warn")]
        if self.rows is not None and self.filtered:
            return [Span(f"No row has “{safe_text.one_line(self.filtered, 60)}”. ", "dim"), *_ESC]
        return self._working if self.rows is None else [Span(self.none, "dim")]

    def after(self) -> Spans:
        """What follows the title."""
        if not self.filtered or not self.rows:
            return self.told
        many = f"{len(self.rows):,} with “{safe_text.one_line(self.filtered, 30)}”  "
        return [Span(many, "accent"), *self.told]

    def notes(self) -> Spans:
        """At the right of the rule."""
        return self.noted
