"""The map pane: the context in prompt order; arrow keys and clicks point at its blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message

from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.board import Board
from ctxtui.views.text import scale
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.views.inspector.map import context_map, raster
else:
    context_map = later("ctxtui.views.inspector.map.context_map")
    raster = later("ctxtui.views.inspector.map.raster")


class MapBoard(Board, can_focus=True):
    """The context in prompt order. The screen asks for `pixels` and shows a map of so many."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "point(-1, 0)", "left", show=False),
        Binding("right", "point(1, 0)", "right", show=False),
        Binding("up", "point(0, -1)", "up", show=False),
        Binding("down", "point(0, 1)", "down", show=False),
    ]

    class Pointed(Message):
        """A token of the context was pointed at."""

        def __init__(self, token: float) -> None:
            super().__init__()
            self.token = token

    def __init__(self) -> None:
        super().__init__(title="map", join="├", id="map")
        self.raster_rows = 4
        self.scaled = True
        self._what: context_map.ContextMap | None = None
        self._again: Callable[[int], context_map.ContextMap] | None = None

    @property
    def raster_width(self) -> int:
        """Cells of the raster's lines: the body less a blank on both sides."""
        return max(1, self.body_width - 2)

    @property
    def pixels(self) -> int:
        """How many pixels there are to fill."""
        look = self.look
        return raster.pixel_count(self.raster_width, self.raster_rows, colour=look.coloured, letters=look.ascii)

    def place(self, rows: int, *, scaled: bool) -> None:
        """Draw the raster in so many lines from now on, with the scale below it or without."""
        if (rows, scaled) != (self.raster_rows, self.scaled):
            self.raster_rows, self.scaled = rows, scaled
            self.redraw()

    def show(self, again: Callable[[int], context_map.ContextMap]) -> None:
        """Another map, which `again` makes in so many pixels: now, and when the pane gets another size."""
        self._again, what = again, again(self.pixels)
        if what != self._what:
            self._what = what
            self.redraw()

    def here(self, token: float | None) -> None:
        """The cursor is at another token: only the scale is painted anew, if it looks different."""
        what = self._what
        if what is None or what.here == token:
            return
        self._what = replace(what, here=token)
        before, now = (scale.line(self.raster_width, what.extent, at) for at in (what.here, token))
        y = self.raster_rows + 1
        if not self.scaled or before == now or self._lines is None or y >= len(self._lines):
            return
        self._lines[y] = self.strip_of([Span(" "), *now], self.look)
        self.refresh(Region(0, self.body_top + y, self.size.width, 1))

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Raster, track, scale."""
        if self._again is not None and (self._what is None or len(self._what.shown) != self.pixels):
            self._what = self._again(self.pixels)
        if self._what is None:
            return ()
        look = self.look
        return context_map.lines(
            self._what,
            self.raster_width,
            self.raster_rows,
            scaled=self.scaled,
            colour=look.coloured,
            letters=look.ascii,
        )

    def notes(self) -> Spans:
        """Where the prefix ends, or the limit up to which it is drawn; on a wide screen what the raster means."""
        if self._what is None:
            return ()
        if self._what.break_at is not None:
            return [Span("╳ ", "crit"), Span("prefix ends", "dim")] if self.body_width >= 40 else ()
        wide = f"prompt order, one column ≈ {scale.short(self._what.extent / self.raster_width)}, "
        return [Span((wide if self.body_width >= 70 else "") + self._what.limit, "dim")]

    def action_point(self, columns: int, rows: int) -> None:
        """Move the cursor by columns or half rows of the raster."""
        if self._what is None:
            return
        step = self._what.extent / (self.raster_width * self.raster_rows * 2)
        at = self._what.here or 0.0
        self.post_message(self.Pointed(max(0.0, at + (columns * self.raster_rows * 2 + rows) * step)))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel goes through the context, a column of the raster at a time."""
        event.stop()
        self.action_point(1, 0)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """As downwards."""
        event.stop()
        self.action_point(-1, 0)

    def on_click(self, event: events.Click) -> None:
        """A click goes to the block at that place."""
        x, y = event.x - 2, event.y - self.body_top
        if self._what is None or not 0 <= x < self.raster_width:
            return
        row = y + 0.5 if y < self.raster_rows else 0.0
        token = raster.token_at(x, row, self.raster_width, self.raster_rows, self._what.extent)
        self.post_message(self.Pointed(token))
