"""Painting: spans become a strip of exactly one width. Nothing here reads markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ctxtui.tui.theme.glyphs import translate
from ctxtui.tui.theme.theme import Look
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span

_MOST: Final = 4000
"""Lines that are kept: some hundred screens' worth of different ones."""
_MOST_LINES: Final = 500
"""Lines that are kept by identity: a few screens' worth."""


def strip(spans: Iterable[Span], width: int, look: Look, ground: str = "", edge: Span | None = None) -> Strip:
    """`spans` as a strip of exactly `width` cells, on the row's `ground` (``on-cur`` or ""), and
    behind `edge`, which is a cell more.

    What no terminal may see (controls, direction marks) is shown instead, also where a caller forgot to make it safe.
    The same line painted again is the same strip: most of a screen stays as it was from one key to the next, and
    Textual keeps with a strip what it has made of it.
    """
    key = (tuple(spans), width, ground, edge)
    found = look.strips.get(key)
    if found is None:
        if len(look.strips) >= _MOST:
            look.strips.clear()
        segments = _segments(key[0], width, look, ground)
        if edge is None:
            found = Strip(segments, width)
        else:
            found = Strip([*_segments((edge,), 1, look), *segments], 1 + width)
        look.strips[key] = found
    return found


class PaintedLines:
    """The strips of lines that were painted, by the identity of a line: where most are the very ones of before, they
    are not even compared. A line must not be changed once it was painted."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Iterable[Span], object, Strip]] = {}

    def of(self, spans: Iterable[Span], how: object, paint: Callable[[], Strip]) -> Strip:
        """The strip of a line that is painted `how`; `paint` makes it where it is not known."""
        known = self._known.get(id(spans))
        if known is None or known[0] is not spans or known[1] != how:
            if len(self._known) >= _MOST_LINES:
                self._known.clear()
            known = self._known[id(spans)] = spans, how, paint()
        return known[2]


def _segments(spans: Iterable[Span], width: int, look: Look, ground: str = "") -> list[Segment]:
    style, known, plain = look.palette.style, look.palette.seen, not look.ascii
    segments: list[Segment] = []
    room = width
    held, last = "", None  # neighbours of one look become one segment: fewer bytes, and less work for Textual
    for text, words in spans:
        if not (plain and text.isprintable()):
            text = _drawable(text, words, look)
        taken = len(text) if text.isascii() else cells.width(text)
        if taken > room:
            text, taken = cells.cut(text, room), room
        now = known.get((words, ground)) or style(words, ground)
        if now is last or (last is not None and words == "ink" and text.isspace() and _shows_no_blanks(last, now)):
            held += text
        else:
            if held:
                segments.append(Segment(held, last))
            held, last = text, now
        room -= taken
        if room <= 0:
            break
    if held:
        segments.append(Segment(held, last))
    if room > 0:
        segments.append(Segment(" " * room, style("ink", ground)))
    return segments


def _drawable(text: str, words: str, look: Look) -> str:
    text = text if text.isprintable() else safe_text.line(text)
    return translate(text, words, keep_wide=look.keep_wide) if look.ascii else text


def _shows_no_blanks(style: Style, blank: Style) -> bool:
    """Whether a space in `style` looks like one in `blank`."""
    return style.bgcolor is blank.bgcolor and not (style.underline or style.strike or style.reverse or blank.reverse)


def blank(width: int, look: Look, ground: str = "") -> Strip:
    """An empty line of `width` cells."""
    return Strip.blank(width, look.palette.style("ink", ground))
