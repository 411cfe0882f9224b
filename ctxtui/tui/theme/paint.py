"""Painting: spans become a strip of an exact width. Nothing here reads markup."""

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

_MAX_STRIPS: Final = 4000
"""Cached lines: some hundred different screens."""
_MAX_LINES: Final = 500
"""Lines cached by identity: a few screens."""


def strip(spans: Iterable[Span], width: int, look: Look, ground: str = "", edge: Span | None = None) -> Strip:
    """Paint `spans` as a strip of exactly `width` cells, cached, since most lines stay the same.

    `edge` comes before them and takes one more cell. `ground` is the background (``on-cur``, ``on-panel`` ...), ""
    for the usual one. Controls and direction marks are made visible, even if a caller did not do so.
    """
    key = (tuple(spans), width, ground, edge)
    cached = look.strips.get(key)
    if cached is None:
        if len(look.strips) >= _MAX_STRIPS:
            look.strips.clear()
        segments = _segments(key[0], width, look, ground)
        if edge is None:
            cached = Strip(segments, width)
        else:
            cached = Strip([*_segments((edge,), 1, look), *segments], 1 + width)
        look.strips[key] = cached
    return cached


class PaintedLines:
    """Strips cached by the identity of their lines, which must not be modified afterwards."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[Iterable[Span], object, Strip]] = {}

    def get_or_paint(self, spans: Iterable[Span], variant: object, paint: Callable[[], Strip]) -> Strip:
        """Return the strip of a line in this `variant` (width, look ...), cached or from `paint`."""
        entry = self._cache.get(id(spans))
        if entry is None or entry[0] is not spans or entry[1] != variant:
            if len(self._cache) >= _MAX_LINES:
                self._cache.clear()
            entry = self._cache[id(spans)] = spans, variant, paint()
        return entry[2]


def _segments(spans: Iterable[Span], width: int, look: Look, ground: str = "") -> list[Segment]:
    style, styles, plain = look.palette.style, look.palette.style_cache, not look.ascii
    segments: list[Segment] = []
    room = width
    run, last = "", None  # merge neighbours of one style: fewer bytes and less work for Textual
    for text, words in spans:
        if not (plain and text.isprintable()):
            text = _drawable(text, words, look)
        used = len(text) if text.isascii() else cells.width(text)
        if used > room:
            text, used = cells.cut(text, room), room
        current = styles.get((words, ground)) or style(words, ground)
        if current is last or (
            last is not None and words == "ink" and text.isspace() and _shows_no_blanks(last, current)
        ):
            run += text
        else:
            if run:
                segments.append(Segment(run, last))
            run, last = text, current
        room -= used
        if room <= 0:
            break
    if run:
        segments.append(Segment(run, last))
    if room > 0:
        segments.append(Segment(" " * room, style("ink", ground)))
    return segments


def _drawable(text: str, words: str, look: Look) -> str:
    text = text if text.isprintable() else safe_text.line(text)
    return translate(text, words, keep_wide=look.keep_wide) if look.ascii else text


def _shows_no_blanks(style: Style, blank: Style) -> bool:
    """Whether a space in `style` looks like one in `blank`."""
    return style.bgcolor is blank.bgcolor and not (style.underline or style.strike or style.reverse or blank.reverse)


def blank(width: int, look: Look) -> Strip:
    """Return an empty line of `width` cells."""
    return Strip.blank(width, look.palette.style("ink"))
