"""Text for narrow panes: complete figures and facts where they fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, width


def figures(parts: Sequence[tuple[Span, Span]], room: int) -> Spans:
    """Figures with their signs in one line.

    Without blanks between them if they do not fit in `room` cells.
    """
    for gap in (" ", ""):
        line = [Span(" ")]
        for sign, figure in parts:
            line += [Span(gap if len(line) > 1 else ""), sign, figure]
        if width(line) < room:
            break
    return line


def facts(words: Iterable[str], room: int) -> str:
    """The facts that fit completely in `room` cells; at least the beginning of the first."""
    text = ""
    for fact in words:
        longer = f"{text} · {fact}" if text else fact
        if cells.width(longer) <= room:
            text = longer
        elif not text:
            text = cells.fit(fact, room).rstrip()
    return text


def first_that_fits(ways: Sequence[str], room: int) -> str:
    """The first of `ways` that fits in `room` cells; else the beginning of the last."""
    return next((way for way in ways if cells.width(way) <= room), cells.fit(ways[-1], room).rstrip())
