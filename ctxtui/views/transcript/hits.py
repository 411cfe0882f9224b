"""Hits of a search: marked in lines, counted over the rows, told in a sentence."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, overload

from ctxtui.analysis.content.search import Find
from ctxtui.core.tree import Tree
from ctxtui.views.text.span import Span, Spans, plain

STYLE: Final = "accent-ink on-accent"
HERE: Final = "accent-ink on-warn bold underline"
"""The style of the hit at which the search stands."""

Spots = Sequence[tuple[int, int]]
"""The hits of one text: (first character, character behind the last)."""


class HitAt(NamedTuple):
    """One hit: the `nth` (from 0) of the block of `node`, whose text has it at character `start`."""

    node: int
    nth: int
    start: int


def marked(spans: Spans, find: Find, here: int | None = None) -> Spans:
    """`spans` of one line with their hits in `STYLE`, the one with number `here` in `HERE`."""
    return styled(spans, list(find(plain(spans))), here)


def styled(spans: Spans, spots: Spots, here: int | None = None) -> Spans:
    """`spans` with the characters of `spots` (from left to right) in `STYLE`, those of number `here` in `HERE`."""
    if not spots:
        return spans
    out: list[Span] = []
    at = 0
    for text, style in spans:
        done = 0
        for number, (start, end) in enumerate(spots):
            first, last = max(start - at, done), min(end - at, len(text))
            if first >= last:
                continue
            out += [Span(text[done:first], style), Span(text[first:last], HERE if number == here else STYLE)]
            done = last
        out.append(Span(text[done:], style))
        at += len(text)
    return [span for span in out if span.text]


class HitList(Sequence[HitAt]):
    """The hits of the blocks at `nodes` (in the order of their rows) of `tree`, given the `spots` of each block by
    digest. Made in one pass over the nodes, however many hits there are."""

    def __init__(self, tree: Tree, nodes: Iterable[int], spots: Mapping[str, Spots]) -> None:
        self._spots = spots
        self._nodes = [node for node in nodes if node > 0 and tree[node].block.digest in spots] if spots else []
        self._digests = [tree[node].block.digest for node in self._nodes]
        self._ends = list(accumulate(len(spots[digest]) for digest in self._digests))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> HitAt: ...
    @overload
    def __getitem__(self, at: slice) -> list[HitAt]: ...
    def __getitem__(self, at: int | slice) -> HitAt | list[HitAt]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        block = bisect_right(self._ends, at)
        nth = at - (self._ends[block - 1] if block else 0)
        return HitAt(self._nodes[block], nth, self._spots[self._digests[block]][nth][0])

    @property
    def blocks(self) -> int:
        """How many different blocks have hits."""
        return len(set(self._digests))

    def place_of(self, hit: HitAt) -> int | None:
        """The place of `hit` in the list, None where it is not in it."""
        block = next((at for at, node in enumerate(self._nodes) if node == hit.node), None)
        if block is None or hit.nth >= len(self._spots[self._digests[block]]):
            return None
        return (self._ends[block - 1] if block else 0) + hit.nth

    def first_from(self, row: int, row_of: Callable[[int], int]) -> int:
        """The place of the first hit at or below `row` (`row_of` gives a node's); 0 where there is none."""
        block = bisect_left(self._nodes, row, key=row_of)
        return 0 if block == len(self._nodes) or not block else self._ends[block - 1]


def told(at: int | None, count: int, elsewhere: int, done: bool, capped: bool) -> str:
    """How far the search is: hit `at` (from 0) of `count`, and how many blocks `elsewhere` in the session have any."""
    more = "+" if capped else ""
    if count:
        here = f"{at + 1:,} of {count:,}{more}" if at is not None else f"{count:,}{more} hits"
    else:
        here = "no hit here" if elsewhere or not done else "no hit"
    blocks = f", {elsewhere:,} block{'s' if elsewhere != 1 else ''} in other calls or hidden" if elsewhere else ""
    return here + blocks + ("" if done else " ·")
