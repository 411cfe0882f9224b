"""ASCII replacements, of the same width, for the glyphs of the screen."""

from __future__ import annotations

import unicodedata
from typing import Final

from ctxtui.views.text import cells
from ctxtui.views.text.signs import CATEGORY, GUTTER, MARK, TRACK

_LINES: Final = {
    "─": "-", "━": "=", "╸": "-", "╌": "-", "┄": ".", "╍": "~", "│": "|", "┃": "|", "╏": ":", "┊": ".",
    "┬": "+", "├": "+", "┤": "+", "┴": "+", "┼": "+", "╰": "`", "╵": "'", "╱": "/", "╳": "X", "╪": "e", "└": "`",
}  # fmt: skip
_BLOCKS: Final = dict(zip("▁▂▃▄▅▆▇█", ".:-=+*##", strict=True)) | {
    "▀": '"', "░": "%", "▒": "%", "▓": "%", "▏": " ", "▎": "-", "▍": "-", "▌": "=", "▋": "=", "▊": "#", "▉": "#",
}  # fmt: skip
_WORDS: Final = {
    "…": "~", "·": ".", "•": "*", "±": "~", "≈": "~", "×": "x", "−": "-", "–": "-", "—": "-", "→": ">", "←": "<",
    "↑": "^", "↓": "v", "↵": "<", "⏎": "<", "≤": "<", "≥": ">", "≠": "%", "Δ": "d", "Σ": "Z", "★": "*", "⟨": "<",
    "✦": "*",
    "⟩": ">", "␛": "^", "‖": "=", "‘": "'", "’": "'", "“": '"', "”": '"', "∞": "8", "½": "+", "›": ">", "‹": "<",
}  # fmt: skip


def _braille(code: int) -> str:
    upper, lower = code & 0x1B, code & 0xE4
    return ":" if upper and lower else "'" if upper else "." if lower else " "


_TABLE: Final[dict[str, str]] = (
    {chr(0x2800 + code): _braille(code) for code in range(256)}
    | {sign.glyph: sign.letter for sign in (*TRACK.values(), *GUTTER.values())}
    | {sign.glyph: sign.letter for sign in MARK.values()}
    | _LINES
    | _BLOCKS
    | _WORDS
)
# One glyph may be two signs; the style distinguishes them.
_SIGNS: Final[dict[tuple[str, str], str]] = {
    **{(sign.glyph, sign.style.split()[0]): sign.letter for sign in MARK.values()},
    **{(sign.glyph, sign.style): sign.letter for sign in (*GUTTER.values(), *TRACK.values())},
    **{(sign.glyph, sign.style): sign.letter for sign in CATEGORY[:-1]},
}


class _Letters(dict[int, str]):
    """Replacement of each character seen so far.

    `keep_wide` keeps text that every terminal draws alike.
    """

    def __init__(self, keep_wide: bool) -> None:
        super().__init__({ord(glyph): letter for glyph, letter in _TABLE.items()})
        self.keep_wide = keep_wide

    def __missing__(self, code: int) -> str:
        self[code] = letter = self._replace(chr(code))
        return letter

    def _replace(self, char: str) -> str:
        if char.isascii() or (self.keep_wide and unicodedata.east_asian_width(char) != "A"):
            return char
        base = unicodedata.normalize("NFKD", char)[:1]
        wide = cells.width(char)
        return base if base.isascii() and wide == 1 else "?" * wide


_KEEPING, _STRICT = _Letters(keep_wide=True), _Letters(keep_wide=False)


def translate(text: str, style: str = "", *, keep_wide: bool = False) -> str:
    """Return `text` in ASCII, of the same width.

    `style` decides between a call and an arrow (``→``). `keep_wide` keeps letters of other scripts, for a terminal that
    takes UTF-8 but draws ambiguous glyphs wide.
    """
    if text.isascii():
        return text
    bare = text.strip(" ")
    if len(bare) == 1 and style:
        letter = _SIGNS.get((bare, style.split()[0]))
        if letter is not None:
            return text.replace(bare, letter)
    return text.translate(_KEEPING if keep_wide else _STRICT)
