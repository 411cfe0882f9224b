"""The transcript pane: one row per block of the context shown, opened in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.context_rows import ContextRows

if TYPE_CHECKING:
    from ctxtui.views.model.staging import New

NEAR = 80
"""Rows above and below the cursor that are opened in full at once, where a whole category is shown in full."""


class Transcript(Pane):
    """Draws `ContextRows`; knows which node is under its cursor and keeps it when the call changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home,less_than_sign", "edge(-1)", "first block", show=False),
        Binding("ctrl+end,greater_than_sign", "edge(1)", "last block", show=False),
        Binding("k", "move(-1)", "previous block", show=False),
        Binding("j", "move(1)", "next block", show=False),
        Binding("home", "screen.command('FirstCall')", "first call", show=False),
        Binding("end", "screen.command('LastCall')", "last call", show=False),
    ]

    def __init__(self, rows: ContextRows | None = None) -> None:
        super().__init__(title="transcript", id="transcript")
        self.data = rows
        self.note: Spans = ()
        """What the rule says of filters and of what could not be read."""

    @property
    def grid(self) -> Grid:
        """The columns now."""
        staged = self.data is not None and self.data.staging is not None
        return Grid.of(self.body_width, self.app.size.width, staged=staged)

    @property
    def node(self) -> int | None:
        """The node under the cursor (0: what is not recorded); None on a rule or without rows."""
        if self.data is None or not self.data.count:
            return None
        entry = self.data.entry(min(self.cursor, self.data.count - 1))
        return entry if entry >= 0 else None

    @property
    def new(self) -> New | None:
        """The block under the cursor that an edit puts in; None on any other row."""
        if self.data is None or not self.data.count:
            return None
        return self.data.new(min(self.cursor, self.data.count - 1))

    @property
    def at_last(self) -> bool:
        """Whether the cursor is on the last row: then the view follows what comes."""
        return self.data is None or self.cursor >= self.data.count - 1

    def changed(self, node: int | None, *, to_end: bool = False, new: New | None = None) -> None:
        """The rows are others now. The cursor stays on `node`, or on what is put in where `new` was, and that on its
        line of the view; it goes to the end if that is not in this context, or `to_end`."""
        data = self.data
        if data is None:
            return
        line = self.heights.line_of(min(self.cursor, max(0, self.heights.count - 1))) - self.top
        self.forget()
        self.opened = self.opened_rows()
        self.measure()
        put_in = data.new_before(new.at) if new is not None and not to_end else None
        if put_in is not None:
            self.cursor = put_in
            self.top = min(max(0, self.heights.line_of(put_in) - line), self.last_top)
        elif to_end or node is None or not data.holds(node):
            self.cursor = self._near(self.row_count - 1)
            self.top = self.last_top
        else:
            self.cursor = self._near(data.index_of(node))
            self.top = min(max(0, self.heights.line_of(self.cursor) - line), self.last_top)
        self.reveal()
        self.refresh()

    def opened_rows(self) -> frozenset[int]:
        """The rows that are open: those that were opened one by one, and of full categories those near the cursor."""
        data = self.data
        if data is None or data.scene is None:
            return frozenset()
        single = {data.index_of(node) for node in data.opened if node and data.holds(node)}
        near = range(max(0, self.cursor - NEAR), min(data.count, self.cursor + NEAR)) if "full" in data.shown else ()
        first = {0} if 0 in data.opened and data.count and data.entry(0) == 0 else set()
        return frozenset(row for row in {*single, *near, *first} if data.is_open(row))

    def reopen(self) -> None:
        """Blocks were opened or closed: measure anew, what is at the top stays there."""
        self.forget()
        self.opened = self.opened_rows()
        self.measure()
        self.reveal()
        self.refresh()

    def stand(self, index: int, line: int) -> None:
        """Put the cursor on row `index`, which may be open in another way than before, with its `line` in view."""
        self.forget()
        self.cursor = self._near(index)
        self.opened = self.opened_rows()
        self.measure()
        at = self.heights.line_of(self.cursor) + line
        if not self.top < at < self.top + self.body_height - 1:
            self.top = min(max(0, at - self.body_height // 3), self.last_top)
        self.refresh()
        self.post_message(self.Moved(self, self.cursor))

    # What Pane asks for

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return self.data.count if self.data is not None else 0

    def row_height(self, index: int, width: int) -> int:
        """Lines of an opened row."""
        assert self.data is not None
        return self.data.height(index, self.grid)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """One line of a row."""
        assert self.data is not None
        mark = "▸" if index == self.cursor and line == 0 else " "
        return self.data.line(index, line, self.grid, mark)

    def row_ground(self, index: int, line: int) -> str:
        """A user's rows have a ground of their own."""
        return "on-turn" if line == 0 and self.data is not None and self.data.asks(index) else ""

    def selectable(self, index: int) -> bool:
        """Rules are passed over, what an edit puts in is not."""
        return self.data is None or self.data.entry(index) >= 0 or self.data.new(index) is not None

    def sticky(self, index: int) -> int | None:
        """The user row of the turn that is in view."""
        return self.data.turn_row(index) if self.data is not None else None

    def render_sticky(self, index: int, width: int) -> Spans:
        """That row, marked as standing for what is above the view."""
        assert self.data is not None
        return self.data.line(index, 0, self.grid, "↑")

    def empty(self) -> Spans:
        """Before anything is read."""
        return [Span("·", "faint")]

    def after(self) -> Spans:
        """What follows the title."""
        if self.data is None or self.data.staging is None or self.body_width < 50:
            return self.note
        every = self.data.every
        words = "all rows  " if every else "edits only  "
        return [
            *self.note,
            Span(words, "warn"),
            Span("z", "accent bold"),
            Span(" edits only" if every else " all rows", "dim"),
        ]

    def notes(self) -> Spans:
        """The heads of the columns, and how much is above the view."""
        if self.data is None:
            return ()
        above = self.heights.row_at(self.top)[0]
        return self.grid.heads(above, self.data.blocks)
