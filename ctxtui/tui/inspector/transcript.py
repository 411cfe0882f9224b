"""The transcript pane: one row per block of the context, opened in place."""

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

READING_ROWS = 160
"""Rows above and below the view that are measured in reading mode."""
OPEN_ROWS = 80
"""Rows above and below the cursor that are opened if their category is shown in full."""


class Transcript(Pane):
    """Draws `ContextRows`; keeps the node under its cursor when the call changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "edge(-1)", "first block", show=False),
        Binding("ctrl+end,G", "edge(1)", "last block", show=False),
        Binding("home", "screen.command('FirstCall')", "first call", show=False),
        Binding("end", "screen.command('LastCall')", "last call", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(title="transcript", id="transcript")
        self.data: ContextRows | None = None
        self.note: Spans = ()
        """Note in the title rule about reading, counting, filters and unreadable records."""
        self._on_rule: RuleRow | None = None
        """The rule under the cursor."""
        self._measured_around = 0
        """The row around which rows are measured in reading mode."""
        self._painted_lines = PaintedLines()
        self.marks_note: Spans = ()
        """Note in the title rule about marked blocks."""

    @property
    def grid(self) -> Grid:
        staged = self.data is not None and self.data.staging is not None
        return Grid.for_pane(self.body_width, self.app.size.width, staged=staged)

    @property
    def place(self) -> CursorPlace:
        """The place under the cursor: a block, an inserted one or a rule."""
        return position_of_row(self.data, self.cursor, self._on_rule)

    @property
    def node(self) -> int | None:
        """The node under the cursor (0: not recorded); None on a rule or without rows."""
        return self.place.node

    def any_in_view(self, nodes: Collection[int]) -> bool:
        """Whether the row of any of `nodes` is at least partly in view."""
        return self.data is not None and any(self.data.entry(row) in nodes for row in self.viewport.visible_rows)

    @property
    def at_last(self) -> bool:
        """Whether the cursor is on the last row, so that the view follows."""
        if self.data is None or self.cursor >= self.data.count - 1:
            return True
        # A result next to its call has no line of its own.
        return self.data.reading is not None and self.cursor >= self._nearest_row(self.data.count - 1)

    def update_rows(self, place: CursorPlace | None) -> None:
        """Update after the rows changed.

        The cursor stays at `place` and on its line of the view; if `place` is None or not in this context, it goes to
        the end.
        """
        data = self.data
        if data is None:
            return
        # The row of an incoming answer has no node: the view follows it in any case.
        follows_answer = data.streaming_rows and self.viewport.is_following(self.cursor)
        line = self.viewport.line_in_view(min(self.cursor, max(0, self.viewport.heights.count - 1)))
        row = place.row_in(data) if place is not None and not follows_answer else None
        self._measured_around = data.count - 1 if row is None else row
        self.measure_again()
        if row is None:
            self.to_last_row()
            self.viewport.scroll_to_end()
        else:
            self.cursor = self._nearest_row(row)
            self.viewport.place_row(self.cursor, line)
        self.reveal()
        self.refresh()

    def opened_rows(self) -> frozenset[int]:
        """Return the rows shown in full: incoming ones, and opened ones nearby.

        In reading mode, every row nearby counts as opened.
        """
        data = self.data
        if data is None or data.scene is None:
            return frozenset(data.streaming_rows if data is not None else ())
        around, near = (self._measured_around, READING_ROWS) if data.reading is not None else (self.cursor, OPEN_ROWS)
        rows = range(max(0, around - near), min(data.count, around + near))
        return frozenset((*(rows if data.reading is not None else data.opened_rows(rows)), *data.streaming_rows))

    def measure_again(self) -> None:
        self.forget()
        self.opened = self.opened_rows()
        self.measure()

    def to_last_row(self) -> None:
        """Move the cursor to the last row without scrolling."""
        self.cursor = self._nearest_row(self.row_count - 1)

    def _measure_near(self, row: int) -> bool:
        """In reading mode, measure rows near `row`, too; return whether that was needed."""
        data = self.data
        if data is None or data.reading is None or abs(row - self._measured_around) <= READING_ROWS // 2:
            return False
        self._measured_around = row
        self.opened = self.opened_rows()
        self.measure()
        return True

    def move_to(self, index: int) -> None:
        """The same as for any pane, after measuring rows near the destination."""
        self._measure_near(min(max(0, index), max(0, self.row_count - 1)))
        super().move_to(index)
        self._note_rule()

    def move_to_line(self, line: int) -> None:
        super().move_to_line(line)
        self._note_rule()

    def _note_rule(self) -> None:
        data = self.data
        self._on_rule = data.rule_at(self.cursor) if data is not None and self.cursor < data.count else None

    def scroll_to_line(self, top: int) -> bool:
        """The same as for any pane, after measuring rows that come into view."""
        moved = super().scroll_to_line(top)
        if moved and self._measure_near(self.viewport.first_row):
            self.refresh()
        return moved

    def read(self, reads: bool) -> None:
        """Switch between reading mode and a list of rows; the cursor stays on its row."""
        if self.data is not None:
            # Imported late: no session starts in reading mode.
            from ctxtui.views.transcript.reading import Reading

            self.data.reading = Reading(self.data) if reads else None
            self._measured_around = self.cursor
            self.reopen()

    def reopen(self) -> None:
        """Measure again after blocks were opened or folded; the row at the top stays there."""
        self.measure_again()
        self.reveal()
        self.refresh()

    def move_into_row(self, index: int, line: int) -> None:
        """Move the cursor to row `index`, which may have been opened, with its `line` in view."""
        self.cursor = self._nearest_row(index)
        self.measure_again()
        line_in_view = self.viewport.line_in_view(self.cursor) + line
        if not 0 < line_in_view < self.body_height - 1:
            self.viewport.place_row(self.cursor, self.body_height // 3 - line)
        self.refresh()
        self.post_message(self.Moved(self, self.cursor))

    # Methods of `Pane`

    @property
    def row_count(self) -> int:
        return self.data.count if self.data is not None else 0

    def row_height(self, index: int, width: int) -> int:
        assert self.data is not None
        return self.data.height(index, self.grid)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        assert self.data is not None
        mark = "▸" if index == self.cursor and line == 0 else " "
        return self.data.line(index, line, self.grid, mark)

    def strip_of(self, spans: Spans, look: Look, ground: str = "") -> Strip:
        """The same as for any board, but cached by the identity of the line."""
        variant = look, ground, self.body_width
        return self._painted_lines.get_or_paint(spans, variant, partial(super().strip_of, spans, look, ground))

    def row_ground(self, index: int, line: int) -> str:
        """Return the background of a user's rows; "" for all others."""
        if self.data is not None and self.data.reading is not None:
            return "on-turn" if self.data.reading.is_user_line(index, line, self.grid) else ""
        return "on-turn" if line == 0 and self.data is not None and self.data.is_user_row(index) else ""

    def sticky(self, index: int) -> int | None:
        return self.data.turn_row(index) if self.data is not None else None

    def render_sticky(self, index: int, width: int) -> Spans:
        assert self.data is not None
        return self.data.line(index, 0, self.grid, "↑")

    def empty(self) -> Spans:
        return [Span("·", "faint")]

    def after(self) -> Spans:
        mode = transcript_notes.mode_note(self.data, self.body_width) if self.data is not None else ()
        return [*self.marks_note, *self.note, *mode]

    def notes(self) -> Spans:
        if self.data is None or self.data.reading is not None:
            return ()
        above = self.viewport.first_row
        partial = self.data.scene is not None and self.data.scene.partial
        return self.grid.draw_heads(above, self.data.blocks, partial=partial)
