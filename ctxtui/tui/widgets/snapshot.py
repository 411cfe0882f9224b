"""A screen as it was painted, with notes over it: nothing below them moves while they are read."""

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


class Over(NamedTuple):
    """Lines that stand over the screen from cell `x` of line `y` on."""

    x: int
    y: int
    lines: Sequence[Sequence[Span]]


class Lit(NamedTuple):
    """Cells of a line that are shown in reverse."""

    x: int
    y: int
    width: int


class Snapshot(Still):
    """Draws `strips`, lights some of their cells, and puts notes over them."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Snapshot { width: 1fr; height: 1fr; }"

    def __init__(self, strips: Sequence[Strip]) -> None:
        super().__init__(id="snapshot")
        self.strips = strips
        """The screen below, line by line."""
        self._over: Sequence[Over] = ()
        self._lit: Sequence[Lit] = ()

    def show(self, over: Sequence[Over], lit: Sequence[Lit] = ()) -> None:
        """Other notes, and what they are about."""
        self._over, self._lit = over, lit
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        look, room = look_of(self.app), self.size.width
        strip = self.strips[y] if y < len(self.strips) else paint.blank(room, look)
        strip = strip.adjust_cell_length(room)
        for lit in self._lit:
            if lit.y == y:
                strip = _put(strip, lit.x, strip.crop(lit.x, lit.x + lit.width).apply_style(_REVERSE), room)
        for over in self._over:
            if over.y <= y < over.y + len(over.lines):
                spans = over.lines[y - over.y]
                strip = _put(strip, over.x, paint.strip(spans, width(spans), look, "on-panel"), room)
        return strip


def _put(strip: Strip, x: int, piece: Strip, room: int) -> Strip:
    end = x + piece.cell_length
    return Strip.join([strip.crop(0, x), piece, strip.crop(min(end, room), room)]).crop(0, room)
