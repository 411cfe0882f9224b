"""The palette: the look book's variables, dark and light, in 16 colours and as attributes only; words to styles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rich.color import Color
from rich.style import Style

DARK: Final = {
    "bg": "#0E1117", "panel": "#161B24", "turn": "#171D27", "cur": "#223047", "hair": "#2B3342",
    "ink": "#DCE1EA", "dim": "#8A93A6", "faint": "#626C80", "accent": "#4FD9D0", "accent-ink": "#06201E",
    "cache-read": "#2E7F78", "readtx": "#56B3A8", "cache-write": "#F5C04E", "cache-fresh": "#FF7BC0",
    "ok": "#5BC48A", "warn": "#F2B84B", "crit": "#FF6B7A",
    "add": "#7FE0B0", "add-bg": "#12372B", "del": "#FF9AA8", "del-bg": "#43202A",
    "cat-system": "#9A58BA", "cat-tools": "#2E74E8", "cat-memory": "#2F9364", "cat-user": "#FFE05F",
    "cat-assistant": "#EEF1F8", "cat-thinking": "#858BA6", "cat-call": "#9AD3FA", "cat-result": "#55A9F5",
    "cat-image": "#FCA6AD", "cat-document": "#DC5010", "cat-summary": "#A9BE1E",
}  # fmt: skip
"""Colours by variable name on a dark screen."""

LIGHT: Final = {
    "bg": "#FBFBF9", "panel": "#EFF0EC", "turn": "#F1F2EE", "cur": "#D3ECEB", "hair": "#CFD3D8",
    "ink": "#20242C", "dim": "#5F6876", "faint": "#868D99", "accent": "#007F86", "accent-ink": "#FFFFFF",
    "cache-read": "#8CC7BF", "readtx": "#147A70", "cache-write": "#D98A00", "cache-fresh": "#D42A5B",
    "ok": "#1B7F4B", "warn": "#B07100", "crit": "#C2253D",
    "add": "#0B5F38", "add-bg": "#D8F2E2", "del": "#A3142B", "del-bg": "#FBDDE1",
    "cat-system": "#592277", "cat-tools": "#06077E", "cat-memory": "#1F5B54", "cat-user": "#B78B25",
    "cat-assistant": "#2B2C31", "cat-thinking": "#82848A", "cat-call": "#5694E1", "cat-result": "#0E68C4",
    "cat-image": "#AA2D94", "cat-document": "#872B08", "cat-summary": "#6C7213",
}  # fmt: skip
"""Colours by variable name on a light screen."""

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


@dataclass(frozen=True)
class Palette:
    """One way to turn style words into terminal styles.

    `colours` are CSS colours by variable name (empty: attributes only), `special` styles of words that are more than
    a colour. `name` is the theme's.
    """

    name: str
    colours: dict[str, Color] = field(default_factory=dict)
    special: dict[str, Style] = field(default_factory=dict)
    _seen: dict[tuple[str, str], Style] = field(default_factory=dict, repr=False, compare=False)

    @property
    def coloured(self) -> bool:
        """Whether colours tell categories apart; without, rasters use glyphs."""
        return bool(self.colours)

    def style(self, words: str, ground: str = "") -> Style:
        """The style of `words` (see `views.span.Span`); `ground` is the row's (``on-cur``), which the words' own hides.

        Unknown words are an error of the program: KeyError.
        """
        found = self._seen.get((words, ground))
        if found is None:
            found = self._seen[words, ground] = self._made(words, ground)
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
