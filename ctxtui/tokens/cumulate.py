"""Cumulative features: what makes the composition of any context O(1) (design §2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ctxtui.core.block import HEADER, Block
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.tree import Node, Tree
from ctxtui.tokens.features import NOTHING, Features, minus, plus

Composition = tuple[Features, ...]
"""Raw features of a context, one entry per category in the order of `CATEGORIES`."""

Parts = Callable[[Node], Sequence[tuple[int, Features]]]
"""Gives the features of a node's block by category index where rules split it, the first part of its text first;
nothing where the whole block belongs to the node's category."""

EMPTY: Final[Composition] = (NOTHING,) * len(CATEGORIES)
_THINKING: Final = INDEX["thinking"]


class Cumulated:
    """Features of every prefix in a tree, for one way of counting.

    `measure` gives the raw features of one block, `parts` shares them out among categories, `reported` holds the tokens
    of nodes that a report tells: they stand in for the features of the block. Counting is the slow part,
    so it is done in slices by `advance`, which a worker thread may call while other threads read `at` for nodes below
    `done`: entries are only appended.
    A header's own features are booked on the first part of its message, so that composition needs no row for headers.
    """

    def __init__(
        self,
        tree: Tree,
        measure: Callable[[Block], Features],
        parts: Parts | None = None,
        reported: Mapping[int, float] | None = None,
    ) -> None:
        self._tree = tree
        self.measure = measure
        """Gives the raw features of one block."""
        self._parts = parts
        self._reported = reported if reported is not None else {}
        self._split: dict[int, tuple[int, ...]] = {}
        self._at: list[Composition] = [EMPTY]
        self._owed: dict[int, Features] = {}

    @property
    def done(self) -> int:
        """Nodes with an id below this are counted."""
        return len(self._at)

    def counted(self, node: int) -> bool:
        """Whether the figures of `node` are known yet."""
        return node < len(self._at)

    def advance(self, limit: int | None = None) -> int:
        """Count up to `limit` further nodes (all that are there by default); returns `done`."""
        first = len(self._at)
        last = len(self._tree) if limit is None else min(len(self._tree), first + limit)
        for node in range(first, last):
            self._at.append(self._next(node))
        return len(self._at)

    def _next(self, id_: int) -> Composition:
        node = self._tree[id_]
        before = self._at[node.parent]
        owed = self.owed(id_)
        if node.block.kind == HEADER:
            self._owed[id_] = plus(self.measure(node.block), owed)
            return before
        mixed = list(before)
        parts = self._parts(node) if self._parts else ()
        if parts:
            self._split[id_] = tuple(category for category, _ in parts)
        for category, own in parts or ((node.category, self._features(node)),):
            mixed[category] = plus(mixed[category], plus(own, owed))
            owed = NOTHING
        return tuple(mixed)

    def revise(self, first: int) -> None:
        """Count the nodes from `first` on again: a report came that tells more of one of them."""
        for node in range(first, len(self._at)):
            self._at[node] = self._next(node)

    def _features(self, node: Node) -> Features:
        told = self._reported.get(node.id)
        return self.measure(node.block) if told is None else Features(reported=told)

    def owed(self, node: int) -> Features:
        """The features of the header before the block of `node`, which count with its first part."""
        return self.outstanding(self._tree[node].parent)

    def outstanding(self, node: int) -> Features:
        """The features of a header that ends the context `node`: the part that comes next will count with it."""
        return self._owed.get(node, NOTHING)

    def categories(self, node: int) -> tuple[int, ...]:
        """The categories in which the block of `node` counts."""
        return self._split.get(node) or (self._tree[node].category,)

    @property
    def split(self) -> list[int]:
        """The nodes whose blocks rules have split, in order."""
        return list(self._split)

    def own(self, node: int) -> Features:
        """The features of the block of `node`, with its message's header where it is the first part. Raises
        `IndexError` while it is not counted."""
        at, before = self._at[node], self._at[self._tree[node].parent]
        total = NOTHING
        for category in self.categories(node):
            total = plus(total, minus(at[category], before[category]))
        return total

    def at(self, node: int) -> Composition:
        """The composition of the whole context `node`. Raises `IndexError` while it is not counted."""
        return self._at[node]


def is_read(tree: Tree, head: int, node: int, *, strips_thinking: bool) -> bool:
    """Whether the provider reads the block of `node` as part of the context `head`: on models that strip
    it, thinking of earlier turns is gone (facts §2)."""
    here = tree[node]
    return not (strips_thinking and here.category == _THINKING and here.turn < tree[head].turn)
