"""Source text as lines: plain, or as a tool prints a file with a number before each line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans

STYLED: Final = 200_000
"""Characters of code that are highlighted: what comes after is shown plain, so that no size costs more."""
_CAT_N: Final = re.compile(r"^\s*(\d+)(?:→|\t)(.*)$")


def is_numbered(text: str) -> bool:
    """Whether the first line of `text` has a number before it, as `cat -n` prints."""
    return _CAT_N.match(text[: 1 << 12].split("\n", 1)[0]) is not None


def texts(text: str) -> Iterator[str]:
    """The lines of a source text, safe to draw; a line is broken where what is highlighted ends."""
    yield from safe_text.lines(text[:STYLED])
    if len(text) > STYLED:
        yield from safe_text.lines(text, STYLED)


def plain(text: str, hint: str, highlight: Highlight) -> Iterator[Spans]:
    """Source text, highlighted as far as `STYLED`; each line of it gives one list of spans."""
    head = text[:STYLED]
    styled = highlight("\n".join(safe_text.lines(head)), hint)
    yield from styled
    if len(text) > STYLED:
        yield from (safe_text.spans(line, "ink") for line in safe_text.lines(text, STYLED))


def numbered(text: str, hint: str, highlight: Highlight | None) -> Iterator[Spans]:
    """A file as a tool prints it, with a number before each line: numbers in a column, the rest as code."""
    pieces = [_CAT_N.match(line) for line in text[:STYLED].split("\n")]
    bare = "\n".join(safe_text.line(piece[2] if piece else "") for piece in pieces)
    styled: Iterator[list[Span]] = highlight(bare, hint) if highlight and hint else iter(())
    for line in safe_text.lines(text):
        piece = _CAT_N.match(line)
        code = next(styled, [])
        if piece is None:
            yield safe_text.spans(line, "dim")
        else:
            yield [Span(f"{piece[1]:>3} ", "faint"), *(code or safe_text.spans(piece[2], "ink"))]
