"""Notes and bookmarks as rows of a list: position, block, and text."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.analysis.content.notes import PlacedNote
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import CATEGORY, of_note
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table


def describe_position(placed: PlacedNote) -> str:
    """The call of a note, and its thread if that is not the main one."""
    words = (
        f"call {placed.call:,}" if placed.call is not None else "not sent yet" if placed.is_found else "no longer there"
    )
    return f"{words} {safe_text.one_line(placed.thread)}" if placed.is_found and placed.thread != "main" else words


def table(category: Callable[[int], int]) -> Table[PlacedNote]:
    """The table of notes on blocks and calls; `category` returns that of a node's block."""

    def glyph(placed: PlacedNote, room: int) -> Span:
        return CATEGORY[category(placed.node)].span if placed.node is not None else Span(" ")

    return Table(
        (
            Column("", 1, lambda note, _: of_note(note.note)),
            Column(
                "",
                16,
                lambda note, _: Span(describe_position(note), "ink" if note.is_found else "faint"),
                "left",
                gap=1,
            ),
            Column("", 1, glyph, gap=1),
            Column("", 0, _words, "left", gap=1, least=0),
        ),
        mark=2,
        tail=0,
    )


def _words(placed: PlacedNote, room: int) -> list[Span]:
    note = placed.note
    text = [Span(safe_text.one_line(note.text), "ink bold"), Span("  ")] if note.text else []
    return cropped([*text, Span(safe_text.one_line(note.about), "dim")], room)
