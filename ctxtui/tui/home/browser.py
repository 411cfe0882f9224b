"""The middle of Home: the filter, the welcome, the list under its heads, the preview of the session at the cursor."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from ctxtui.tui.home.panels import CompositionPreview, GrowthPreview, Heads, SessionList, Welcome
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.views.home.columns import sorts
from ctxtui.views.home.preview import WELCOME_HEIGHT, empty_list_text, explain_figures, preview_size, status_line
from ctxtui.views.home.session_list import Entry, ListOrder, SessionsSought
from ctxtui.views.model.session_summary import SessionSummary
from ctxtui.views.text.span import Span
from ctxtui.views.text.sums import ROW

if TYPE_CHECKING:
    from ctxtui.views.glossary.spots import Spot


class OrderChanged(Message):
    """Another order or another filter: `Browser.wanted`."""


class Browser(Vertical):
    """Shows entries and knows which ones are `wanted`; `home` is the folder that is written ``~``.

    Posts `OrderChanged` when others are wanted, and what its list posts (`Pane.Moved`, `Pane.Chosen`).
    """

    DEFAULT_CSS = """
    Browser { height: 1fr; }
    Browser #preview { height: 11; }
    Browser #growth { width: 1fr; }
    Browser #welcome { display: none; }
    """

    def __init__(self, home: str, *, welcome: bool = False) -> None:
        super().__init__()
        self.wanted = ListOrder()
        self.rows = SessionList(home, id="sessions")
        self.words = LineEdit(id="filter")
        self._welcome = Welcome(title="welcome", id="welcome")
        self._welcomes = welcome

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        self.words.lead, self.words.hint = [Span(" / ", "accent bold")], [Span("type to filter", "faint")]
        yield self.words
        yield self._welcome
        yield Heads()
        yield self.rows
        with Horizontal(id="preview"):
            yield CompositionPreview(title="composition at peak", id="composition")
            yield GrowthPreview(self.rows.home, title="growth", join="┬", id="growth")

    def on_mount(self) -> None:
        """Ages are counted from now; the welcome is there at the first run only."""
        self.rows.now = time.time()
        self._welcome.styles.height, self._welcome.display = WELCOME_HEIGHT, self._welcomes

    def on_resize(self, event: events.Resize) -> None:
        """The preview gets what the screen allows."""
        parts = preview_size(self.app.size.width, self.app.size.height)
        preview = self.query_one("#preview")
        preview.styles.height, preview.display = parts.height, parts.height > 0
        self.query_one("#composition").styles.width = parts.composition

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """What the figures at a spot are made of: those of a row, and of the preview of the one under the cursor."""
        if spot.pane == "sessions":
            return {ROW: self.rows.sum_at(spot.x - self.rows.region.x, spot.line)}
        one = self.rows.current
        return explain_figures(one) if one is not None and one.known else {}

    # Showing

    def show(self, entries: Sequence[Entry], *, any_: bool, to_top: bool = False) -> None:
        """Show these; `any_` says whether there are sessions at all."""
        self.rows.none = empty_list_text(any_, self.wanted.words)
        self._welcome.show(not any(isinstance(entry, SessionsSought) for entry in entries))
        self.rows.show(entries, to_top=to_top)
        self.query_one(Heads).show(sorts()[self.wanted.sort].name)
        self.preview()

    def preview(self) -> None:
        """Show the session at the cursor below."""
        self.query_one(CompositionPreview).show(self.rows.current)
        self.query_one(GrowthPreview).show(self.rows.current)

    def progress(self, done: int, total: int, reading: bool) -> None:
        """So many sessions are read."""
        right = status_line(done, total, reading, self.wanted)
        if right != self.words.right:
            self.words.right = right
            self.words.refresh()

    def in_view(self) -> Iterator[SessionSummary]:
        """The sessions on the screen."""
        for index in self.rows.in_view():
            entry = self.rows.entries[index]
            if isinstance(entry, SessionSummary):
                yield entry

    # Wishes

    def sort(self, number: int | None = None) -> None:
        """Sort by the column of this number in `columns.sorts`, or by the next one."""
        able = sorts()
        at = (self.wanted.sort + 1) % len(able) if number is None else number
        self._want(replace(self.wanted, sort=at, falling=able[at].falling))

    def reverse(self) -> None:
        """The other way round."""
        self._want(replace(self.wanted, falling=not self.wanted.falling))

    def leave(self) -> bool:
        """Close the welcome, or else the filter; whether there was any."""
        if self._welcome.display:
            self._welcome.display = False
            return True
        if self.wanted.words:
            self.words.set_text("")
            self._want(replace(self.wanted, words=""))
            return True
        return False

    def _want(self, wanted: ListOrder) -> None:
        self.wanted = wanted
        self.post_message(OrderChanged())

    @on(Heads.Clicked)
    def _head_clicked(self, message: Heads.Clicked) -> None:
        self.sort_by(message.head)

    def sort_by(self, name: str) -> None:
        """Sort by the column `name`; by it already: the other way round."""
        number = next((i for i, sort in enumerate(sorts()) if sort.name == name), None)
        if number == self.wanted.sort:
            self.reverse()
        elif number is not None:
            self.sort(number)

    @on(LineEdit.Changed, "#filter")
    def _typed(self) -> None:
        self._want(replace(self.wanted, words=self.words.text))

    @on(LineEdit.Submitted, "#filter")
    def _kept(self) -> None:
        self.rows.focus()

    @on(LineEdit.Left, "#filter")
    def _left(self) -> None:
        self.rows.focus()
        self.words.set_text("")
        self._want(replace(self.wanted, words=""))

    def on_key(self, event: events.Key) -> None:
        """The list moves while the filter is typed."""
        if not self.words.has_focus:
            return
        if event.key in ("up", "down"):
            self.rows.action_move(1 if event.key == "down" else -1)
        elif event.key in ("pageup", "pagedown"):
            self.rows.action_page(1 if event.key == "pagedown" else -1)
