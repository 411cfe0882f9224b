"""Alignment of two sequences.

Equal ends are taken off. Then items that occur once on both sides are anchors (patience diff). Only short stretches
between them are searched for the longest match, which is quadratic.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

_MAX_SEARCHED_PAIRS: Final = 40_000
"""Pairs of items up to which the longest match between two stretches is searched."""

Range = tuple[int, int]
"""First index, and the one after the last."""


def align(a: Sequence[Hashable], b: Sequence[Hashable]) -> Iterator[tuple[Range, Range]]:
    """Yield ranges of `a` and `b` in order that cover both.

    Each pair of ranges is equal, or has no common items that were found.
    """
    todo = [((0, len(a)), (0, len(b)))]
    while todo:
        (start, end), (first, last) = todo.pop()
        head = _count_equal(a, b, start, first, min(end - start, last - first))
        if head:
            yield (start, start + head), (first, first + head)
            start, first = start + head, first + head
        tail = _count_equal_back(a, b, end, last, min(end - start, last - first))
        if tail:
            todo.append(((end - tail, end), (last - tail, last)))
            end, last = end - tail, last - tail
        if start == end and first == last:
            continue
        cuts = _find_cuts(a, b, (start, end), (first, last))
        if not cuts:
            yield (start, end), (first, last)
            continue
        todo += reversed(_ranges_between(cuts, (start, end), (first, last)))


def _count_equal(a: Sequence[Hashable], b: Sequence[Hashable], i: int, j: int, limit: int) -> int:
    count = 0
    while count < limit and a[i + count] == b[j + count]:
        count += 1
    return count


def _count_equal_back(a: Sequence[Hashable], b: Sequence[Hashable], i: int, j: int, limit: int) -> int:
    count = 0
    while count < limit and a[i - count - 1] == b[j - count - 1]:
        count += 1
    return count


def _ranges_between(cuts: Sequence[tuple[int, int]], range_a: Range, range_b: Range) -> list[tuple[Range, Range]]:
    """The ranges that begin at each cut, and the one before the first."""
    starts = [(range_a[0], range_b[0]), *cuts] if cuts[0] != (range_a[0], range_b[0]) else list(cuts)
    ends = [*starts[1:], (range_a[1], range_b[1])]
    return [((i, end), (j, last)) for (i, j), (end, last) in zip(starts, ends, strict=True)]


def _find_cuts(a: Sequence[Hashable], b: Sequence[Hashable], range_a: Range, range_b: Range) -> list[tuple[int, int]]:
    """Pair equal items that occur once, rising on both sides, else the longest match."""
    (start, end), (first, last) = range_a, range_b
    counts_a, counts_b = Counter(a[start:end]), Counter(b[first:last])
    index_in_b = {item: j for j, item in enumerate(b[first:last], first) if counts_b[item] == 1}
    pairs = [
        (i, index_in_b[item])
        for i, item in enumerate(a[start:end], start)
        if counts_a[item] == 1 and item in index_in_b
    ]
    if pairs:
        return _longest_rising(pairs)
    if (end - start) * (last - first) > _MAX_SEARCHED_PAIRS or counts_a.keys().isdisjoint(counts_b):
        return []

    match = SequenceMatcher(None, a[start:end], b[first:last], autojunk=False).find_longest_match()
    return [(start + match.a, first + match.b)] if match.size else []


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs` (rising in the first member) that rises in the second one too."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        rank = bisect_left(tops, j)
        before.append(ends[rank - 1] if rank else -1)
        if rank == len(tops):
            tops.append(j)
            ends.append(number)
        else:
            tops[rank], ends[rank] = j, number
    chain, last = [], ends[-1]
    while last >= 0:
        chain.append(pairs[last])
        last = before[last]
    return chain[::-1]
