"""A picture of a screen with notes over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip

from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.still import Still
from ctxtui.views.text.span import Span, width

_REVERSE = Style(reverse=True)


class Note(NamedTuple):
    """Lines drawn over the screen, from cell `x` of line `y` on."""

    x: int
    y: int
    lines: Sequence[Sequence[Span]]


class Highlight(NamedTuple):
    """Cells of a line that are shown in reverse."""

    x: int
    y: int
    width: int


class Snapshot(Still):
    """Draws `strips`, highlights some cells, and puts notes over them."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Snapshot { width: 1fr; height: 1fr; }"

    def __init__(self, strips: Sequence[Strip]) -> None:
        super().__init__(id="snapshot")
        self.strips = strips
        """Lines of the screen below."""
        self._notes: Sequence[Note] = ()
        self._highlights: Sequence[Highlight] = ()

    def show(self, notes: Sequence[Note], highlights: Sequence[Highlight] = ()) -> None:
        self._notes, self._highlights = notes, highlights
        self.refresh()

    def render_line(self, y: int) -> Strip:
        look, room = look_of(self.app), self.size.width
        strip = self.strips[y] if y < len(self.strips) else paint.blank(room, look)
        strip = strip.adjust_cell_length(room)
        for highlight in self._highlights:
            if highlight.y == y:
                strip = _overlay(
                    strip,
                    highlight.x,
                    strip.crop(highlight.x, highlight.x + highlight.width).apply_style(_REVERSE),
                    room,
                )
        for note in self._notes:
            if note.y <= y < note.y + len(note.lines):
                spans = note.lines[y - note.y]
                strip = _overlay(strip, note.x, paint.strip(spans, width(spans), look, "on-panel"), room)
        return strip


def _overlay(strip: Strip, x: int, piece: Strip, room: int) -> Strip:
    end = x + piece.cell_length
    return Strip.join([strip.crop(0, x), piece, strip.crop(min(end, room), room)]).crop(0, room)
