"""Panes: rows with a cursor, keys and mouse."""

from __future__ import annotations

from itertools import chain
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ctxtui.tui.widgets.rows import ScrolledRows


class Pane(ScrolledRows, can_focus=True):
    """A list with a cursor.

    Posts `Moved` when the cursor moves to another row, except by `reload`, and `Chosen` when a row is opened. A row
    draws the cursor mark itself (`index == self.cursor`); its background shows only while the pane has the focus. A
    move of the cursor without scrolling repaints two rows.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "previous row", show=False),
        Binding("down,j", "move(1)", "next row", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,ctrl+home,g", "edge(-1)", "first row", show=False),
        Binding("end,ctrl+end,G", "edge(1)", "last row", show=False),
        Binding("enter", "choose", "open", show=False),
    ]

    class Moved(Message):
        """The cursor went to another row."""

        def __init__(self, pane: Pane, index: int) -> None:
            super().__init__()
            self.pane = pane
            self.index = index

    class Chosen(Moved):
        """A row was opened by Enter or a double click."""

    def __init__(self, *, title: str = "", join: str = "", id: str | None = None) -> None:
        super().__init__(title=title, join=join, id=id)
        self.cursor: int = 0

    def selectable(self, index: int) -> bool:
        """Whether the cursor may go to a row; lists with headings override this."""
        return True

    def row_state(self, index: int, line: int) -> str:
        """Return ``on-cur`` (unfocused: ``here``) for the cursor row's first line, else ""."""
        if index != self.cursor or line > 0:
            return ""
        return "on-cur" if self.has_focus else "here"

    def reload(self, start: int = 0, *, cursor: int | None = None) -> None:
        """Reload rows from `start` on.

        The cursor goes to row `cursor` (None: stays), or as near as possible.
        """
        super().reload(start)
        self.cursor = self._nearest_row(self.cursor if cursor is None else cursor)
        if cursor is not None:
            self.reveal()

    def fit(self) -> None:
        """Keep the cursor in view; a view that follows the last row keeps following it."""
        follows = self.viewport.is_following(self.cursor)
        super().fit()
        if follows:
            self.viewport.scroll_to_end()
        self.reveal()

    def move_to(self, index: int) -> None:
        """Move the cursor to row `index`, or the nearest selectable one, and scroll it into view."""
        if not self.row_count:
            return
        before, self.cursor = self.cursor, self._nearest_row(index)
        if not self.reveal(downwards=self.cursor >= before):
            for row in {before, self.cursor}:
                self.redraw_row(row)
        if self.cursor != before:
            self.post_message(self.Moved(self, self.cursor))

    def reveal(self, *, downwards: bool = True) -> bool:
        """Scroll as little as possible to show the cursor row; return whether the view moved.

        If a sticky heading would cover the row, it is shown one line lower.
        """
        top = self.viewport.top_showing(self.cursor, downwards=downwards)
        if (
            top > 0
            and self.viewport.heights.line_of(self.cursor) == top
            and self.sticky(self.cursor) not in (None, self.cursor)
        ):
            top -= 1
        return self.scroll_to_line(top)

    def _nearest_row(self, index: int) -> int:
        """Return row `index`, or the next selectable visible row after it, else before it."""
        count = self.row_count
        index = min(max(0, index), max(0, count - 1))
        rows = chain(range(index, count), range(index - 1, -1, -1))
        return next((row for row in rows if self.selectable(row) and self.viewport.heights.height(row) > 0), index)

    def _next_row(self, step: int) -> int:
        """Return the next selectable row in one direction; the same row if there is none."""
        row = self.cursor + step
        while 0 <= row < self.row_count:
            if self.selectable(row) and self.viewport.heights.height(row) > 0:
                return row
            row += step
        return self.cursor

    def action_move(self, rows: int) -> None:
        """Move the cursor; a row partly out of view is first scrolled line by line."""
        step = 1 if rows > 0 else -1
        for _ in range(abs(rows)):
            height = self.viewport.heights.height(self.cursor)
            out_of_view = 0 < self.viewport.lines_out_of_view(self.cursor, step) < height
            if height > 1 and out_of_view and self.scroll_to_line(self.viewport.top + step):
                continue
            if (row := self._next_row(step)) == self.cursor:
                self.scroll_to_line(self.viewport.top + step)
                return
            self.move_to(row)

    def action_page(self, pages: int) -> None:
        """Scroll by the height of the view less one line; the cursor keeps its line of the view.

        At the end of the list the cursor goes to the first or last row.
        """
        by = pages * max(1, self.body_height - 1)
        offset = min(max(0, self.viewport.line_in_view(self.cursor)), max(0, self.body_height - 1))
        if self.scroll_to_line(self.viewport.top + by):
            self.move_to_line(self.viewport.top + offset)
        else:
            self.action_edge(pages)

    def move_to_line(self, line: int) -> None:
        """Move the cursor to the row at list line `line`, without scrolling for a tall row."""
        before = self.cursor
        self.cursor = self._nearest_row(self.viewport.heights.row_at(line)[0])
        if self.viewport.heights.height(self.cursor) == 1:
            self.reveal()
        self.refresh()
        if self.cursor != before:
            self.post_message(self.Moved(self, self.cursor))

    def action_edge(self, side: int) -> None:
        """Go to the first (-1) or last (1) row."""
        if side < 0:
            self.scroll_to_line(0)
            self.move_to(0)
        else:
            self.move_to(self.row_count - 1)
            self.scroll_to_line(self.viewport.last_top)

    def action_choose(self) -> None:
        if self.row_count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        row = self.row_under(event.y)
        if row is None or not self.selectable(row):
            return
        event.stop()
        self.move_to(row)
        if event.chain == 2:
            self.action_choose()
