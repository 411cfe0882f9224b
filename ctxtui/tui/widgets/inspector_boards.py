"""The Inspector's boards: header, context, map, this call, tools, growth, calls, and the sentence of a tiny screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.tui.look import paint
from ctxtui.tui.look.board import Board
from ctxtui.tui.look.theme import look_of
from ctxtui.views import (
    call_strip,
    cells,
    composition,
    context_map,
    growth_chart,
    header,
    raster,
    scale,
    this_call,
    toolset,
)
from ctxtui.views.call_strip import CallStrip
from ctxtui.views.composition import Composition
from ctxtui.views.context_map import ContextMap
from ctxtui.views.growth_chart import GrowthChart
from ctxtui.views.header import Header
from ctxtui.views.span import Span, Spans
from ctxtui.views.this_call import ThisCall
from ctxtui.views.toolset import Toolset


class HeaderLine(Widget):
    """The first line of the screen."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="header")
        self._what: Header | None = None

    def show(self, what: Header) -> None:
        """Another header."""
        if what != self._what:
            self._what = what
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        room = self.size.width
        return paint.strip(header.draw(self._what, room) if self._what else (), room, look_of(self.app), "on-panel")


class Edge(Widget):
    """The hairline over the prompt."""

    ALLOW_SELECT = False

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        return paint.strip([Span("─" * self.size.width, "hair")], self.size.width, look_of(self.app))


class Sentence(Widget):
    """What a screen says that is too small for anything else."""

    ALLOW_SELECT = False

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        text = "ctxtui needs 30 x 6 cells" if y == 0 else ""
        return paint.strip([Span(cells.fit(text, self.size.width), "ink")], self.size.width, look_of(self.app))


class ContextBoard(Board):
    """What the context is made of."""

    class Picked(Message):
        """A category was clicked."""

        def __init__(self, category: int) -> None:
            super().__init__()
            self.category = category

    def __init__(self) -> None:
        super().__init__(title="context", join="┬", id="context")
        self.what: Composition | None = None

    def show(self, what: Composition) -> None:
        """Another composition."""
        if what != self.what:
            self.what = what
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The categories."""
        return composition.lines(self.what, width, height) if self.what else ()

    def notes(self) -> Spans:
        """The exact total."""
        return composition.notes(self.what, self.body_width) if self.what else ()

    def on_click(self, event: events.Click) -> None:
        """A click on a category filters by it."""
        if self.what is None:
            return
        part = composition.part_at(self.what, self.body_width, self.body_height, event.y - self.body_top)
        if part is not None and part.sign.key:
            self.post_message(self.Picked(part.category))


class CallBoard(Board):
    """How the call shown was charged."""

    def __init__(self) -> None:
        super().__init__(title="this call", join="├", id="this-call")
        self._what: ThisCall | None = None

    def show(self, what: ThisCall) -> None:
        """Another call."""
        if what != self._what:
            self._what = what
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Its figures."""
        return this_call.lines(self._what, width, height) if self._what else ()

    def notes(self) -> Spans:
        """Where they are from."""
        return this_call.notes(self._what) if self._what else ()


class ToolsBoard(Board):
    """The tools of the context, by server."""

    def __init__(self) -> None:
        super().__init__(title="tools", join="├", id="tools")
        self.what: Toolset | None = None

    def show(self, what: Toolset) -> None:
        """Other tools."""
        if what != self.what:
            self.what = what
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """One group per line."""
        return list(toolset.lines(self.what, width))[:height] if self.what else ()

    def notes(self) -> Spans:
        """How many are never called."""
        return toolset.notes(self.what) if self.what else ()


class GrowthBoard(Board):
    """The growth of the context."""

    def __init__(self) -> None:
        super().__init__(title="growth", join="├", id="growth")
        self._what: GrowthChart | None = None

    def show(self, what: GrowthChart) -> None:
        """Another curve."""
        if what != self._what:
            self._what = what
            self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The curve."""
        return growth_chart.lines(self._what, width, height) if self._what else ()

    def notes(self) -> Spans:
        """How fast it grows."""
        return growth_chart.notes(self._what) if self._what else ()


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
        self._what: ContextMap | None = None

    @property
    def raster_width(self) -> int:
        """Cells of the raster's lines: the body less a blank on both sides."""
        return max(1, self.body_width - 2)

    @property
    def pixels(self) -> int:
        """How many pixels there are to fill."""
        look = self.look
        return raster.pixel_count(self.raster_width, self.raster_rows, colour=look.coloured, letters=look.ascii)

    def show(self, what: ContextMap) -> None:
        """Another map."""
        if what != self._what:
            self._what = what
            self.redraw()

    def here(self, token: float | None) -> None:
        """The cursor is at another token: only the scale changes."""
        if self._what is None or self._what.here == token:
            return
        self._what = replace(self._what, here=token)
        if self.scaled and self._lines is not None:
            y = self.raster_rows + 1
            line = [Span(" "), *scale.line(self.raster_width, self._what.extent, token)]
            if y < len(self._lines):
                self._lines[y] = paint.strip(line, self.body_width, self.look)
                self.refresh(Region(0, self.body_top + y, self.size.width, 1))

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Raster, track, scale."""
        if self._what is None or len(self._what.shown) != self.pixels:
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
        """What the raster means."""
        if self._what is None or self.body_width < 40:
            return ()
        per = f", one column ≈ {scale.short(self._what.extent / self.raster_width)}" if self.body_width >= 70 else ""
        return [Span("prompt order" + per, "dim")]

    def action_point(self, columns: int, rows: int) -> None:
        """Move the cursor by columns or half rows of the raster."""
        if self._what is None:
            return
        step = self._what.extent / (self.raster_width * self.raster_rows * 2)
        at = self._what.here or 0.0
        self.post_message(self.Pointed(max(0.0, at + (columns * self.raster_rows * 2 + rows) * step)))

    def on_click(self, event: events.Click) -> None:
        """A click goes to the block at that place."""
        x, y = event.x - 2, event.y - self.body_top
        if self._what is None or not 0 <= x < self.raster_width:
            return
        row = y + 0.5 if y < self.raster_rows else 0.0
        token = raster.token_at(x, row, self.raster_width, self.raster_rows, self._what.extent)
        self.post_message(self.Pointed(token))


class CallsBoard(Board, can_focus=True):
    """The strip of calls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "screen.step_call(-1)", "previous call", show=False),
        Binding("right", "screen.step_call(1)", "next call", show=False),
        Binding("home", "screen.call_edge(-1)", "first call", show=False),
        Binding("end", "screen.call_edge(1)", "last call", show=False),
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
        self._what: CallStrip | None = None
        self._range: Spans = ()
        self._legend: Spans = ()

    @property
    def room(self) -> int:
        """Columns for calls."""
        return call_strip.room_for(self.size.width, self.strip_rows)

    def show(self, what: CallStrip, range_: Spans, legend: Spans) -> None:
        """Other calls, or another one of them shown."""
        if (what, range_, legend) != (self._what, self._range, self._legend):
            self._what, self._range, self._legend = what, range_, legend
            self.redraw()

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

    def on_click(self, event: events.Click) -> None:
        """A click goes to that call."""
        lead = 1 + (call_strip.AXIS + 1 if self.strip_rows > 1 else 0)
        if event.y >= self.body_top and self._what is not None:
            self.post_message(self.Pointed((event.x - lead) // self._what.per))
