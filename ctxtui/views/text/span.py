"""Spans: a text and the name of its style, the one thing that every drawing function returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctxtui.views.text import cells


class Span(NamedTuple):
    """A piece of one line.

    `style` is one or more words joined by spaces: a colour of the look book without its ``$`` (``ink``, ``dim``,
    ``cat-user``, ``write``), a ground (``on-cur``, ``on-cat-tools``), attributes (``bold``, ``italic``, ``strike``,
    ``underline``, ``reverse``, and ``quiet``: dim where there is no colour). No colour stands in this room.
    A tuple, because a frame makes a thousand of them.
    """

    text: str
    style: str = "ink"


Spans = Sequence[Span]


def width(spans: Iterable[Span]) -> int:
    """Cells that `spans` take."""
    taken = 0
    for text, _ in spans:
        # As `cells.width`, which a frame would call a thousand times.
        taken += len(text) if text.isascii() and text.isprintable() else cells.width(text)
    return taken


def plain(spans: Iterable[Span]) -> str:
    """The text of `spans`, without style."""
    return "".join(text for text, _ in spans)


def merged(spans: Iterable[Span]) -> list[Span]:
    """`spans` with neighbours of one style joined and empty ones left out."""
    out: list[Span] = []
    held, style = "", ""
    for text, words in spans:
        if held and words == style:
            held += text
        elif text:
            if held:
                out.append(Span(held, style))
            held, style = text, words
    if held:
        out.append(Span(held, style))
    return out


def cropped(spans: Iterable[Span], room: int) -> list[Span]:
    """The first `room` cells of `spans`; a wide character cut in half leaves a space."""
    out: list[Span] = []
    for text, style in spans:
        taken = cells.width(text)
        if taken >= room:
            out.append(Span(cells.cut(text, room), style))
            break
        out.append(Span(text, style))
        room -= taken
    return out


def padded(spans: Iterable[Span], room: int, align: str = "left") -> list[Span]:
    """`spans` cropped or filled with blanks to exactly `room` cells; `align` is ``left`` or ``right``."""
    out = cropped(spans, room)
    missing = room - width(out)
    if missing > 0:
        blank = Span(" " * missing)
        out = [blank, *out] if align == "right" else [*out, blank]
    return out
