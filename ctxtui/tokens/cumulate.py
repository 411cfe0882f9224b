"""Adds up features of blocks along the tree: the composition of any context is then O(1)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ctxtui.core.block import HEADER, Block
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import Node, Tree
from ctxtui.tokens.features import NOTHING, Features, minus, plus
from ctxtui.tokens.weights import Weights, weigh

_NOT_WEIGHED: Final = -(2**62)
_ROWS_AT_ONCE: Final = 4096


class WholeTokens:
    """Tokens of contexts by category, as whole numbers. Thread-safe."""

    def __init__(self, rows: FeatureRows, weights: Weights) -> None:
        self.rows = rows
        self.weights = weights
        self._weighed = array("q")

    def tokens_at(self, number: int) -> tuple[int, ...]:
        """Tokens by category of context `number`. Raises `IndexError` while it is not counted."""
        weighed, rows = self._weighed, self.rows.rows_at(number)
        try:
            values = [weighed[row] for row in rows]
        except IndexError:
            self._allocate(max(rows))
            values = [weighed[row] for row in rows]
        if _NOT_WEIGHED in values:
            values = [self._weigh_row(row) for row in rows]
        return tuple(values)

    def category_tokens(self, number: int, category: int) -> int:
        row = self.rows.row_at(number, category)
        self._allocate(row)
        return self._weigh_row(row)

    def _weigh_row(self, row: int) -> int:
        value = self._weighed[row]
        if value == _NOT_WEIGHED:
            value = self._weighed[row] = round(weigh(self.rows.values(row), self.weights))
        return value

    def _allocate(self, row: int) -> None:
        size = len(self._weighed)
        if row >= size:
            # Two threads that extend at once only allocate too much.
            self._weighed.extend([_NOT_WEIGHED] * (row + _ROWS_AT_ONCE - size))


Composition = tuple[Features, ...]
"""Raw features of a context, one entry per category in the order of `CATEGORIES`."""


class FeatureRows:
    """Compositions of contexts by number, from 0 (the empty one).

    One thread may add while others read.
    """

    def __init__(self) -> None:
        self._of: list[tuple[int, ...]] = [(0,) * len(CATEGORIES)]
        """The row of each category, by context."""
        self._rows: list[Features] = [NOTHING]

    def __len__(self) -> int:
        return len(self._of)

    def add_same(self, source: int) -> None:
        self._of.append(self._of[source])

    def add(self, before: int, more: Iterable[tuple[int, Features]]) -> None:
        self._of.append(self._extend(before, more))

    def replace(self, number: int, before: int, more: Iterable[tuple[int, Features]]) -> None:
        self._of[number] = self._extend(before, more)

    def replace_same(self, number: int, source: int) -> None:
        self._of[number] = self._of[source]

    def _extend(self, before: int, more: Iterable[tuple[int, Features]]) -> tuple[int, ...]:
        extended = list(self._of[before])
        for category, features in more:
            self._rows.append(plus(self._rows[extended[category]], features))
            extended[category] = len(self._rows) - 1
        return tuple(extended)

    def composition_at(self, number: int) -> Composition:
        return tuple([self._rows[row] for row in self._of[number]])

    def features_at(self, number: int, category: int) -> Features:
        return self._rows[self._of[number][category]]

    def rows_at(self, number: int) -> Sequence[int]:
        return self._of[number]

    def row_at(self, number: int, category: int) -> int:
        return self._of[number][category]

    def values(self, row: int) -> Features:
        return self._rows[row]


Parts = Callable[[Node], Sequence[tuple[int, Features]]]
"""Splits a node's block into features by category index, the first part of its text first; empty: not split."""

_MAX_WEIGHTS: Final = 8
"""Weights for which whole tokens are cached."""


class _HeaderFeatures:
    """Features of headers by node, for the block after it; a session has few distinct ones."""

    def __init__(self) -> None:
        self._of = array("i")
        """By node, the number of its features from 1; 0 for none."""
        self._several: list[Features] = []
        self._numbers: dict[Features, int] = {}

    def features_after(self, node: int) -> Features:
        number = self._of[node] if node < len(self._of) else 0
        return self._several[number - 1] if number else NOTHING

    def put(self, node: int, features: Features) -> None:
        number = self._numbers.get(features)
        if number is None:
            self._several.append(features)
            number = self._numbers[features] = len(self._several)
        if node >= len(self._of):
            self._of.frombytes(bytes(self._of.itemsize * (node + 1 - len(self._of))))
        self._of[node] = number


