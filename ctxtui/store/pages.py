"""An order of rows in which they fill SQLite's pages: a sixth of a session's record would else be blank.

Rows are inserted one after another, and a page ends where the next row does not fit. With bodies of a few hundred bytes
to a page's size that wastes much; a small reordering puts rows together that fill a page.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

USABLE: Final = 4096 - 8
"""Bytes of a leaf page for its rows (sqlite.org/fileformat2.html §1.6)."""

_MOST: Final = 4096 - 35
_LEAST: Final = (4096 - 12) * 32 // 255 - 23
_OVERFLOW: Final = 4096 - 4
_HEAD: Final = 2 + 2 + 4
"""A row's pointer, and at most its length and key."""

WINDOW: Final = 128
"""Rows that may change places with each other: near enough to their order for readers, far enough to fill pages."""


def on_leaf(payload: int) -> int:
    """How many bytes of a leaf page a row of `payload` bytes takes; the rest of a long one is elsewhere."""
    if payload > _MOST:
        local = _LEAST + (payload - _LEAST) % _OVERFLOW
        payload = (local if local <= _MOST else _LEAST) + 4
    return payload + _HEAD


def filling_order(payloads: Sequence[int]) -> list[int]:
    """The indexes of rows of `payloads` bytes in an order that fills pages; each stays within its window."""
    order: list[int] = []
    for start in range(0, len(payloads), WINDOW):
        window = range(start, min(start + WINDOW, len(payloads)))
        order += _packed({index: on_leaf(payloads[index]) for index in window})
    return order


def _packed(sizes: dict[int, int]) -> list[int]:
    # Best fit, largest first: every row goes to the page that it leaves the least room in.
    pages: list[list[int]] = []
    room: list[tuple[int, int]] = []
    for index in sorted(sizes, key=lambda i: -sizes[i]):
        size = sizes[index]
        best = bisect_left(room, (size, -1))
        if best < len(room):
            left, page = room.pop(best)
        else:
            left, page = USABLE, len(pages)
            pages.append([])
        pages[page].append(index)
        insort(room, (left - size, page))
    # The fullest last page of one window and the first of the next are neighbours: the emptiest page comes last.
    fullest = [page for _, page in sorted(room)]
    return [index for page in fullest for index in sorted(pages[page])]
