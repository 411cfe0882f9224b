"""Cumulative features: what makes the composition of any context O(1) (design §2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.core.block import HEADER, Block
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.tree import Tree
from ctxtui.tokens.features import NOTHING, Features, plus

Composition = tuple[Features, ...]
"""Raw features of a context, one entry per category in the order of `CATEGORIES`."""

EMPTY: Final[Composition] = (NOTHING,) * len(CATEGORIES)
_THINKING: Final = INDEX["thinking"]


class Cumulated:
    """Features of every prefix in a tree, for one way of counting.

    `measure` gives the raw features of one block. Counting is the slow part, so it is done in slices by `advance`,
    which a worker thread may call while other threads read `at` for nodes below `done`: entries are only appended.
    A header's own features are booked on the first part of its message, so that composition needs no row for headers.
    """

    def __init__(self, tree: Tree, measure: Callable[[Block], Features]) -> None:
        self._tree = tree
        self.measure = measure
        """Gives the raw features of one block."""
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
        owed = self._owed.get(node.parent, NOTHING)
        own = plus(self.measure(node.block), owed)
        if node.block.kind == HEADER:
            self._owed[id_] = own
            return before
        mixed = list(before)
        mixed[node.category] = plus(before[node.category], own)
        return tuple(mixed)

    def at(self, node: int) -> Composition:
        """The composition of the whole context `node`. Raises `IndexError` while it is not counted."""
        return self._at[node]


def is_read(tree: Tree, head: int, node: int, *, strips_thinking: bool) -> bool:
    """Whether the provider reads the block of `node` as part of the context `head`: on models that strip
    it, thinking of earlier turns is gone (facts §2)."""
    here = tree[node]
    return not (strips_thinking and here.category == _THINKING and here.turn < tree[head].turn)
