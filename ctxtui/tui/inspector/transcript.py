"""The transcript pane: one row per block of the context shown, opened in place."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.strip import Strip

from ctxtui.tui.theme.paint import PaintedLines
from ctxtui.tui.theme.theme import Look
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript import transcript_notes
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.cursor_place import CursorPlace, position_of_row
from ctxtui.views.transcript.row_index import RuleRow

READ = 160
"""Rows above and below the view whose heights are known while the transcript is read."""
NEAR = 80
"""Rows above and below the cursor that are opened in full at once, where a whole category is shown in full."""


class Transcript(Pane):
    """Draws `ContextRows`; knows which node is under its cursor and keeps it when the call changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "edge(-1)", "first block", show=False),
        Binding("ctrl+end,G", "edge(1)", "last block", show=False),
        Binding("home", "screen.command('FirstCall')", "first call", show=False),
        Binding("end", "screen.command('LastCall')", "last call", show=False),
    ]

    def __init__(self, rows: ContextRows | None = None) -> None:
        super().__init__(title="transcript", id="transcript")
        self.data = rows
        self.note: Spans = ()
        """What the rule says of filters and of what could not be read."""
        self._on_rule: RuleRow | None = None
        """The rule on which the cursor was put."""
        self._around = 0
        """The row around which heights are known while the transcript is read."""
        self._same_lines = PaintedLines()
        """With most keys nearly all rows give the very line that they gave."""
        self.marked: Spans = ()
        """What the rule says of marked blocks, as long as there are any."""

    @property
    def grid(self) -> Grid:
        """The columns now."""
        staged = self.data is not None and self.data.staging is not None
        return Grid.of(self.body_width, self.app.size.width, staged=staged)

    @property
    def place(self) -> CursorPlace:
        """What is under the cursor."""
        return position_of_row(self.data, self.cursor, self._on_rule)

    @property
    def node(self) -> int | None:
        """The node under the cursor (0: what is not recorded); None on a rule or without rows."""
        return self.place.node

    def shows(self, nodes: Collection[int]) -> bool:
        """Whether the row of any of `nodes` is in view, in part at least."""
        return self.data is not None and any(self.data.entry(row) in nodes for row in self.viewport.rows)

    @property
    def at_last(self) -> bool:
        """Whether the cursor is on the last row: then the view follows what comes."""
        if self.data is None or self.cursor >= self.data.count - 1:
            return True
        # A result that stands beside its call has no line of its own to be on.
        return self.data.reading is not None and self.cursor >= self._near(self.data.count - 1)

    def changed(self, place: CursorPlace | None) -> None:
        """The rows are others now. The cursor stays on its `place`, and that on its line of the view; it goes to the
        end where that is not in this context, or None."""
        data = self.data
        if data is None:
            return
        # The row of an answer that comes in is no node's: its view goes along, whatever else is shown anew.
        along = data.streaming_rows and self.viewport.follows(self.cursor)
        line = self.viewport.line_in_view(min(self.cursor, max(0, self.viewport.heights.count - 1)))
        row = place.row_in(data) if place is not None and not along else None
        self._around = data.count - 1 if row is None else row
        self.measure_anew()
        if row is None:
            self.to_last_row()
            self.viewport.to_end()
        else:
            self.cursor = self._near(row)
            self.viewport.put(self.cursor, line)
        self.reveal()
        self.refresh()

    def opened_rows(self) -> frozenset[int]:
        """The rows that are open: those that were opened one by one, of full categories those near the cursor, and
        those that come in."""
        data = self.data
        if data is None or data.scene is None:
            return frozenset(data.streaming_rows if data is not None else ())
        around, near = (self._around, READ) if data.reading is not None else (self.cursor, NEAR)
        rows = range(max(0, around - near), min(data.count, around + near))
        return frozenset((*(rows if data.reading is not None else data.opened_rows(rows)), *data.streaming_rows))

    def measure_anew(self) -> None:
        """Other rows are open, or the rows are others: nothing that was painted holds any more."""
        self.forget()
        self.opened = self.opened_rows()
        self.measure()

    def to_last_row(self) -> None:
        """Put the cursor on the last row; the view stays."""
        self.cursor = self._near(self.row_count - 1)

    def _reach(self, row: int) -> bool:
        """While the transcript is read, heights are known near what is in view only: know them near `row`, too; whether
        they had to be found."""
        data = self.data
        if data is None or data.reading is None or abs(row - self._around) <= READ // 2:
            return False
        self._around = row
        self.opened = self.opened_rows()
        self.measure()
        return True

    def move_to(self, index: int) -> None:
        """As for any pane, with the heights of where it goes."""
        self._reach(min(max(0, index), max(0, self.row_count - 1)))
        super().move_to(index)
        self._note_rule()

    def move_to_line(self, line: int) -> None:
        """As for any pane."""
        super().move_to_line(line)
        self._note_rule()

    def _note_rule(self) -> None:
        data = self.data
        self._on_rule = data.rule_at(self.cursor) if data is not None and self.cursor < data.count else None

    def scroll_to_line(self, top: int) -> bool:
        """As for any pane, with the heights of what comes into view."""
        moved = super().scroll_to_line(top)
        if moved and self._reach(self.viewport.first_row):
            self.refresh()
        return moved

    def read(self, reads: bool) -> None:
        """Draw the rows to be read from now on, or as a list again; the cursor stays on its row."""
        if self.data is not None:
            # Imported here: no session begins with it.
            from ctxtui.views.transcript.reading import Reading

            self.data.reading = Reading(self.data) if reads else None
            self._around = self.cursor
            self.reopen()

    def reopen(self) -> None:
        """Blocks were opened or closed: measure anew, what is at the top stays there."""
        self.measure_anew()
        self.reveal()
        self.refresh()

    def stand(self, index: int, line: int) -> None:
        """Put the cursor on row `index`, which may be open in another way than before, with its `line` in view."""
        self.cursor = self._near(index)
        self.measure_anew()
        at = self.viewport.line_in_view(self.cursor) + line
        if not 0 < at < self.body_height - 1:
            self.viewport.put(self.cursor, self.body_height // 3 - line)
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

    def strip_of(self, spans: Spans, look: Look, ground: str = "") -> Strip:
        """As for any board; a line that is the very one of before is not even compared."""
        how = look, ground, self.body_width
        return self._same_lines.of(spans, how, partial(super().strip_of, spans, look, ground))

    def row_ground(self, index: int, line: int) -> str:
        """A user's rows have a ground of their own."""
        if self.data is not None and self.data.reading is not None:
            return "on-turn" if self.data.reading.is_user_line(index, line, self.grid) else ""
        return "on-turn" if line == 0 and self.data is not None and self.data.is_user_row(index) else ""

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
        how = transcript_notes.mode_note(self.data, self.body_width) if self.data is not None else ()
        return [*self.marked, *self.note, *how]

    def notes(self) -> Spans:
        """The heads of the columns, and how much is above the view."""
        if self.data is None or self.data.reading is not None:
            return ()
        above = self.viewport.first_row
        partial = self.data.scene is not None and self.data.scene.partial
        return self.grid.heads(above, self.data.blocks, partial=partial)
