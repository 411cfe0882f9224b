"""Search hits: highlighted in lines, counted over rows, and summarized."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, overload

from ctxtui.analysis.content.search import Find
from ctxtui.core.tree import Tree
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans, plain

HIT_STYLE: Final = "accent-ink on-accent"
CURRENT_HIT_STYLE: Final = "accent-ink on-warn bold underline"

Spots = Sequence[tuple[int, int]]
"""Hits in a text, as characters (start, end)."""


class HitAt(NamedTuple):
    """One hit: the `nth` (from 0) in `node`'s block, at character `start` of its text."""

    node: int
    nth: int
    start: int


def highlight(spans: Spans, find: Find) -> Spans:
    """Highlight the hits in `spans` of one line."""
    return highlight_ranges(spans, list(find(plain(spans))), None)


def highlight_ranges(spans: Spans, spots: Spots, here: int | None) -> Spans:
    """Highlight the characters `spots` (left to right) in `spans`.

    Number `here` is the current hit.
    """
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
            out += [
                Span(text[done:first], style),
                Span(text[first:last], CURRENT_HIT_STYLE if number == here else HIT_STYLE),
            ]
            done = last
        out.append(Span(text[done:], style))
        at += len(text)
    return [span for span in out if span.text]


class HitList(Sequence[HitAt]):
    """The hits of the blocks at `nodes`, in row order.

    `spots` has those of each block by digest.
    """

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
            return [self[index] for index in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        block = bisect_right(self._ends, at)
        nth = at - (self._ends[block - 1] if block else 0)
        return HitAt(self._nodes[block], nth, self._spots[self._digests[block]][nth][0])

    @property
    def blocks(self) -> int:
        return len(set(self._digests))

    def index_of(self, hit: HitAt) -> int | None:
        block = next((at for at, node in enumerate(self._nodes) if node == hit.node), None)
        if block is None or hit.nth >= len(self._spots[self._digests[block]]):
            return None
        return (self._ends[block - 1] if block else 0) + hit.nth

    def first_from(self, row: int, row_of: Callable[[int], int]) -> int:
        """Index of the first hit at or below `row`, else 0; `row_of` maps nodes to rows."""
        block = bisect_left(self._nodes, row, key=row_of)
        return 0 if block == len(self._nodes) or not block else self._ends[block - 1]


def describe_progress(at: int | None, count: int, elsewhere: int, done: bool, capped: bool) -> str:
    """Search status: hit `at` (from 0; None: none chosen) of `count`.

    `elsewhere`: number of blocks with hits that are not in the rows. `done`: everything is searched. `capped`: there
    are more hits than `count`.
    """
    more = "+" if capped else ""
    if count:
        position = f"{at + 1:,} of {count:,}{more}" if at is not None else f"{count:,}{more} hits"
    else:
        position = "no hit here" if elsewhere or not done else "no hit"
    blocks = f", {numbers.many(elsewhere, 'block')} in other calls or hidden" if elsewhere else ""
    return position + blocks + ("" if done else " ·")
