"""Source text as lines: plain, highlighted, or numbered as `cat -n` prints a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans

HIGHLIGHT_CHARS: Final = 200_000
"""Characters of code that are highlighted; the rest is shown plain."""
_CAT_N: Final = re.compile(r"^\s*(\d+)(?:→|\t)(.*)$")


def is_numbered(text: str) -> bool:
    """Whether the first line of `text` has a number before it, as `cat -n` prints."""
    return _CAT_N.match(text[: 1 << 12].split("\n", 1)[0]) is not None


def plain_lines(text: str) -> Iterator[str]:
    """Yield the lines of a source text, safe to draw, split as `styled_lines` splits them."""
    yield from safe_text.lines(text[:HIGHLIGHT_CHARS])
    if len(text) > HIGHLIGHT_CHARS:
        yield from safe_text.lines(text, HIGHLIGHT_CHARS)


def styled_lines(text: str, hint: str, highlight: Highlight) -> Iterator[Spans]:
    """Yield source lines as spans; `hint` is the file's path or the language.

    A line that reaches beyond `HIGHLIGHT_CHARS` is split there.
    """
    head = text[:HIGHLIGHT_CHARS]
    styled = highlight("\n".join(safe_text.lines(head)), hint)
    yield from styled
    if len(text) > HIGHLIGHT_CHARS:
        yield from (safe_text.spans(line, "ink") for line in safe_text.lines(text, HIGHLIGHT_CHARS))


def numbered_lines(text: str, hint: str, highlight: Highlight | None) -> Iterator[Spans]:
    """Yield the lines of a file that a tool printed with line numbers; other lines are dim.

    `hint` as in `styled_lines`; "" or `highlight` None: without colours.
    """
    end = text.rfind("\n", 0, HIGHLIGHT_CHARS) + 1 if len(text) > HIGHLIGHT_CHARS else len(text)
    head = list(_split_numbers(text[:end]))
    code = "\n".join("" if number is None else line for number, line in head)
    styled: Iterator[list[Span]] = highlight(code, hint) if highlight and hint else iter(())
    for number, line in chain(head, _split_numbers(text[end:])):
        spans = next(styled, [])
        if number is None:
            yield safe_text.spans(line, "dim")
        else:
            yield [Span(f"{number:>3} ", "faint"), *(spans or safe_text.spans(line, "ink"))]


def _split_numbers(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield number and safe text of each line.

    "" for the rest of a long line, None without a number.
    """
    for line in text.removesuffix("\n").split("\n") if text else ():
        match = _CAT_N.match(line)
        number, code = (match[1], match[2]) if match else (None, line)
        for part in list(safe_text.lines(code)) or [""]:
            yield number, part
            number = number and ""
