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
    """The context in prompt order, drawn in `pixels`."""

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
        self.shows_scale = True
        self._map: context_map.ContextMap | None = None
        self._make_map: Callable[[int], context_map.ContextMap] | None = None

    @property
    def raster_width(self) -> int:
        """Cells of the raster's lines: the body without a blank on either side."""
        return max(1, self.body_width - 2)

    @property
    def pixels(self) -> int:
        look = self.look
        return raster.pixel_count(self.raster_width, self.raster_rows, colour=look.coloured, letters=look.ascii)

    def place(self, rows: int, *, shows_scale: bool) -> None:
        """Set the lines of the raster, and whether a scale is shown below it."""
        if (rows, shows_scale) != (self.raster_rows, self.shows_scale):
            self.raster_rows, self.shows_scale = rows, shows_scale
            self.redraw()

    def show(self, make_map: Callable[[int], context_map.ContextMap]) -> None:
        """Show another map; `make_map` makes it for a number of pixels, now and after a resize."""
        self._make_map, new_map = make_map, make_map(self.pixels)
        if new_map != self._map:
            self._map = new_map
            self.redraw()

    def set_cursor(self, token: float | None) -> None:
        """Move the cursor to another token; only the scale is repainted, if it changed."""
        map_ = self._map
        if map_ is None or map_.cursor_at == token:
            return
        self._map = replace(map_, cursor_at=token)
        before, now = (scale.line(self.raster_width, map_.extent, at) for at in (map_.cursor_at, token))
        y = self.raster_rows + 1
        if not self.shows_scale or before == now or self._lines is None or y >= len(self._lines):
            return
        self._lines[y] = self.strip_of([Span(" "), *now], self.look)
        self.refresh(Region(0, self.body_top + y, self.size.width, 1))

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        if self._make_map is not None and (self._map is None or len(self._map.shown) != self.pixels):
            self._map = self._make_map(self.pixels)
        if self._map is None:
            return ()
        look = self.look
        return context_map.lines(
            self._map,
            self.raster_width,
            self.raster_rows,
            scaled=self.shows_scale,
            colour=look.coloured,
            letters=look.ascii,
        )

    def notes(self) -> Spans:
        """Return the legend: the end of the prefix if it is drawn, else the map's limit."""
        if self._map is None:
            return ()
        if self._map.break_at is not None:
            return [Span("╳ ", "crit"), Span("prefix ends", "dim")] if self.body_width >= 40 else ()
        scale_text = f"prompt order, one column ≈ {scale.short(self._map.extent / self.raster_width)}, "
        return [Span((scale_text if self.body_width >= 70 else "") + self._map.limit, "dim")]

    def action_point(self, columns: int, rows: int) -> None:
        """Move the cursor by columns or half rows of the raster."""
        if self._map is None:
            return
        step = self._map.extent / (self.raster_width * self.raster_rows * 2)
        at = self._map.cursor_at or 0.0
        self.post_message(self.Pointed(max(0.0, at + (columns * self.raster_rows * 2 + rows) * step)))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_point(1, 0)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_point(-1, 0)

    def on_click(self, event: events.Click) -> None:
        x, y = event.x - 2, event.y - self.body_top
        if self._map is None or not 0 <= x < self.raster_width:
            return
        row = y + 0.5 if y < self.raster_rows else 0.0
        token = raster.token_at(x, row, self.raster_width, self.raster_rows, self._map.extent)
        self.post_message(self.Pointed(token))
