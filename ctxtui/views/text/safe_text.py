"""Untrusted text made safe to draw: nothing in it can move the cursor, change direction, hide or outgrow its cells.

Escapes and direction marks are shown (``␛``, ``⟨U+202E⟩``), other control characters are ``·``; what only changes the
look of its neighbour (U+FE0F, U+200D) is dropped, because terminals disagree about its width.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ctxtui.views.text import cells
from ctxtui.views.text.span import Span

TAB: Final = 4
"""Cells between tab stops."""

LONGEST: Final = 4096
"""Characters of a line drawn as one; a longer line is broken (a recording may hold 10 MB without a newline)."""

_SKIP: Final = 1 << 16
"""How many blanks at the beginning of a text `one_line` looks behind."""

_INK = re.compile(r"\S")
_UNSAFE = (
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 less tab, newline, return; DEL; C1
    "\u00ad\u034f\u061c\u115f\u1160\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"  # tags: text that people do not see and models read; variation selectors
    "]"
)
_DROPPED = "[\u034f\u180b-\u180d\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
_HEAP = f"({_MARK}{{3}}){_MARK}+"
_SHOWN = "␛|⟨U\\+[0-9A-F]{4,6}⟩"


@cache
def unsafe() -> re.Pattern[str]:
    """A character that is never drawn as it is; tab, newline and return are not among them. Compiled when there is text
    to look through that is not plain."""
    return re.compile(_UNSAFE)


@cache
def _heap() -> re.Pattern[str]:
    return re.compile(_HEAP)


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\x1b":
        return "␛"
    if char < " " or char == "\x7f":
        return "·"
    if char == "\xad":
        return "-"
    return "" if re.match(_DROPPED, char) else f"⟨U+{ord(char):04X}⟩"


def _safe(text: str) -> str:
    """`text` with everything unsafe replaced; tab, newline and return are left to the caller."""
    if text.isascii() and text.isprintable():
        return text
    text = unsafe().sub(_shown, text)
    return text if text.isascii() else _heap().sub(r"\1", text)


def _headed(text: str) -> str:
    # A mark without a letter would land on the cell before it.
    return " " + text if text and not text[0].isascii() and cells.width(text[0]) == 0 else text


def one_line(text: str, limit: int = 1024) -> str:
    """The beginning of `text` as one line: runs of blanks and newlines are one space, at most `limit` characters read.

    What is longer than the room it gets is cut by `cells.fit`; `limit` must be well above that room.
    """
    found = _INK.search(text, 0, _SKIP)
    if not found:
        return ""
    head = _safe(text[found.start() : found.start() + limit])
    return _headed(" ".join(head.split()))


def plain(text: str) -> str:
    """A whole text for a terminal or a model: tabs and line breaks stay, everything else shows what it is."""
    return _safe(text.replace("\r\n", "\n").replace("\r", "\n"))


def line(text: str) -> str:
    """One line of a text: tabs expanded to stops of four, a final return dropped, a newline in it shown as ``·``."""
    text = _safe(text.removesuffix("\r"))
    if "\r" in text or "\n" in text:
        text = text.replace("\r", "·").replace("\n", "·")
    return _headed(_untabbed(text) if "\t" in text else text)


def _untabbed(text: str) -> str:
    out: list[str] = []
    used = 0
    for piece in text.split("\t"):
        if out:
            gap = TAB - used % TAB
            out.append(" " * gap)
            used += gap
        out.append(piece)
        used += cells.width(piece)
    return "".join(out)


def lines(text: str, start: int = 0) -> Iterator[str]:
    """The lines of `text` from character `start`, safe, one after the other and only as far as they are asked for.

    A final newline ends the last line and begins none. A line of more than `LONGEST` characters comes in pieces.
    """
    size = len(text)
    while start < size:
        end = text.find("\n", start, start + LONGEST)
        if end < 0:
            end = min(size, start + LONGEST)
            yield line(text[start:end])
            start = end + 1 if text.startswith("\n", end) else end
        else:
            yield line(text[start:end])
            start = end + 1


def wrap(text: str, room: int) -> list[str]:
    """A safe line in pieces of at most `room` cells, broken at a space where one stands in the second half."""
    out: list[str] = []
    start = 0
    while (end := cells.reach(text, start, room)) < len(text):
        end = max(end, start + 1)
        space = text.rfind(" ", start + room // 2, end + 1)
        if space > start:
            out.append(text[start:space])
            start = space + 1
        else:
            out.append(text[start:end])
            start = end
    return [*out, text[start:]] if start < len(text) or not out else out


def spans(text: str, style: str, shown_style: str = "warn") -> list[Span]:
    """Safe `text` in `style`, with what stands for an escape or a direction mark in `shown_style`."""
    if "␛" not in text and "⟨U+" not in text:
        return [Span(text, style)]
    out: list[Span] = []
    at = 0
    for found in re.finditer(_SHOWN, text):
        out += [Span(text[at : found.start()], style), Span(found[0], shown_style)]
        at = found.end()
    return [span for span in [*out, Span(text[at:], style)] if span.text]
