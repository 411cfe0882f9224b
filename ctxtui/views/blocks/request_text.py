"""A request body as lines to read, and what differs between two of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from ctxtui.core.canonical import loads
from ctxtui.views.blocks import body, json_text
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, plain

NEAR: Final = 3
"""Lines that are shown around a difference."""


def lines(request: bytes) -> list[Spans]:
    """The body laid out, a line for each key, item or value."""
    return list(json_text.lines(loads(request)))


_BREAK: Final = re.compile(r"(?<!\\)((?:\\\\)*\\n)(?=.)")
"""An escaped newline in a string of JSON: the text goes on in another line behind it."""


def wrapped(line: Spans, room: int) -> Iterator[Spans]:
    """A line in as many of `room` cells as it takes: a long text is broken behind its newlines, too."""
    text = plain(line)
    if cells.width(text) <= room:
        yield line
        return
    blanks = min(len(text) - len(text.lstrip("+- ")) + 2, room // 3)
    part: list[Span] = []
    for span in line:
        *whole, rest = _BREAK.sub(r"\1\n", span.text).split("\n")
        for piece in whole:
            yield from body.wrapped([*part, Span(piece, span.style)], room, blanks)
            part = [Span(" " * blanks)]
        part.append(Span(rest, span.style))
    yield from body.wrapped(part, room, blanks)


def difference(before: Sequence[Spans], after: Sequence[Spans]) -> list[Spans]:
    """Lines that went (``-``) and came (``+``), each with those around it; empty where both are the same."""
    old, new = [plain(line) for line in before], [plain(line) for line in after]
    # Requests of one session begin alike and, but for an edit, end alike: only what lies between is compared.
    least = min(len(old), len(new))
    front = next((at for at in range(least) if old[at] != new[at]), least)
    back = next((at for at in range(least - front) if old[-1 - at] != new[-1 - at]), least - front)
    matcher = SequenceMatcher(None, old[front : len(old) - back], new[front : len(new) - back], autojunk=False)
    out: list[Spans] = []
    shown = 0
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        out += _same(after, shown, front + k)
        out += [[Span("- ", "del bold"), Span(text, "del")] for text in old[front + i : front + j]]
        out += [[Span("+ ", "add bold"), Span(text, "add")] for text in new[front + k : front + m]]
        shown = front + m
    return out + _same(after, shown, len(after), ends=True) if out else []


def _same(every: Sequence[Spans], start: int, end: int, *, ends: bool = False) -> list[Spans]:
    """Lines from `start` to `end` that both have: those next to a difference, and how many lie between."""
    first = min(end, start + (NEAR if start else 0))
    last = end if ends else max(first, end - NEAR)
    kept, rest = every[start:first], every[last:end]
    hidden = (end if ends else last) - first
    gap: list[Spans] = [[Span(f"  ⋮ {hidden:,} lines the same", "faint")]] if hidden > 0 else []
    return [[Span("  "), *line] for line in kept] + gap + ([] if ends else [[Span("  "), *line] for line in rest])
