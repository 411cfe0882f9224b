"""How panes of a few cells say what they have to say: whole figures and whole facts, none cut off in its middle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, width


def figures(parts: Sequence[tuple[Span, Span]], room: int) -> Spans:
    """Figures, each behind its sign, in one line of `room` cells: the signs alone divide them where blanks between them
    would take too much."""
    for gap in (" ", ""):
        line = [Span(" ")]
        for sign, figure in parts:
            line += [Span(gap if len(line) > 1 else ""), sign, figure]
        if width(line) < room:
            break
    return line


def facts(words: Iterable[str], room: int) -> str:
    """As many of these `words`, in their order, as stand whole in `room` cells; where not even the first does, its
    beginning."""
    told = ""
    for one in words:
        more = f"{told} · {one}" if told else one
        if cells.width(more) <= room:
            told = more
        elif not told:
            told = cells.fit(one, room).rstrip()
    return told


def first_that_fits(ways: Sequence[str], room: int) -> str:
    """The first of these ways to say something that stands whole in `room` cells; else the beginning of the last."""
    return next((way for way in ways if cells.width(way) <= room), cells.fit(ways[-1], room).rstrip())
