"""Home's panels around the list: header, column heads, preview panes, welcome."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.rule import rule
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.home import columns, preview, totals
from ctxtui.views.home.columns import format_age, row, sum_at
from ctxtui.views.home.preview import welcome
from ctxtui.views.home.session_list import Entry, Group, SessionsSought
from ctxtui.views.home.totals import Totals
from ctxtui.views.model.session_summary import SessionSummary
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans


class HomeHeader(Widget):
    """The first line: directory, and totals of the user's sessions that match the filter."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "HomeHeader { height: 1; }"

    def __init__(self, directory: str) -> None:
        super().__init__()
        self.directory = directory
        self.totals = Totals()

    def show(self, totals: Totals) -> None:
        if totals != self.totals:
            self.totals = totals
            self.refresh()

    def render_line(self, y: int) -> Strip:
        spans = totals.header(self.size.width, self.directory, self.totals)
        return paint.strip(spans, self.size.width, look_of(self.app), "on-panel")


class Heads(Widget):
    """The names of the columns; a click sorts by one."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Heads { height: 1; }"

    class Clicked(Message):
        """A column's head was clicked."""

        def __init__(self, head: str) -> None:
            super().__init__()
            self.head = head

    def __init__(self) -> None:
        super().__init__()
        self.sort = ""

    def show(self, sort: str) -> None:
        """Mark `sort` as the column of the order."""
        self.sort = sort
        self.refresh()

    def render_line(self, y: int) -> Strip:
        return paint.strip(columns.heads(self.size.width, self.sort), self.size.width, look_of(self.app))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        head = columns.TABLE.head_at(self.size.width, event.x)
        if head:
            self.post_message(self.Clicked(head))


class SessionPreview(Board):
    """A pane about one session."""

    session: SessionSummary | None = None

    def show(self, session: SessionSummary | None) -> None:
        if session != self.session:
            self.session = session
            self.redraw()


class CompositionPreview(SessionPreview):
    """Composition of the largest context by category."""

    def notes(self) -> Spans:
        return preview.composition_notes(self.session) if self.session else ()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return preview.composition(self.session, width, height) if self.session else ()


class GrowthPreview(SessionPreview):
    """Growth of the context, and texts. `home` is the folder that is written ``~``."""

    def __init__(self, home: str, *, title: str, join: str, id: str) -> None:
        super().__init__(title=title, join=join, id=id)
        self.home = home

    def notes(self) -> Spans:
        return preview.growth_notes(self.session) if self.session else ()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        if self.session is None:
            return ()
        return preview.growth(self.session, width, height, home=self.home, colour=self.look.coloured)


class Welcome(Board):
    """Three lines and five keys for the first run."""

    def notes(self) -> Spans:
        return [Span("esc", "accent bold"), Span(" close", "dim")]

    has_sessions = True

    def show(self, has_sessions: bool) -> None:
        if has_sessions != self.has_sessions:
            self.has_sessions = has_sessions
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return welcome(width, has_sessions=self.has_sessions)


_SOURCE_CELLS = 16


class SessionList(Pane):
    """Groups of sessions. The cursor stays on its session and line when rows above change."""

    def __init__(self, home: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.home = home
        """The folder that is written ``~``."""
        self.entries: Sequence[Entry] = ()
        self.now = 0.0
        """Present time for ages, in Unix seconds."""
        self.empty_text: Spans = ()
        """Text of an empty list."""

    @property
    def row_count(self) -> int:
        return len(self.entries)

    @property
    def current(self) -> SessionSummary | None:
        entry = self.entries[self.cursor] if self.cursor < len(self.entries) else None
        return entry if isinstance(entry, SessionSummary) else None

    def selectable(self, index: int) -> bool:
        """True for sessions, not for group headings and places that were searched."""
        return isinstance(self.entries[index], SessionSummary)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        entry = self.entries[index]
        if isinstance(entry, Group):
            return rule(width, entry.name, after=[Span(entry.note, "dim")])
        if isinstance(entry, SessionsSought):
            words = f"  {cells.fit(entry.source, _SOURCE_CELLS - 1):{_SOURCE_CELLS}}"
            return [Span(words), Span(cells.left(entry.where, max(0, width - len(words))), "dim")]
        return row(entry, width, self.now, cursor=index == self.cursor, home=self.home)

    def sum_at(self, x: int, line: int) -> str:
        """Return the arithmetic of the figure at cell `x` of line `line`; "" if there is none."""
        index = self.row_under(line)
        entry = self.entries[index] if index is not None and index < len(self.entries) else None
        return sum_at(entry, self.body_width, x - bool(self.join)) if isinstance(entry, SessionSummary) else ""

    def empty(self) -> Spans:
        return self.empty_text

    def show(self, entries: Sequence[Entry], *, to_top: bool = False) -> None:
        """Show another list.

        The cursor stays on its session, or in its row if that session is gone; with `to_top` it goes to the first one.
        """
        current, line = self.current, self.viewport.heights.line_of(self.cursor) - self.viewport.top
        self.entries = entries
        if to_top or current is None:
            self.viewport.top = 0
            self.reload(cursor=0)
            return
        keys = {entry.key: i for i, entry in enumerate(entries) if isinstance(entry, SessionSummary)}
        cursor = keys.get(current.key, min(self.cursor, max(0, len(entries) - 1)))
        self.reload(cursor=cursor)
        self.scroll_to_line(self.viewport.heights.line_of(self.cursor) - line)
        self.reveal()

    def reveal(self, *, downwards: bool = True) -> bool:
        """Show the cursor's row; with the first session of a group also the group's heading."""
        moved = super().reveal(downwards=downwards)
        above = self.cursor - 1
        if above >= 0 and above < self.viewport.top and isinstance(self.entries[above], Group) and self.body_height > 1:
            return self.scroll_to_line(self.viewport.heights.line_of(above)) or moved
        return moved

    def tick(self, now: float) -> None:
        """Set the time and repaint the rows in view whose age changed."""
        before, self.now = self.now, now
        for index in self.in_view():
            entry = self.entries[index]
            if isinstance(entry, SessionSummary) and format_age(before - entry.mtime) != format_age(now - entry.mtime):
                self.refresh_row(index)

    def in_view(self) -> range:
        return range(min(self.viewport.top, self.row_count), min(self.viewport.top + self.body_height, self.row_count))
