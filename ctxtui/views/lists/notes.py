"""Notes and bookmarks as rows of a list: where, which block, what was written."""

from __future__ import annotations

from ctxtui.analysis.content.notes import PlacedNote
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.signs import CATEGORY, of_note
from ctxtui.views.text.span import Span, Spans, cropped

_WHERE = 16


def where(one: PlacedNote) -> str:
    """The call at which it stands, and its thread where that is not the main one."""
    words = f"call {one.call:,}" if one.call is not None else "not sent yet" if one.found else "no longer there"
    return f"{words} {safe_text.one_line(one.thread)}" if one.found and one.thread != "main" else words


def line(one: PlacedNote, category: int | None, width: int, *, here: bool) -> Spans:
    """A row in `width` cells; `category` is the block's, None for a call."""
    note, place = one.note, where(one)
    glyph = CATEGORY[category].span if category is not None else Span(" ")
    spans = [
        Span("▸ " if here else "  ", "accent"),
        of_note(note),
        Span(" " + cells.left(cells.fit(place, _WHERE), _WHERE) + " ", "ink" if one.found else "faint"),
        glyph,
        Span(" "),
    ]
    if note.text:
        spans += [Span(safe_text.one_line(note.text), "ink bold"), Span("  ")]
    return cropped([*spans, Span(safe_text.one_line(note.about), "dim")], width)
