"""The strip of calls: one column per call; arrow keys, clicks and the wheel travel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.board import Board
from ctxtui.views.text.span import Spans

if TYPE_CHECKING:
    from ctxtui.views.inspector import call_strip
else:
    call_strip = later("ctxtui.views.inspector.call_strip")


Shown: TypeAlias = "tuple[call_strip.CallStrip, Spans, Spans]"
"""The columns, which calls they are, what their marks mean."""


class CallsBoard(Board, can_focus=True):
    """The strip of calls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "screen.command('PreviousCall')", "previous call", show=False),
        Binding("right", "screen.command('NextCall')", "next call", show=False),
        Binding("home", "screen.command('FirstCall')", "first call", show=False),
        Binding("end", "screen.command('LastCall')", "last call", show=False),
    ]

    class Pointed(Message):
        """A call was clicked: its column, from 0, of those in view."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self) -> None:
        super().__init__(title="calls", id="calls")
        self.strip_rows = 4
        self.marked = True
        self._what: call_strip.CallStrip | None = None
        self._range: Spans = ()
        self._legend: Spans = ()
        self._again: Callable[[int, int], Shown] | None = None
        self._made_for = 0

    @property
    def room(self) -> int:
        """Columns for calls."""
        return call_strip.room_for(self.size.width, self.strip_rows)

    def place(self, rows: int, *, marked: bool) -> None:
        """Draw the columns in so many lines from now on, with their marks below them or without."""
        if (rows, marked) != (self.strip_rows, self.marked):
            self.strip_rows, self.marked = rows, marked
            self.redraw()

    def show(self, again: Callable[[int, int], Shown]) -> None:
        """Other calls, or another one of them shown. `again` makes what is shown with `room` for so many columns, in a
        pane of so many cells: now, and when the pane gets another size."""
        self._again, before = again, (self._what, self._range, self._legend)
        self._make()
        if before != (self._what, self._range, self._legend):
            self.redraw()

    def _make(self) -> None:
        if self._again is not None:
            self._made_for = self.size.width
            self._what, self._range, self._legend = self._again(self.room, self._made_for)

    def fit(self) -> None:
        """Another width has other calls."""
        if self._made_for != self.size.width:
            self._make()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The columns and their marks."""
        if self._what is None:
            return ()
        return call_strip.lines(self._what, width, self.strip_rows, marked=self.marked, colour=self.look.coloured)

    def after(self) -> Spans:
        """Which calls are in view."""
        return self._range

    def notes(self) -> Spans:
        """What the marks mean."""
        return self._legend

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel goes from call to call."""
        event.stop()
        await self.run_action("screen.command('NextCall')")

    async def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """As downwards."""
        event.stop()
        await self.run_action("screen.command('PreviousCall')")

    def on_click(self, event: events.Click) -> None:
        """A click goes to that call."""
        lead = 1 + (call_strip.AXIS + 1 if self.strip_rows > 1 else 0)
        if event.y >= self.body_top and self._what is not None:
            self.post_message(self.Pointed((event.x - lead) // self._what.per))
