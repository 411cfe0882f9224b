"""Prints spans as plain lines, in the terminal's 16 colours or none, with glyphs or ASCII."""

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

_ATTRIBUTES: Final = {"bold": "1", "italic": "3", "underline": "4", "reverse": "7", "strike": "9"}
MAX_CELLS: Final = 120
RULE_CELLS: Final = 3


def width() -> int:
    """Cells of plain output: of $COLUMNS or the terminal, else 100; from 40 to `MAX_CELLS`."""
    return min(MAX_CELLS, max(40, shutil.get_terminal_size((100, 24)).columns))


class Painter:
    """Prints lines of spans. `glyphs` is the setting: ``auto``, ``unicode`` or ``ascii``."""

    def __init__(self, glyphs: str = "auto") -> None:
        self._colour = wants_colour()
        encoding = (sys.stdout.encoding or "").lower().replace("-", "")
        self._ascii = glyphs == "ascii" or (glyphs == "auto" and not encoding.startswith("utf"))

    def line(self, spans: Iterable[Span]) -> None:
        parts = list(spans)
        while parts and not parts[-1].text.strip():
            parts.pop()
        if parts:
            parts[-1] = Span(parts[-1].text.rstrip(), parts[-1].style)
        write("".join(self._paint(text, style) for text, style in parts))

    def lines(self, line_list: Iterable[Iterable[Span]]) -> None:
        for spans in line_list:
            self.line(spans)

    def _paint(self, text: str, style: str) -> str:
        if self._ascii:
            text = translate(text, style)
        codes = _codes(style) if self._colour else ""
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text.strip() else text


def table_lines(table: Table[Row], rows: Iterable[Row], room: int, order: str = "") -> Iterator[list[Span]]:
    """The heads of a table, if any, and its rows; `order` is the sorted column."""
    if table.has_heads:
        yield table.heads(room, order)
    for row in rows:
        yield table.draw(row, room)


def rule(title: str, note: str = "") -> list[list[Span]]:
    """A line across the width with a title, and a note at the right or, if too long, below."""
    room = width()
    title, tail = cells.fit(title, room - RULE_CELLS), f" {note} ─" if note else ""
    left = room - cells.width(title) - RULE_CELLS
    if cells.width(tail) <= left:
        filled = "─" * (left - cells.width(tail))
        return [[Span("─ ", "hair"), Span(title, "bold"), Span(" " + filled, "hair"), Span(tail, "dim")]]
    under = [[Span(f"  {words}", "dim")] for words in safe_text.wrap(note, room - 2)]
    return [[Span("─ ", "hair"), Span(title, "bold"), Span(" " + "─" * left, "hair")], *under]


def _codes(style: str) -> str:
    # Late import: the palette imports Rich, which is only needed for colour.
    from ctxtui.tui.theme.palette import ALIASES, SIXTEEN

    codes = []
    for word in style.split():
        name = ALIASES.get(word, word)
        if word in _ATTRIBUTES:
            codes.append(_ATTRIBUTES[word])
        elif name in SIXTEEN:
            number = SIXTEEN[name]
            codes.append(str(30 + number if number < 8 else 82 + number))
    return ";".join(codes)


def abbreviate_home(path: str) -> str:
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path
