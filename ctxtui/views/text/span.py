"""Spans: a text and the name of its style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctxtui.views.text import cells


class Span(NamedTuple):
    """A piece of one line.

    `style` is one or more words joined by spaces: a colour of the theme (``ink``, ``cat-user``), a background
    (``on-cur``), attributes (``bold``, ``italic``, ``strike``, ``underline``, ``reverse``, and ``quiet``: dim if there
    is no colour). A tuple, because a frame creates a thousand of them.
    """

    text: str
    style: str = "ink"


Spans = Sequence[Span]


def width(spans: Iterable[Span]) -> int:
    used = 0
    for text, _ in spans:
        # Inlined `cells.width`, which a frame would call a thousand times.
        used += len(text) if text.isascii() and text.isprintable() else cells.width(text)
    return used


def plain(spans: Iterable[Span]) -> str:
    return "".join(text for text, _ in spans)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Join neighbours of one style, and drop empty spans."""
    out: list[Span] = []
    pending, style = "", ""
    for text, words in spans:
        if pending and words == style:
            pending += text
        elif text:
            if pending:
                out.append(Span(pending, style))
            pending, style = text, words
    if pending:
        out.append(Span(pending, style))
    return out


def cropped(spans: Iterable[Span], room: int) -> list[Span]:
    """The first `room` cells of `spans`; a wide character cut in half becomes a space."""
    out: list[Span] = []
    for text, style in spans:
        used = cells.width(text)
        if used >= room:
            out.append(Span(cells.cut(text, room), style))
            break
        out.append(Span(text, style))
        room -= used
    return out


def shortened(spans: Iterable[Span], room: int) -> list[Span]:
    """The spans that fit in `room` cells; one that does not fit completely ends in ``…``."""
    out: list[Span] = []
    for text, style in spans:
        if room <= 0:
            break
        out.append(Span(cells.fit(text, room), style))
        room -= cells.width(out[-1].text)
    return out


def padded(spans: Iterable[Span], room: int, align: str = "left") -> list[Span]:
    """Crop or pad `spans` to exactly `room` cells; `align` is ``left`` or ``right``."""
    out = cropped(spans, room)
    missing = room - width(out)
    if missing > 0:
        blank = Span(" " * missing)
        out = [blank, *out] if align == "right" else [*out, blank]
    return out


def fit_spans(spans: Spans, room: int) -> list[Span]:
    """`spans` in exactly `room` cells; longer ones end in ``…``."""
    used = width(spans)
    if used <= room:
        return [*spans, Span(" " * (room - used))]
    if room <= 0:
        return []
    cut = cropped(spans, room - 1)
    return [*cut, Span("…", cut[-1].style if cut else "dim")]


def right_aligned(text: str, style: str, room: int) -> Span:
    return Span(cells.right(text, room), style)
