"""A request body as readable lines, and the difference between two bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from ctxtui.core.canonical import loads
from ctxtui.views.blocks import body, json_text
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, plain

CONTEXT_LINES: Final = 3


def lines(request: bytes) -> list[Spans]:
    return list(json_text.lines(loads(request)))


_BREAK: Final = re.compile(r"(?<!\\)((?:\\\\)*\\n)(?=.)")
"""An escaped newline in a JSON string: the text continues on the next line."""


def wrap(line: Spans, room: int) -> Iterator[Spans]:
    """Wrap a line to `room` cells; a long one is also broken at the ``\\n`` in its texts."""
    text = plain(line)
    if cells.width(text) <= room:
        yield line
        return
    blanks = min(len(text) - len(text.lstrip("+- ")) + 2, room // 3)
    part: list[Span] = []
    for span in line:
        *whole, rest = _BREAK.sub(r"\1\n", span.text).split("\n")
        for piece in whole:
            yield from body.wrap([*part, Span(piece, span.style)], room, blanks)
            part = [Span(" " * blanks)]
        part.append(Span(rest, span.style))
    yield from body.wrap(part, room, blanks)


def diff_lines(before: Sequence[Spans], after: Sequence[Spans]) -> list[Spans]:
    """Removed (``-``) and added (``+``) lines with context; empty if the bodies are equal."""
    old, new = [plain(line) for line in before], [plain(line) for line in after]
    # Requests of a session share a prefix and, but for an edit, a suffix: only the middle is compared.
    least = min(len(old), len(new))
    front = next((index for index in range(least) if old[index] != new[index]), least)
    back = next((index for index in range(least - front) if old[-1 - index] != new[-1 - index]), least - front)
    matcher = SequenceMatcher(None, old[front : len(old) - back], new[front : len(new) - back], autojunk=False)
    out: list[Spans] = []
    shown = 0
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        out += _unchanged_lines(after, shown, front + k)
        out += [[Span("- ", "del bold"), Span(text, "del")] for text in old[front + i : front + j]]
        out += [[Span("+ ", "add bold"), Span(text, "add")] for text in new[front + k : front + m]]
        shown = front + m
    return out + _unchanged_lines(after, shown, len(after), ends=True) if out else []


def _unchanged_lines(lines: Sequence[Spans], start: int, end: int, *, ends: bool = False) -> list[Spans]:
    """The unchanged lines next to a difference, and a count of the others.

    `ends`: no difference follows.
    """
    first = min(end, start + (CONTEXT_LINES if start else 0))
    last = end if ends else max(first, end - CONTEXT_LINES)
    leading, trailing = lines[start:first], lines[last:end]
    hidden = (end if ends else last) - first
    gap: list[Spans] = [[Span(f"  ⋮ {hidden:,} unchanged lines", "faint")]] if hidden > 0 else []
    return (
        [[Span("  "), *line] for line in leading] + gap + ([] if ends else [[Span("  "), *line] for line in trailing])
    )
