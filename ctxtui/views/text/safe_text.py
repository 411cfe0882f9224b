"""Makes untrusted text safe to draw.

It cannot move the cursor, change direction, hide, or exceed its cells. An escape becomes ``␛``, other controls ``·``, a
soft hyphen ``-``, direction marks and other invisible characters ``⟨U+…⟩``. Characters that only modify their neighbour
(U+FE0F, U+200D) are dropped, because terminals disagree about their width.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ctxtui.views.text import cells
from ctxtui.views.text.span import Span

TAB_CELLS: Final = 4

MAX_LINE_CHARS: Final = 4096
"""`lines` splits longer lines here, as a recording may have 10 MB without a newline.

Replaced characters make them longer.
"""

MAX_SKIPPED_BLANKS: Final = 1 << 16
"""Leading whitespace that `one_line` skips at most; after more, it returns ""."""

_INK = re.compile(r"\S")
_UNSAFE = (
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 less tab, newline, return; DEL; C1
    "\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u17b4\u17b5\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format controls of shorthand and music
    "\U000e0000-\U000e0fff"  # tags: text that is invisible but read by models; variation selectors
    "]"
)
_DROPPED = "[\u034f\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
_HEAP = f"({_MARK}{{3}}){_MARK}+"
"""Three combining marks of a letter, and those after, which could cover other lines."""
_REPLACEMENTS = "␛|⟨U\\+[0-9A-F]{4,6}⟩"


@cache
def unsafe_pattern() -> re.Pattern[str]:
    """Pattern of a character that is never drawn as it is.

    Tab, newline and return are not among them.
    """
    return re.compile(_UNSAFE)


@cache
def _excess_marks() -> re.Pattern[str]:
    return re.compile(_HEAP)


def _replacement(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\x1b":
        return "␛"
    if char < " " or char == "\x7f":
        return "·"
    if char == "\xad":
        return "-"
    return "" if re.match(_DROPPED, char) else f"⟨U+{ord(char):04X}⟩"


def _replace_unsafe(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = unsafe_pattern().sub(_replacement, text)
    return text if text.isascii() else _excess_marks().sub(r"\1", text)


def _add_base(text: str) -> str:
    # A mark without a letter would be drawn over the previous cell.
    return " " + text if text and not text[0].isascii() and cells.width(text[0]) == 0 else text


def one_line(text: str, limit: int = 1024) -> str:
    """The beginning of `text` as one line, with runs of whitespace as one space.

    Uses at most `limit` characters after leading whitespace, without a sign that more follow. It is no width: a
    replaced character becomes up to nine.
    """
    first_ink = _INK.search(text, 0, MAX_SKIPPED_BLANKS)
    if not first_ink:
        return ""
    head = _replace_unsafe(text[first_ink.start() : first_ink.start() + limit])
    return _add_base(" ".join(head.split()))


def plain(text: str) -> str:
    """A whole text for a terminal or a model: tabs stay, line breaks become newlines."""
    return _replace_unsafe(text.replace("\r\n", "\n").replace("\r", "\n"))


def line(text: str) -> str:
    """One line of a text, safe to draw.

    Tabs are expanded to stops of four, line ends within it become ``·``.
    """
    text = _replace_unsafe(text.removesuffix("\r"))
    if "\r" in text or "\n" in text:
        text = text.replace("\r", "·").replace("\n", "·")
    return _add_base(_expand_tabs(text) if "\t" in text else text)


def _expand_tabs(text: str) -> str:
    out: list[str] = []
    used = 0
    for piece in text.split("\t"):
        if out:
            gap = TAB_CELLS - used % TAB_CELLS
            out.append(" " * gap)
            used += gap
        out.append(piece)
        used += cells.width(piece)
    return "".join(out)


def lines(text: str, start: int = 0) -> Iterator[str]:
    """Yield the safe lines of `text` from character `start`, lazily; long ones are split."""
    size = len(text)
    while start < size:
        end = text.find("\n", start, start + MAX_LINE_CHARS)
        if end < 0:
            end = min(size, start + MAX_LINE_CHARS)
        yield line(text[start:end])
        start = end + text.startswith("\n", end)


def wrap(text: str, room: int) -> list[str]:
    """Split a safe line into pieces of at most `room` cells, preferably at a space."""
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
    """Spans of a safe `text` in `style`, its replacements in `shown_style`."""
    out: list[Span] = []
    position = 0
    for match in re.finditer(_REPLACEMENTS, text):
        out += [Span(text[position : match.start()], style), Span(match[0], shown_style)]
        position = match.end()
    return [span for span in [*out, Span(text[position:], style)] if span.text]
