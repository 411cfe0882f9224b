"""Source text as lines: plain, highlighted, or numbered as `cat -n` prints a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans

HIGHLIGHT_CHARS: Final = 200_000
"""Characters of code that are highlighted; the rest is shown plain."""
_CAT_N: Final = re.compile(r"^\s*(\d+)(?:→|\t)(.*)$")
"""A numbered line: its number, ``→`` or a tab, its text."""


def is_numbered(text: str) -> bool:
    """Whether the first line of `text` has a number before it, as `cat -n` prints."""
    return _CAT_N.match(text[: 1 << 12].split("\n", 1)[0]) is not None


def plain_lines(text: str) -> Iterator[str]:
    """Yield the lines of a source text, safe to draw, split as `styled_lines` splits them."""
    yield from safe_text.lines(text[:HIGHLIGHT_CHARS])
    if len(text) > HIGHLIGHT_CHARS:
        yield from safe_text.lines(text, HIGHLIGHT_CHARS)


def styled_lines(text: str, hint: str, highlight: Highlight) -> Iterator[Spans]:
    """Yield source lines as spans, highlighted up to `HIGHLIGHT_CHARS`.

    A line that reaches beyond is split there. `hint`: the file's path or the language, for the highlighter.
    """
    head = text[:HIGHLIGHT_CHARS]
    styled = highlight("\n".join(safe_text.lines(head)), hint)
    yield from styled
    if len(text) > HIGHLIGHT_CHARS:
        yield from (safe_text.spans(line, "ink") for line in safe_text.lines(text, HIGHLIGHT_CHARS))


def numbered_lines(text: str, hint: str, highlight: Highlight | None) -> Iterator[Spans]:
    """Yield the lines of a file printed by a tool with line numbers.

    Numbers are in a column, the rest is code. Lines without a number are dim. `hint` as in `styled_lines`; "" or
    `highlight` None: without colours.
    """
    pieces = [_CAT_N.match(line) for line in text[:HIGHLIGHT_CHARS].split("\n")]
    bare = "\n".join(safe_text.line(piece[2] if piece else "") for piece in pieces)
    styled: Iterator[list[Span]] = highlight(bare, hint) if highlight and hint else iter(())
    for line in safe_text.lines(text):
        piece = _CAT_N.match(line)
        code = next(styled, [])
        if piece is None:
            yield safe_text.spans(line, "dim")
        else:
            yield [Span(f"{piece[1]:>3} ", "faint"), *(code or safe_text.spans(piece[2], "ink"))]
