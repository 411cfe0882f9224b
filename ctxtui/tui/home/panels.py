"""What stands around the list on Home: header, column heads, the preview's two panes, the welcome."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.board import Board
from ctxtui.views.home import columns, preview, totals
from ctxtui.views.home.preview import welcome
from ctxtui.views.home.totals import Totals
from ctxtui.views.model.session_summary import SessionSummary
from ctxtui.views.text.span import Span, Spans


class HomeHeader(Widget):
    """The first line: where we are, and the sums over all sessions."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "HomeHeader { height: 1; }"

    def __init__(self, directory: str) -> None:
        super().__init__()
        self.directory = directory
        self.totals = Totals()

    def show(self, totals: Totals) -> None:
        """Other sums."""
        if totals != self.totals:
            self.totals = totals
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
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
        """The list is sorted by the column `sort`."""
        self.sort = sort
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        return paint.strip(columns.heads(self.size.width, self.sort), self.size.width, look_of(self.app))

    def on_click(self, event: events.Click) -> None:
        """Say which head it was."""
        event.stop()
        head = columns.TABLE.head_at(self.size.width, event.x)
        if head:
            self.post_message(self.Clicked(head))


class SessionPreview(Board):
    """A pane about one session."""

    session: SessionSummary | None = None

    def show(self, session: SessionSummary | None) -> None:
        """Another session, or the same with other figures."""
        if session != self.session:
            self.session = session
            self.redraw()


class CompositionPreview(SessionPreview):
    """What the largest context was made of."""

    def notes(self) -> Spans:
        """The call of the largest context."""
        return preview.composition_notes(self.session) if self.session else ()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Categories with bars."""
        return preview.composition(self.session, width, height) if self.session else ()


class GrowthPreview(SessionPreview):
    """How the context grew, and what was said. `home` is the folder that is written ``~``."""

    def __init__(self, home: str, *, title: str, join: str, id: str) -> None:
        super().__init__(title=title, join=join, id=id)
        self.home = home

    def notes(self) -> Spans:
        """Calls, misses, compactions, changes of model."""
        return preview.growth_notes(self.session) if self.session else ()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The strip, the sentence, texts, the place."""
        if self.session is None:
            return ()
        return preview.growth(self.session, width, height, home=self.home, colour=self.look.coloured)


class Welcome(Board):
    """The first run's three lines and five keys."""

    def notes(self) -> Spans:
        """How it goes away for good."""
        return [Span("esc", "accent bold"), Span(" close", "dim")]

    found = True

    def show(self, found: bool) -> None:
        """Whether there are sessions beside the samples."""
        if found != self.found:
            self.found = found
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """As `views.home.preview`."""
        return welcome(width, found=self.found)
