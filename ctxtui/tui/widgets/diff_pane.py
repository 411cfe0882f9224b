"""The pane of a diff: one row per difference, opened in place."""

from __future__ import annotations

from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.lists.diff import DiffList
from ctxtui.views.text.span import Span, Spans


class DiffPane(Pane):
    """Draws a `DiffList`; until there is one it says what is being compared."""

    def __init__(self, named: Spans) -> None:
        super().__init__(title="diff", id="diff")
        self.data: DiffList | None = None
        self._named = named

    def show(self, data: DiffList) -> None:
        """The diff is there."""
        self.data = data
        self.opened = data.opened
        self.reload(cursor=0)

    def toggle_row(self) -> None:
        """Open the row under the cursor, or fold it."""
        if self.data is not None and self.data.selectable(self.cursor):
            self.data.toggle(self.cursor)
            self.open_rows(self.data.opened)

    def toggle_whole(self) -> None:
        """All lines of changed blocks, or only those near a change."""
        if self.data is not None:
            self.data.whole = not self.data.whole
            self.reload()

    def sort(self) -> None:
        """The largest differences first, or in prompt order again."""
        if self.data is not None:
            self.data.sort()
            self.opened = self.data.opened
            self.forget()
            self.reload(cursor=0)

    def step(self, step: int) -> None:
        """To the next difference, or the one before; it stands at the top as far as it can."""
        row = self._stepped(step)
        if row == self.cursor:
            return
        self.move_to(row)
        self.scroll_to_line(max(0, self.viewport.heights.line_of(row) - 1))

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.data.rows) if self.data is not None else 0

    def row_height(self, index: int, width: int) -> int:
        """Lines of an open row."""
        return self.data.height(index, width) if self.data is not None else 1

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """One line of a row."""
        assert self.data is not None
        return self.data.line(index, line, width, here=index == self.cursor)

    def selectable(self, index: int) -> bool:
        """Only differences take the cursor."""
        return self.data is None or self.data.selectable(index)

    def empty(self) -> Spans:
        """While it is worked out."""
        return [Span("·", "faint")]

    def after(self) -> Spans:
        """What is compared."""
        return self._named

    def notes(self) -> Spans:
        """How many differences there are."""
        if self.data is None:
            return ()
        count = len(self.data.found.changes)
        return [Span(f"{count:,} difference{'s' if count != 1 else ''}" if count else "the same", "dim")]
