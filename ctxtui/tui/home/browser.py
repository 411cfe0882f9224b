"""The middle of Home: filter, welcome, session list with heads, preview."""

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
    """The sort order or the filter (`Browser.list_order`) changed."""


class Browser(Vertical):
    """Shows entries and holds the requested order, `list_order`.

    `home` is the folder that is written ``~``. With `welcome`, the welcome is shown until it is closed, except while
    the list is filtered.
    """

    DEFAULT_CSS = """
    Browser { height: 1fr; }
    Browser #preview { height: 11; }
    Browser #growth { width: 1fr; }
    Browser #welcome { display: none; }
    """

    def __init__(self, home: str, *, welcome: bool = False) -> None:
        super().__init__()
        self.list_order = ListOrder()
        self.rows = SessionList(home, id="sessions")
        self.filter = LineEdit(id="filter")
        self._welcome = Welcome(title="welcome", id="welcome")
        self._shows_welcome = welcome

    def compose(self) -> ComposeResult:
        self.filter.lead, self.filter.hint = [Span(" / ", "accent bold")], [Span("type to filter", "faint")]
        yield self.filter
        yield self._welcome
        yield Heads()
        yield self.rows
        with Horizontal(id="preview"):
            yield CompositionPreview(title="composition at peak", id="composition")
            yield GrowthPreview(self.rows.home, title="growth", join="┬", id="growth")

    def on_mount(self) -> None:
        self.rows.now = time.time()
        self._welcome.styles.height = WELCOME_HEIGHT

    def on_resize(self, event: events.Resize) -> None:
        parts = preview_size(self.app.size.width, self.app.size.height)
        preview = self.query_one("#preview")
        preview.styles.height, preview.display = parts.height, parts.height > 0
        self.query_one("#composition").styles.width = parts.composition

    def sums(self, spot: Spot) -> Mapping[str, str]:
        if spot.pane == "sessions":
            return {ROW: self.rows.sum_at(spot.x - self.rows.region.x, spot.line)}
        session = self.rows.current
        return explain_figures(session) if session is not None and session.known else {}

    # Showing

    def show(self, entries: Sequence[Entry], *, has_sessions: bool, to_top: bool = False) -> None:
        """Show these entries; `has_sessions`: whether there are sessions at all."""
        self.rows.empty_text = empty_list_text(has_sessions, self.list_order.words)
        # The welcome describes the whole list.
        self._welcome.display = self._shows_welcome and not self.list_order.words
        self._welcome.show(not any(isinstance(entry, SessionsSought) for entry in entries))
        self.rows.show(entries, to_top=to_top)
        self.query_one(Heads).show(sorts()[self.list_order.sort].name)
        self.preview()

    def preview(self) -> None:
        self.query_one(CompositionPreview).show(self.rows.current)
        self.query_one(GrowthPreview).show(self.rows.current)

    def progress(self, done: int, total: int, reading: bool) -> None:
        """Show how many sessions are read; `reading`: whether more are being read."""
        right = status_line(done, total, reading, self.list_order)
        if right != self.filter.right:
            self.filter.right = right
            self.filter.refresh()

    def in_view(self) -> Iterator[SessionSummary]:
        for index in self.rows.in_view():
            entry = self.rows.entries[index]
            if isinstance(entry, SessionSummary):
                yield entry

    # Order and filter

    def sort(self, number: int | None = None) -> None:
        """Sort by column `number` of `columns.sorts`, or by the next column."""
        orders = sorts()
        index = (self.list_order.sort + 1) % len(orders) if number is None else number
        self._set_order(replace(self.list_order, sort=index, falling=orders[index].falling))

    def reverse(self) -> None:
        self._set_order(replace(self.list_order, falling=not self.list_order.falling))

    def leave(self) -> None:
        """Clear the filter, or else close the welcome."""
        if self.list_order.words:
            self.filter.set_text("")
            self._set_order(replace(self.list_order, words=""))
        else:
            self._welcome.display = self._shows_welcome = False

    def _set_order(self, order: ListOrder) -> None:
        self.list_order = order
        self.post_message(OrderChanged())

    @on(Heads.Clicked)
    def _head_clicked(self, message: Heads.Clicked) -> None:
        self.sort_by(message.head)

    def sort_by(self, name: str) -> None:
        """Sort by the column `name`; if it is sorted by it already, reverse the order."""
        number = next((i for i, sort in enumerate(sorts()) if sort.name == name), None)
        if number == self.list_order.sort:
            self.reverse()
        elif number is not None:
            self.sort(number)

    @on(LineEdit.Changed, "#filter")
    def _filter_changed(self) -> None:
        self._set_order(replace(self.list_order, words=self.filter.text))

    @on(LineEdit.Submitted, "#filter")
    def _filter_submitted(self) -> None:
        self.rows.focus()

    @on(LineEdit.Left, "#filter")
    def _filter_left(self) -> None:
        self.rows.focus()
        self.filter.set_text("")
        self._set_order(replace(self.list_order, words=""))

    def on_key(self, event: events.Key) -> None:
        if not self.filter.has_focus:
            return
        if event.key in ("up", "down"):
            self.rows.action_move(1 if event.key == "down" else -1)
        elif event.key in ("pageup", "pagedown"):
            self.rows.action_page(1 if event.key == "pagedown" else -1)
