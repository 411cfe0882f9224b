"""The strip of calls, one column per call; arrow keys, clicks and the wheel move along it."""

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


StripContent: TypeAlias = "tuple[call_strip.CallStrip, Spans, Spans]"
"""The strip, the range of calls in view, the legend of colours and marks."""


class CallsBoard(Board, can_focus=True):
    """The strip of calls, and whether marks are shown below it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "screen.command('PreviousCall')", "previous call", show=False),
        Binding("right", "screen.command('NextCall')", "next call", show=False),
        Binding("home", "screen.command('FirstCall')", "first call", show=False),
        Binding("end", "screen.command('LastCall')", "last call", show=False),
    ]

    class Pointed(Message):
        """A column was clicked: 0 is the first call in view; it is negative on the axis."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self) -> None:
        super().__init__(title="calls", id="calls")
        self.strip_rows = 4
        self.shows_marks = True
        self._strip: call_strip.CallStrip | None = None
        self._range: Spans = ()
        self._legend: Spans = ()
        self._make_content: Callable[[int, int], StripContent] | None = None
        self._made_width = 0

    @property
    def room(self) -> int:
        return call_strip.room_for(self.size.width, self.strip_rows)

    def place(self, rows: int, *, shows_marks: bool) -> None:
        """Set the number of lines, and whether marks are shown below them."""
        if (rows, shows_marks) != (self.strip_rows, self.shows_marks):
            self.strip_rows, self.shows_marks = rows, shows_marks
            self.redraw()

    def show(self, make_content: Callable[[int, int], StripContent]) -> None:
        """Show other calls, or the cursor on another one.

        `make_content` takes the strip's and pane's width.
        """
        self._make_content, previous = make_content, (self._strip, self._range, self._legend)
        self._update()
        if previous != (self._strip, self._range, self._legend):
            self.redraw()

    def _update(self) -> None:
        if self._make_content is not None:
            self._made_width = self.size.width
            self._strip, self._range, self._legend = self._make_content(self.room, self._made_width)

    def fit(self) -> None:
        if self._made_width != self.size.width:
            self._update()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        if self._strip is None:
            return ()
        return call_strip.lines(self._strip, width, self.strip_rows, marked=self.shows_marks, colour=self.look.coloured)

    def after(self) -> Spans:
        return self._range

    def notes(self) -> Spans:
        return self._legend

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        await self.run_action("screen.command('NextCall')")

    async def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        await self.run_action("screen.command('PreviousCall')")

    def on_click(self, event: events.Click) -> None:
        lead = 1 + (call_strip.AXIS + 1 if self.strip_rows > 1 else 0)
        if event.y >= self.body_top and self._strip is not None:
            self.post_message(self.Pointed((event.x - lead) // self._strip.per))
