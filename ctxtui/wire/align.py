"""Which items of an edited request were in the one before it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ctxtui.core.block import Item

_Key = tuple[str, str, str]


def _key(item: Item) -> _Key:
    return item.block.digest, item.place.section, item.place.role


def align(old: Sequence[Item], new: Sequence[Item]) -> list[int | None]:
    """For each new item the index of the old item that it is, None for one that was not there; order is kept.

    The common beginning and end are matched first; between them each item takes the next old one that equals it.
    """
    a, b = [_key(item) for item in old], [_key(item) for item in new]
    front = _common(a, b)
    back = _common(a[front:][::-1], b[front:][::-1])
    found: list[int | None] = list(range(front))
    places: dict[_Key, list[int]] = {}
    for n in range(front, len(a) - back):
        places.setdefault(a[n], []).append(n)
    last = front - 1
    for key in b[front : len(b) - back]:
        options = places.get(key, [])
        at = bisect_right(options, last)
        if at < len(options):
            last = options[at]
            found.append(last)
        else:
            found.append(None)
    return [*found, *range(len(a) - back, len(a))]


def _common(a: Sequence[_Key], b: Sequence[_Key]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def replaced(old: Sequence[Item], new: Sequence[Item], found: Sequence[int | None]) -> dict[int, int]:
    """New items that stand exactly where old ones stood: by new index the old one. A marker stays at its place when
    the block under it is replaced."""
    pairs: dict[int, int] = {}
    n, before = 0, -1
    while n < len(new):
        known = found[n]
        if known is not None:
            n, before = n + 1, known
            continue
        end = n
        while end < len(new) and found[end] is None:
            end += 1
        after = found[end] if end < len(new) else len(old)
        if after is not None and after - before - 1 == end - n:
            pairs |= {i: before + 1 + i - n for i in range(n, end)}
        n = end
    return {i: j for i, j in pairs.items() if new[i].place.section == old[j].place.section}
