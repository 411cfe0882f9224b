"""A body told by one before it: agents send their whole history again with every request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_STEP = 1 << 16


class Likeness(NamedTuple):
    """The `head` first and `tail` last bytes of a body are those of the one with this `number`."""

    number: int
    head: int
    tail: int


def common_head(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    end = min(len(one), len(other))
    at = 0
    step = _STEP
    while at < end:
        stop = min(end, at + step)
        if one[at:stop] == other[at:stop]:
            at = stop
        elif stop - at == 1:
            return at
        else:
            # It lies in here: half of it, and half of that.
            step = max(1, (stop - at) // 2)
    return at


def common_tail(one: bytes, other: bytes, most: int) -> int:
    """How many bytes both end with, at most `most`."""
    end = min(len(one), len(other), most)
    at = 0
    step = _STEP
    while at < end:
        stop = min(end, at + step)
        if one[len(one) - stop : len(one) - at] == other[len(other) - stop : len(other) - at]:
            at = stop
        elif stop - at == 1:
            return at
        else:
            step = max(1, (stop - at) // 2)
    return at


def likest(body: bytes, before: Sequence[bytes]) -> Likeness | None:
    """Which of the bodies `before` spares most of `body`; None where none spares a third. Cuts lie between characters
    of UTF-8."""
    best: Likeness | None = None
    for number, other in enumerate(before):
        head = common_head(body, other)
        while head and head < len(body) and body[head] & 0xC0 == 0x80:
            head -= 1
        tail = common_tail(body, other, min(len(body), len(other)) - head)
        while tail and body[len(body) - tail] & 0xC0 == 0x80:
            tail -= 1
        if best is None or head + tail > best.head + best.tail:
            best = Likeness(number, head, tail)
    return best if best is not None and 3 * (best.head + best.tail) > len(body) else None