class Cumulated:
    """Features of every prefix in a tree, for one way of counting.

    - `parts`: splits a block's features among categories (None: all go to the block's own category).
    - `reported`: reported tokens by node, instead of the features of the block.
    - `alike`: reported tokens by the block's digest, for nodes that `reported` lacks.

    A worker thread may call `advance` while other threads read nodes below `done`. A header counts with the next block.
    """

    def __init__(
        self,
        tree: Tree,
        measure: Callable[[Block], Features],
        parts: Parts | None = None,
        reported: Mapping[int, float] | None = None,
        alike: Mapping[str, float] | None = None,
    ) -> None:
        self._tree = tree
        self.measure = measure
        self._parts = parts
        self._reported = reported if reported is not None else {}
        self._alike = alike if alike is not None else {}
        self._split: dict[int, tuple[int, ...]] = {}
        self._rows = FeatureRows()
        self._owed = _HeaderFeatures()
        self._alone: dict[str, Features] = {}
        """Features by digest of headers that do not follow another header."""
        self._whole: dict[int, WholeTokens] = {}

    @property
    def done(self) -> int:
        """Nodes with an id below this are counted."""
        return len(self._rows)

    def is_counted(self, node: int) -> bool:
        return node < len(self._rows)

    def advance(self, limit: int | None = None) -> int:
        """Count up to `limit` further nodes (None: all); returns `done`."""
        rows = self._rows
        first = len(rows)
        last = len(self._tree) if limit is None else min(len(self._tree), first + limit)
        for node in self._tree.nodes(first, last):
            more = self._added_features(node)
            if more is None:
                rows.add_same(node.parent)
            else:
                rows.add(node.parent, more)
        return len(rows)

    def _added_features(self, node: Node) -> list[tuple[int, Features]] | None:
        """Features that `node` adds, with category indexes; None for a header."""
        pending = self._owed.features_after(node.parent)
        if node.block.kind == HEADER:
            features = self._alone.get(node.block.digest) if pending is NOTHING else None
            if features is None:
                features = plus(pending, self.measure(node.block))
                if pending is NOTHING:
                    self._alone[node.block.digest] = features
            self._owed.put(node.id, features)
            return None
        parts = self._parts(node) if self._parts else ()
        if not parts:
            block_features = self._features(node)
            return [(node.category, block_features if pending is NOTHING else plus(block_features, pending))]
        self._split[node.id] = tuple(category for category, _ in parts)
        (category, first), *other_parts = parts
        return [(category, plus(first, pending)), *other_parts]

    def revise(self, first: int) -> None:
        """Count the nodes from `first` again, after a report gave one of them its tokens."""
        for id_ in range(first, len(self._rows)):
            node = self._tree[id_]
            more = self._added_features(node)
            if more is None:
                self._rows.replace_same(id_, node.parent)
            else:
                self._rows.replace(id_, node.parent, more)

    def _features(self, node: Node) -> Features:
        reported = self._reported.get(node.id)
        if reported is None and self._alike:
            reported = self._alike.get(node.block.digest)
        return self.measure(node.block) if reported is None else Features(reported=reported)

    def header_features(self, node: int) -> Features:
        """Features of the headers before the block of `node`, which count with its first part."""
        return self.pending_features(self._tree[node].parent)

    def pending_features(self, node: int) -> Features:
        """Features of the headers at the end of context `node`, which count with the next block."""
        return self._owed.features_after(node)

    def categories(self, node: int) -> tuple[int, ...]:
        return self._split.get(node) or (self._tree[node].category,)

    @property
    def split_nodes(self) -> list[int]:
        """Nodes whose blocks rules have split, in order."""
        return list(self._split)

    def block_features(self, node: int) -> Features:
        """Features that the block of `node` adds, with headers before it.

        Raises `IndexError` while it is not counted.
        """
        parent = self._tree[node].parent
        total = NOTHING
        for category in self.categories(node):
            total = plus(total, minus(self._rows.features_at(node, category), self._rows.features_at(parent, category)))
        return total

    def composition_at(self, node: int) -> Composition:
        """Composition of the whole context `node`. Raises `IndexError` while it is not counted."""
        return self._rows.composition_at(node)

    def features_at(self, node: int, category: int) -> Features:
        return self._rows.features_at(node, category)

    def whole_tokens(self, weights: Weights) -> WholeTokens:
        """The whole tokens of contexts under `weights`; kept for the last few weights."""
        whole_tokens = self._whole.get(id(weights))
        if whole_tokens is None or whole_tokens.weights is not weights:
            if len(self._whole) >= _MAX_WEIGHTS:
                self._whole.clear()
            whole_tokens = self._whole[id(weights)] = WholeTokens(self._rows, weights)
        return whole_tokens
