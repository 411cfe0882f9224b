"""The palette: the look book's variables, dark and light, in 16 colours and as attributes only; words to styles."""

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
"""Numbers of the terminal's own 16 colours; what is missing is its default."""

ALIASES: Final = {"read": "cache-read", "write": "cache-write", "fresh": "cache-fresh"}
"""Words of the spans that name a variable with a longer name."""

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
_IN_SIXTEEN: Final = {
    "on-cur": _REVERSE, "on-turn": Style(), "on-panel": Style(), "on-bg": Style(),
    "on-add-bg": Style(underline=True), "on-del-bg": Style(strike=True),
}  # fmt: skip


class Palette(Struct, frozen=True, eq=False, dict=True):
    """One way to turn style words into terminal styles.

    `colours` are CSS colours by variable name (empty: attributes only), `special` styles of words that are more than
    a colour. `name` is the theme's.
    """

    name: str
    colours: dict[str, Color] = field(default_factory=dict)
    special: dict[str, Style] = field(default_factory=dict)
    seen: dict[tuple[str, str], Style] = field(default_factory=dict)
    """The styles that were asked for, by their words and grounds."""

    @property
    def exact(self) -> bool:
        """Whether it says each colour in red, green and blue, and nothing is just dim."""
        return bool(self.colours) and not self.special

    @property
    def coloured(self) -> bool:
        """Whether colours tell categories apart; without, rasters use glyphs."""
        return bool(self.colours)

    def style(self, words: str, ground: str = "") -> Style:
        """The style of `words` (see `span.Span`); `ground` is the row's (``on-cur``), which the words' own hides.

        Unknown words are an error of the program: KeyError.
        """
        found = self.seen.get((words, ground))
        if found is None:
            found = self.seen[words, ground] = self._made(words, ground)
        return found

    def _made(self, words: str, ground: str) -> Style:
        # Textual does not lay a widget's ground under lines of its Line API: every span carries one.
        style = below = self._word(ground or "on-bg")
        for word in words.split():
            style += self._word(word)
        if below.reverse:
            # A reversed row is one bar; colours and dimness would cut it into patches.
            return Style(
                reverse=True, bold=style.bold, italic=style.italic, strike=style.strike, underline=style.underline
            )
        return style

    def _word(self, word: str) -> Style:
        if word in ATTRIBUTES:
            return ATTRIBUTES[word]
        name = word.removeprefix("on-")
        name = ALIASES.get(name, name)
        full = f"on-{name}" if word.startswith("on-") else name
        if full in self.special:
            return self.special[full]
        if name not in DARK and name != "quiet":
            raise KeyError(f"unknown style word {word!r}")
        colour = self.colours.get(name)
        if colour is None:
            return Style()
        return Style(bgcolor=colour) if word.startswith("on-") else Style(color=colour)


def _parsed(colours: dict[str, str]) -> dict[str, Color]:
    return {name: Color.parse(value) for name, value in colours.items()}


PALETTES: Final = {
    palette.name: palette
    for palette in (
        Palette("ctxtui-dark", _parsed(DARK)),
        Palette("ctxtui-light", _parsed(LIGHT)),
        Palette("ctxtui-16", {name: Color.from_ansi(n) for name, n in SIXTEEN.items()}, _IN_SIXTEEN),
        Palette("ctxtui-mono", {}, _WITHOUT_COLOUR),
    )
}
"""Palettes by theme name."""
