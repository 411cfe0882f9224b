"""Cell widths of text in a terminal, and text cut to a width.

The table is Unicode 17's (East Asian Wide and Fullwidth are 2, combining marks and format characters 0), interpreted
like the terminal library of this project, so that both measure the same; a test compares the two.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

# Ranges with a width other than 1: distance from the last range's end, length - 1, cells; in hexadecimal.
_TABLE = """
0..0 300.6f.0 114.6.0 108.2c.0 2..0 2.1.0 2.1.0 2..0 49.a.0 2..0 2f.14.0 11..0 66.6.0 3.5.0 3.1.0 2.3.0
24..0 1f.1a.0 5c.a.0 3b.8.0 a..0 19.3.0 2.8.0 2.2.0 2.4.0 2c.2.0 3c.8.0 2b.17.0 2.20.0 37.2.0 2.11.0 2.6.0
b.1.0 1e.2.0 39..0 2.6.0 3.1.0 3.2.0 a..0 b.1.0 1b..0 3.2.0 39..0 2.4.0 5.1.0 3.2.0 4..0 1f.1.0 4..0 c.2.0
39..0 2.7.0 2.2.0 2.2.0 15.1.0 17.5.0 2.2.0 39..0 2.6.0 3.1.0 3.2.0 8.2.0 b.1.0 1f..0 3c.4.0 4.2.0 2.3.0
a..0 29.4.0 38..0 2.6.0 2.2.0 2.3.0 8.1.0 c.1.0 1e.2.0 39..0 2.6.0 2.2.0 2.3.0 8.1.0 c.1.0 10..0 d.3.0
38.1.0 2.6.0 2.2.0 2.3.0 a..0 b.1.0 1e.2.0 47..0 5.5.0 2..0 2.7.0 13.1.0 3e..0 3.6.0 d.7.0 63..0 3.8.0
c.6.0 4a.1.0 1c..0 2..0 2..0 5.1.0 32.13.0 2.1.0 6.a.0 2.23.0 a..0 65.13.0 18.3.0 5.2.0 2.2.0 3.6.0 4.3.0
e.b.0 2..0 b.3.0 63.5f.2 1.9f.0 15e.2.0 3b3.3.0 1d.2.0 1e.1.0 1f.1.0 41.1f.0 a..0 2e.4.0 76.1.0 23..0
77.b.0 5.b.0 dc.4.0 3a.9.0 2.1c.0 3..0 31.2d.0 3.b.0 15.4.0 30.10.0 27.8.0 d.2.0 1f.c.0 39.d.0 31.13.0
99.2.0 2.14.0 5..0 7..0 3.2.0 c7.3f.0 20c.4.0 19.6.0 32.f.0 61.20.0 22a.1.2 e.1.2 bf.3.2 4..2 3..2 20a.1.2
16.1.2 1b.7.2 11.b.2 2c..2 b.5.2 4..2 e..2 9.1.2 12.1.2 6.1.2 9..2 6..2 16..2 8.1.2 2..2 5..2 3..2 8..2
5.1.2 1d..2 24..2 2..2 5.2.2 2..2 3e.2.2 19..2 f..2 35c.1.2 34..2 5..2 19a.2.0 8e..0 61.1f.0 81.19.2
2.58.2 d.d5.2 1b.39.2 1.5.0 1.e.2 3.55.2 3.1.0 1.64.2 6.2a.2 2.32.2 1..0 1.29.2 2.55.2 a.2f.2 2.27.2
9.723c.2 4.36.2 1a9.3.0 2.9.0 21.1.0 51.1.0 111..0 4..0 5..0 18.4.0 5..0 54.1.0 33.11.0 1b.11.0 e..0
27.7.0 1a.c.0 d.1c.2 4.3.0 30.d.0 25..0 44.d.0 d..0 9.1.0 2e.2.0 33..0 2.2.0 3.1.0 6.1.0 2..0 2a.4.0 6.1.0
ed.7.0 2.1.0 13.2ba3.2 d.4f.0 2101.1ff.2 1f..0 2e2.f.0 1.9.2 7.f.0 1.22.2 2.12.2 2.3.2 94..0 2.5f.2 40..0
40.6.2 a.b.0 202..0 e3..0 96.4.0 687.2.0 2.1.0 6.3.0 29.2.0 5..0 a6.1.0 23e.3.0 42.4.0 13e.1.0 4e.5.0
47.a.0 32.3.0 7b.2.0 36.e.0 2a..0 3.1.0 b.3.0 2e.a.0 8..0 3e.2.0 25.d.0 11.1.0 2d..0 d.2.0 31.d.0 9.3.0
2.1.0 5d.b.0 7..0 3..0 9e.b.0 16.3.0 38.1.0 2.6.0 3.1.0 3.2.0 a..0 b.1.0 3.6.0 4.4.0 44.8.0 2..0 3..0
2.3.0 2.4.0 2..0 f.1.0 53.11.0 18..0 52.13.0 ec.6.0 3.8.0 1c.1.0 53.10.0 6b.c.0 66.e.0 101.e.0 f6.5.0
2.1.0 3.3.0 2..0 2.1.0 8e.6.0 3.6.0 4..0 1d.9.0 29.6.0 2.3.0 9..0 a.a.0 2f.f.0 c7.7.0 c8.7.0 2.7.0 53.15.0
2.d.0 7b.5.0 4..0 2.1.0 2.6.0 2..0 43.4.0 2.1.0 2.4.0 15c.3.0 a.1.0 2..0 31.6.0 4.4.0 18..0 14d6.10.0
7.e.0 2cc9.11.0 9c1.4.0 3c.6.0 419..0 2.36.0 8.3.0 4e.3.2 1..0 c.1.0 1.4.2 a.1cd5.2 2a.1f.2 62.72.2
21fe.3.2 2.6.2 2.1.2 2.122.2 10..2 1e.2.2 3..2 f.3.2 9.18b.2 9a2.1.0 2.3.0 125d.2d.0 3.16.0 21f.4.0 4.15.0
3.6.0 1f.3.0 95.2.0 bc.56.2 a.16.2 68a.36.0 5.31.0 9..0 f..0 17.4.0 2.e.0 551.6.0 2.10.0 3.6.0 2.1.0 2.4.0
65..0 a1.6.0 178..0 3e.3.0 1fd.3.0 ff.1.0 f4..0 3..0 8.1.0 6..0 1db.6.0 6e.6.0 6ba..2 cb..2 bf..2 3.9.2
66.2.2 e.2b.2 5.8.2 8.1.2 f.5.2 9b.20.2 d.8.2 2.45.2 2.15.2 d.2a.2 5.4.2 d.10.2 4..2 4.2.2 1.4.0 1.3e.2
2..2 2.ba.2 3.3e.2 e.3.2 2.17.2 13..2 1b.1.2 e..2 57.54.2 31.45.2 7..2 4.2.2 3.3.2 4.3.2 c.1.2 8.8.2
e4.b.2 5..2 11c.2e.2 2.9.2 2.b8.2 71.c.2 4.a.2 4.38.2 2..2 5.f.2 3.b.2 5.9.2 508.fffd.2 3.fffd.2
a0003.fff.0
"""


@cache
def _ranges() -> tuple[list[int], list[int], list[int]]:
    starts, ends, widths, at = [], [], [], 0
    for entry in _TABLE.split():
        skip, length, cells = entry.split(".")
        starts.append(at + int(skip, 16))
        at = starts[-1] + int(length or "0", 16)
        ends.append(at)
        widths.append(int(cells))
    return starts, ends, widths


class _Widths(dict[str, int]):
    """Cells of each character, cached: a lookup in C instead of a search."""

    def __missing__(self, character: str) -> int:
        code = ord(character)
        starts, ends, widths = _ranges()
        at = bisect_right(starts, code) - 1
        cell_count = widths[at] if at >= 0 and code <= ends[at] else 1
        if code < 0x20 or 0x7F <= code < 0xA0:
            cell_count = 0
        self[character] = cell_count
        return cell_count


_WIDTHS = _Widths()


def width(text: str) -> int:
    """Number of cells of `text`: 0, 1 or 2 for each character."""
    if text.isascii() and text.isprintable():
        return len(text)
    # Single signs occur many times on each line.
    return sum(map(_WIDTHS.__getitem__, text)) if len(text) > 1 else _WIDTHS[text]


def reach(text: str, start: int, room: int) -> int:
    """Index of the first character from `start` on that does not fit in `room` cells.

    The text's length if all fit.
    """
    if room <= 0:
        return start
    if text[start : start + room].isascii():
        return min(len(text), start + room)
    for at in range(start, len(text)):
        room -= _WIDTHS[text[at]]
        if room < 0:
            return at
    return len(text)


def cut(text: str, room: int) -> str:
    """The first `room` cells of `text`; a space fills half a wide character."""
    end = reach(text, 0, room)
    if end == len(text):
        return text
    head = text[:end]
    return head + " " * (room - width(head)) if room > 0 else ""


def tail(text: str, room: int) -> str:
    """The last `room` cells of `text`, without half a character or a mark without its letter."""
    last = text[-room:] if room > 0 else ""
    if not last or last.isascii():
        return last
    at = len(text)
    while at and (room := room - _WIDTHS[text[at - 1]]) >= 0:
        at -= 1
    while at < len(text) and not _WIDTHS[text[at]]:
        at += 1
    return text[at:]


def fit(text: str, room: int) -> str:
    """`text` if it fits in `room` cells, else its beginning and ``…``."""
    if room <= 0:
        return ""
    head = text[: 4 * room + 16]
    if width(head) <= room and (len(head) == len(text) or width(text) <= room):
        return text
    return cut(text, room - 1) + "…"


def ends(text: str, room: int) -> str:
    """`text` if it fits in `room` cells, else without its middle.

    Most of the end is kept, for paths.
    """
    if width(text) <= room:
        return text
    last = tail(text, (room - 1) * 2 // 3)
    return f"{cut(text, room - 1 - width(last)).rstrip()}…{last}" if room > 0 else ""


def left(text: str, room: int) -> str:
    """Left-align `text`, shortened or padded to exactly `room` cells."""
    text = fit(text, room)
    return text + " " * (room - width(text))


def right(text: str, room: int) -> str:
    """Right-align `text`, shortened or padded to exactly `room` cells."""
    text = fit(text, room)
    return " " * (room - width(text)) + text
