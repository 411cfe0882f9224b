"""Tables of unreadable recording lines, and of removed literals that later blocks quote.

A literal is a path, an id, a number or an error line: after an edit the model may look for it in vain.
"""

from __future__ import annotations

from typing import Final

from ctxtui.core.session import Skipped
from ctxtui.curation.price.dependence import Lost, Quote
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


def _reason(skipped: Skipped, room: int) -> list[Span]:
    return [Span(safe_text.one_line(skipped.reason, 400))]


SKIPPED_TABLE: Final[Table[Skipped]] = Table(
    (
        Column("", 13, lambda skipped, _: Span(f"line {skipped.line:>8,}", "warn"), "left", gap=1),
        Column("", 0, _reason, "left", gap=2, least=0),
    ),
    tail=0,
)


def _lead(reference: Quote | Lost, room: int) -> Span:
    if isinstance(reference, Lost):
        return Span(f"{MARK['summary'].glyph} lost in the summary", "cat-summary")
    return Span(f"{MARK['warning'].glyph} quoted later", "warn")


def _quoted(reference: Quote | Lost, room: int) -> Span:
    by = reference.quoted if isinstance(reference, Lost) else len(reference.by)
    return Span(f"{numbers.many(by, 'later block')} quote{'s' if by == 1 else ''} it" if by else "", "dim")


BROKEN_TABLE: Final[Table[Quote | Lost]] = Table(
    (
        Column("", 21, _lead, "left"),
        Column("", 0, lambda fact, _: Span(safe_text.one_line(fact.literal, 400)), "left", gap=2, least=8),
        Column("", 23, _quoted, "left", gap=2),
    ),
    mark=2,
)
