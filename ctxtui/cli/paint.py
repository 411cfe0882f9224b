"""Spans on a plain terminal: the 16 colours of the look book, or none, in glyphs or ASCII."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from ctxtui.cli.output import wants_colour, write
from ctxtui.tui.theme.glyphs import translate
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Table

Row = TypeVar("Row")

_ATTRIBUTES: Final = {"bold": "1", "dim": "90", "faint": "90", "italic": "3", "underline": "4", "strike": "9"}
WIDEST: Final = 120
_AROUND: Final = 3
"""Cells round the title of a rule."""


def width() -> int:
    """Cells of a line of plain output: the terminal's, at most `WIDEST`; 100 where there is none."""
    return min(WIDEST, max(40, shutil.get_terminal_size((100, 24)).columns))


class Painter:
    """Prints lines of spans. `glyphs` is the setting: ``auto``, ``unicode`` or ``ascii``."""

    def __init__(self, glyphs: str = "auto") -> None:
        self._colour = wants_colour()
        encoding = (sys.stdout.encoding or "").lower().replace("-", "")
        self._ascii = glyphs == "ascii" or (glyphs == "auto" and not encoding.startswith("utf"))

    def line(self, spans: Iterable[Span]) -> None:
        """Print one line; blanks at its end are left out."""
        parts = list(spans)
        while parts and not parts[-1].text.strip():
            parts.pop()
        if parts:
            parts[-1] = Span(parts[-1].text.rstrip(), parts[-1].style)
        write("".join(self._drawn(text, style) for text, style in parts))

    def lines(self, every: Iterable[Iterable[Span]]) -> None:
        """Print several."""
        for one in every:
            self.line(one)

    def _drawn(self, text: str, style: str) -> str:
        if self._ascii:
            text = translate(text, style)
        codes = _codes(style) if self._colour else ""
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text.strip() else text


def table_lines(table: Table[Row], rows: Iterable[Row], room: int, order: str = "") -> Iterator[list[Span]]:
    """The heads of a table, where it has any (`order` marks the one it is sorted by), and its rows."""
    if table.headed:
        yield table.heads(room, order)
    for row in rows:
        yield table.draw(row, room)


def rule(title: str, note: str = "") -> list[list[Span]]:
    """A rule across the line with its title, and a note at the right; below it where both are too long for one line."""
    room = width()
    title, tail = cells.fit(title, room - _AROUND), f" {note} ─" if note else ""
    left = room - cells.width(title) - _AROUND
    if cells.width(tail) <= left:
        filled = "─" * (left - cells.width(tail))
        return [[Span("─ ", "hair"), Span(title, "bold"), Span(" " + filled, "hair"), Span(tail, "dim")]]
    under = [[Span(f"  {words}", "dim")] for words in safe_text.wrap(note, room - 2)]
    return [[Span("─ ", "hair"), Span(title, "bold"), Span(" " + "─" * left, "hair")], *under]


def _codes(style: str) -> str:
    # Rich is needed for the palette's other faces, so this is imported only where colour is wanted.
    from ctxtui.tui.theme.palette import ALIASES, SIXTEEN

    found = []
    for word in style.split():
        name = ALIASES.get(word, word)
        if word in _ATTRIBUTES:
            found.append(_ATTRIBUTES[word])
        elif name in SIXTEEN:
            number = SIXTEEN[name]
            found.append(str(30 + number if number < 8 else 82 + number))
    return ";".join(found)


def home_short(path: str) -> str:
    """`path` with the user's home as ``~``."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path
