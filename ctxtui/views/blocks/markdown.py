"""Markdown styled line by line; the text stays exactly as written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, merged

Highlight = Callable[[str, str], Iterator[list[Span]]]
"""Highlighter: (safe text, language or file name) -> one list of spans for each line."""

_FENCE: Final = re.compile(r"^\s*(```+|~~~+)\s*([\w+#.-]*)")
_HEAD: Final = re.compile(r"^#{1,6} ")
_ITEM: Final = re.compile(r"^(\s*)([-*+]|\d+[.)])(\s+)(\[[ xX]\] )?")
_QUOTE: Final = re.compile(r"^\s*>+ ?")
_RULE: Final = re.compile(r"^\s*([-*_])(\s*\1){2,}\s*$")
_TABLE: Final = re.compile(r"^\s*\|")
_INLINE: Final = re.compile(
    r"(?P<code>`+[^`\n]+`+)|(?P<bold>\*\*[^*\n]+\*\*|__[^_\n]+__)|(?P<italic>(?<![\w*])\*[^*\s][^*\n]*\*(?!\w))"
    r"|(?P<link>\[[^\]\n]+\]\([^)\n]+\))|(?P<tag></?[A-Za-z][\w:.-]*(?:\s[^<>\n]*)?/?>)"
)
"""Marked text within a line; the group that matches selects the style in `_STYLE`."""
_STYLE: Final = {"code": "cat-call", "bold": "ink bold", "italic": "ink italic", "link": "accent", "tag": "dim"}


def lines(texts: Iterable[str], voice: str = "ink", highlight: Highlight | None = None) -> Iterator[list[Span]]:
    """Style the safe lines `texts` (see `safe_text.lines`) one by one.

    `voice` is the style of plain words. Fenced code is passed to `highlight` with the fence's language.
    """
    remaining = iter(texts)
    for text in remaining:
        fence = _FENCE.match(text)
        if fence is None:
            yield _style_line(text, voice)
            continue
        yield [Span(text, "faint")]
        yield from _style_fenced(remaining, fence[1], fence[2], highlight)


def _style_fenced(
    remaining: Iterator[str], fence: str, language: str, highlight: Highlight | None
) -> Iterator[list[Span]]:
    code: list[str] = []
    closing: str | None = None
    for text in remaining:
        if text.strip().startswith(fence[:3]) and not text.strip().strip(fence[0]):
            closing = text
            break
        code.append(text)
    styled: Iterator[list[Span]] = iter(())
    if highlight and language and code:
        styled = highlight("\n".join(code), language)
    for text in code:
        yield next(styled, []) or safe_text.spans(text, "cat-call")
    if closing is not None:
        yield [Span(closing, "faint")]


def _style_line(text: str, voice: str) -> list[Span]:
    if _HEAD.match(text):
        return [Span(text, "accent bold")]
    if _RULE.match(text):
        return [Span(text, "faint")]
    if _TABLE.match(text):
        return merged(_style_table(text, voice))
    quote = _QUOTE.match(text)
    if quote:
        return merged([Span(quote[0], "faint"), *_style_inline(text[quote.end() :], "dim italic")])
    item = _ITEM.match(text)
    if item:
        return merged([Span(item[0], "accent"), *_style_inline(text[item.end() :], voice)])
    return merged(_style_inline(text, voice))


def _style_table(text: str, voice: str) -> Iterator[Span]:
    for at, cell in enumerate(text.split("|")):
        if at:
            yield Span("|", "faint")
        yield Span(cell, "faint" if cell and not cell.strip(" :-") else voice)


def _style_inline(text: str, voice: str) -> Iterator[Span]:
    position = 0
    for match in _INLINE.finditer(text):
        if match.start() > position:
            yield from safe_text.spans(text[position : match.start()], voice)
        yield from safe_text.spans(match[0], _STYLE[match.lastgroup or ""])
        position = match.end()
    if position < len(text) or not text:
        yield from safe_text.spans(text[position:], voice)
