"""Notes and bookmarks as rows of a list: where, which block, what was written."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.analysis.content.notes import PlacedNote
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import CATEGORY, of_note
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table


def where(one: PlacedNote) -> str:
    """The call at which it stands, and its thread where that is not the main one."""
    words = f"call {one.call:,}" if one.call is not None else "not sent yet" if one.is_found else "no longer there"
    return f"{words} {safe_text.one_line(one.thread)}" if one.is_found and one.thread != "main" else words


def table(category: Callable[[int], int]) -> Table[PlacedNote]:
    """The table of the notes on blocks and on calls; `category` gives the one that the block of a node is shown in."""

    def glyph(one: PlacedNote, room: int) -> Span:
        return CATEGORY[category(one.node)].span if one.node is not None else Span(" ")

    return Table(
        (
            Column("", 1, lambda one, _: of_note(one.note)),
            Column("", 16, lambda one, _: Span(where(one), "ink" if one.is_found else "faint"), "left", gap=1),
            Column("", 1, glyph, gap=1),
            Column("", 0, _words, "left", gap=1, least=0),
        ),
        mark=2,
        tail=0,
    )


def _words(one: PlacedNote, room: int) -> list[Span]:
    note = one.note
    text = [Span(safe_text.one_line(note.text), "ink bold"), Span("  ")] if note.text else []
    return cropped([*text, Span(safe_text.one_line(note.about), "dim")], room)
