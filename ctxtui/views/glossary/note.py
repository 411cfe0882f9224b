"""Framed notes on a screen: an explanation or a tip next to its subject."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ctxtui.views.glossary.spots import Region
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans, cropped, width

MAX_WIDTH: Final = 62
_MARKED: Final = re.compile(r"(`+[^`]+`+|(?<!`)\*\w[^*`]*\*)")


def lines(title: Spans, paragraphs: Sequence[tuple[str, str]], foot: Spans, room: int) -> list[list[Span]]:
    """A framed note in `room` cells (at least 14): `paragraphs` are pairs (text, style)."""
    inside = max(10, min(MAX_WIDTH, room) - 4)
    texts = [(safe_text.wrap(text, inside), style) for text, style in paragraphs if text]
    longest = max((width(style_markup(line)) for wrapped, _ in texts for line in wrapped), default=0)
    inside = min(inside, max(longest, width(title) + 2, width(foot)))
    body: list[list[Span]] = []
    for number, (wrapped, style) in enumerate(texts):
        body += [[]] if number else []
        body += [style_markup(line, style) for line in wrapped]
    out = [_border("┌", title, "┐", inside)]
    for line in body:
        blank = Span(" " * max(0, inside - width(line)))
        out.append([Span("│ ", "accent"), *cropped(line, inside), blank, Span(" │", "accent")])
    return [*out, _border("└", foot, "┘", inside)]


def style_markup(line: str, style: str = "ink") -> list[Span]:
    """Style a line: text in backticks as keys, text in asterisks in italics."""
    return [
        Span(part.strip(part[0]), "accent bold" if part[0] == "`" else f"{style} italic")
        if len(part) > 2 and part[0] in "`*" and part[-1] == part[0]
        else Span(part, style)
        for part in _MARKED.split(line)
        if part
    ]


def strip_markup(text: str) -> str:
    return "".join(span.text for span in style_markup(text))


def _border(left: str, spans: Spans, right: str, inside: int) -> list[Span]:
    shown = cropped(spans, inside)
    rule = "─" * max(0, inside - width(shown) + (0 if shown else 1))
    return [Span(f"{left}─" if not shown else f"{left} ", "accent"), *shown, Span(" " if shown else "", "accent"),
            Span(f"{rule}{right}", "accent")]  # fmt: skip


def position_note(about: Region, size: tuple[int, int], screen: tuple[int, int]) -> tuple[int, int]:
    """Position of a note of `size` (cells, lines): below `about`, above it, else at its side."""
    wide, high = size
    x = max(0, min(about.x, screen[0] - wide))
    if about.y + about.height + high <= screen[1]:
        return x, about.y + about.height
    if about.y - high >= 0:
        return x, about.y - high
    beside = about.x - wide if about.x >= wide else about.x + about.width
    return max(0, min(beside, screen[0] - wide)), max(0, min(about.y, screen[1] - high))
