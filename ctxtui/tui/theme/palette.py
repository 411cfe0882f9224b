"""Palettes for dark and light terminals, for 16 colours, and for attributes only."""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field
from rich.color import Color
from rich.style import Style

from ctxtui.views.text.signs import DARK, LIGHT

SIXTEEN: Final = {
    "accent-ink": 0, "hair": 8, "dim": 8, "faint": 8, "accent": 6, "cache-read": 6, "readtx": 6, "cache-write": 3,
    "cache-fresh": 13, "ok": 10, "warn": 3, "crit": 9, "add": 10, "del": 9,
    "cat-system": 5, "cat-tools": 4, "cat-memory": 2, "cat-user": 11, "cat-assistant": 15, "cat-thinking": 8,
    "cat-call": 14, "cat-result": 12, "cat-image": 13, "cat-document": 1, "cat-summary": 10,
}  # fmt: skip
"""Numbers of the terminal's own 16 colours; other words have its default colour."""

ALIASES: Final = {"read": "cache-read", "write": "cache-write", "fresh": "cache-fresh"}
"""Short style words for variables with longer names."""

ATTRIBUTES: Final = {
    "bold": Style(bold=True),
    "italic": Style(italic=True),
    "strike": Style(strike=True),
    "underline": Style(underline=True),
    "reverse": Style(reverse=True),
}

_BOLD, _DIM, _REVERSE = Style(bold=True), Style(dim=True), Style(reverse=True)
_WITHOUT_COLOUR: Final = {
    "hair": _DIM, "dim": _DIM, "faint": _DIM, "cache-read": _DIM, "readtx": _DIM, "cat-thinking": _DIM,
    "quiet": _DIM, "cache-write": _BOLD, "warn": _BOLD, "crit": _BOLD, "cat-user": _BOLD,
    "on-cur": _REVERSE, "on-accent": _REVERSE, "on-crit": _REVERSE, "on-warn": _REVERSE, "on-ok": _REVERSE,
    "on-add-bg": Style(underline=True), "on-del-bg": Style(strike=True),
}  # fmt: skip
"""Styles of words in the palette without colours."""
_IN_SIXTEEN: Final = {
    "on-cur": _REVERSE, "on-turn": Style(), "on-panel": Style(), "on-bg": Style(),
    "on-add-bg": Style(underline=True), "on-del-bg": Style(strike=True),
}  # fmt: skip
"""Styles of words that have no colour of their own among 16."""


class Palette(Struct, frozen=True, eq=False, dict=True):
    """Translates style words to terminal styles.

    `colours` by variable name (empty: attributes only); `special`: styles of words that do not have just their colour.
    """

    name: str
    colours: dict[str, Color] = field(default_factory=dict)
    special: dict[str, Style] = field(default_factory=dict)
    style_cache: dict[tuple[str, str], Style] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether every word has a colour of red, green and blue."""
        return bool(self.colours) and not self.special

    @property
    def coloured(self) -> bool:
        """Whether there are colours; if not, rasters use glyphs."""
        return bool(self.colours)

    def style(self, words: str, ground: str = "") -> Style:
        """Return the style of `words` (`span.Span`) on the row's `ground`.

        A ground in `words` overrides it, unless it is reversed.
        """
        style = self.style_cache.get((words, ground))
        if style is None:
            style = self.style_cache[words, ground] = self._build_style(words, ground)
        return style

    def _build_style(self, words: str, ground: str) -> Style:
        # Textual does not apply a widget's background to Line API lines, so every span has one.
        style = base = self._style_of_word(ground or "on-bg")
        for word in words.split():
            style += self._style_of_word(word)
        if base.reverse:
            # A reversed row is one bar; colours and dimness would make it patchy.
            return Style(
                reverse=True, bold=style.bold, italic=style.italic, strike=style.strike, underline=style.underline
            )
        return style

    def _style_of_word(self, word: str) -> Style:
        if word in ATTRIBUTES:
            return ATTRIBUTES[word]
        name = word.removeprefix("on-")
        name = ALIASES.get(name, name)
        full = f"on-{name}" if word.startswith("on-") else name
        if full in self.special:
            return self.special[full]
        # Only the palette without colours has a style for `quiet`.
        if name not in DARK and name != "quiet":
            raise KeyError(f"unknown style word {word!r}")
        colour = self.colours.get(name)
        if colour is None:
            return Style()
        return Style(bgcolor=colour) if word.startswith("on-") else Style(color=colour)


def make_palette(name: str, colours: dict[str, str]) -> Palette:
    """Make the palette of a theme with every variable of `DARK` as a CSS colour."""
    return Palette(name, {variable: Color.parse(colour) for variable, colour in colours.items()})


PALETTES: Final = {
    palette.name: palette
    for palette in (
        make_palette("ctxtui-dark", DARK),
        make_palette("ctxtui-light", LIGHT),
        Palette("ctxtui-16", {name: Color.from_ansi(n) for name, n in SIXTEEN.items()}, _IN_SIXTEEN),
        Palette("ctxtui-mono", {}, _WITHOUT_COLOUR),
    )
}
"""Palettes by theme name."""
