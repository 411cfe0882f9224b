"""The list of sessions on Home."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.tui.theme.rule import rule
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.home.columns import age, row, sum_at
from ctxtui.views.home.session_list import Entry, Group, SessionsSought
from ctxtui.views.model.session_summary import SessionSummary
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans

_SOURCE = 16


class SessionList(Pane):
    """Groups of sessions. The cursor stays on its session, and that on its line, whatever comes or goes above it."""

    def __init__(self, home: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.home = home
        """The folder that is written ``~``."""
        self.entries: Sequence[Entry] = ()
        self.now = 0.0
        """The time for which ages are shown, in Unix seconds."""
        self.none: Spans = ()
        """What an empty list says."""

    @property
    def row_count(self) -> int:
        """Sessions and heads of groups."""
        return len(self.entries)

    @property
    def current(self) -> SessionSummary | None:
        """The session under the cursor."""
        entry = self.entries[self.cursor] if self.cursor < len(self.entries) else None
        return entry if isinstance(entry, SessionSummary) else None

    def selectable(self, index: int) -> bool:
        """Heads of groups are passed over."""
        return isinstance(self.entries[index], SessionSummary)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A session, the rule of a group, or where sessions were looked for."""
        entry = self.entries[index]
        if isinstance(entry, Group):
            return rule(width, entry.name, after=[Span(entry.note, "dim")])
        if isinstance(entry, SessionsSought):
            words = f"  {cells.fit(entry.source, _SOURCE - 1):{_SOURCE}}"
            return [Span(words, "ink"), Span(cells.left(entry.where, max(0, width - len(words))), "dim")]
        return row(entry, width, self.now, cursor=index == self.cursor, home=self.home)

    def sum_at(self, x: int, line: int) -> str:
        """What the figure at cell `x` of line `line` is made of."""
        at = self.row_under(line)
        entry = self.entries[at] if at is not None and at < len(self.entries) else None
        return sum_at(entry, self.body_width, x - bool(self.join)) if isinstance(entry, SessionSummary) else ""

    def empty(self) -> Spans:
        """The sentence of a list without rows."""
        return self.none

    def show(self, entries: Sequence[Entry], *, to_top: bool = False) -> None:
        """Show another list; the cursor follows its session, or goes to the first one with `to_top`."""
        current, line = self.current, self.viewport.heights.line_of(self.cursor) - self.viewport.top
        self.entries = entries
        if to_top or current is None:
            self.viewport.top = 0
            self.reload(cursor=0)
            return
        keys = {entry.key: i for i, entry in enumerate(entries) if isinstance(entry, SessionSummary)}
        found = keys.get(current.key, min(self.cursor, max(0, len(entries) - 1)))
        self.reload(cursor=found)
        self.scroll_to_line(self.viewport.heights.line_of(self.cursor) - line)
        self.reveal()

    def reveal(self, *, downwards: bool = True) -> bool:
        """The head of a group comes into view with its first session."""
        moved = super().reveal(downwards=downwards)
        above = self.cursor - 1
        if above >= 0 and above < self.viewport.top and isinstance(self.entries[above], Group) and self.body_height > 1:
            return self.scroll_to_line(self.viewport.heights.line_of(above)) or moved
        return moved

    def tick(self, now: float) -> None:
        """Time went on: paint the rows in view whose age became another."""
        before, self.now = self.now, now
        for index in self.in_view():
            entry = self.entries[index]
            if isinstance(entry, SessionSummary) and age(before - entry.mtime) != age(now - entry.mtime):
                self.refresh_row(index)

    def in_view(self) -> range:
        """Rows that are on the screen."""
        return range(min(self.viewport.top, self.row_count), min(self.viewport.top + self.body_height, self.row_count))
