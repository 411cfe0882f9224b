"""Cumulative features: what makes the composition of any context O(1) (design §2)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ctxtui.core.block import HEADER, Block
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.tree import Node, Tree
from ctxtui.tokens.features import NOTHING, Features, minus, plus
from ctxtui.tokens.weights import Weights, tokens

_UNKNOWN: Final = -(2**62)
_MORE: Final = 4096
"""Rows for which room is made at once."""


class WholeTokens:
    """What the compositions of `rows` come to under `weights`. A row never changes: what it comes to is kept. Several
    threads may ask."""

    def __init__(self, rows: FeatureRows, weights: Weights) -> None:
        self.rows = rows
        self.weights = weights
        self._known = array("q")

    def at(self, number: int) -> tuple[int, ...]:
        """Tokens by category of the context `number`. Raises `IndexError` for one that is not there."""
        known, rows = self._known, self.rows.rows_at(number)
        try:
            found = [known[row] for row in rows]
        except IndexError:
            self._make_room(max(rows))
            found = [known[row] for row in rows]
        if _UNKNOWN in found:
            found = [self._weighed(row) if one == _UNKNOWN else one for row, one in zip(rows, found, strict=True)]
        return tuple(found)

    def of(self, number: int, category: int) -> int:
        """As `at`, of one category alone."""
        return self._of(self.rows.row_at(number, category))

    def _of(self, row: int) -> int:
        self._make_room(row)
        return self._weighed(row)

    def _weighed(self, row: int) -> int:
        """As `_of`, where there is room for the row."""
        found = self._known[row]
        if found == _UNKNOWN:
            found = self._known[row] = round(tokens(self.rows.values(row), self.weights))
        return found

    def _make_room(self, row: int) -> None:
        room = len(self._known)
        if row >= room:
            # Two threads that make room at once make more than enough.
            self._known.extend([_UNKNOWN] * (row + _MORE - room))


Composition = tuple[Features, ...]
"""Raw features of a context, one entry per category in the order of `CATEGORIES`."""

_KINDS: Final = len(CATEGORIES)


class FeatureRows:
    """The compositions of contexts by number, from 0 (the empty one) on. They are only appended, so that one thread may
    add while others read; `put` names another composition for a context that is there."""

    def __init__(self) -> None:
        self._of: list[tuple[int, ...]] = [(0,) * _KINDS]
        """The row of each category, by context."""
        self._rows: list[Features] = [NOTHING]

    def __len__(self) -> int:
        return len(self._of)

    def same(self, as_: int) -> None:
        """One context more, with the composition of the context `as_`."""
        self._of.append(self._of[as_])

    def add(self, before: int, more: Iterable[tuple[int, Features]]) -> None:
        """One context more: that of `before` and `more`, one after another, each with its category index."""
        self._of.append(self._made(before, more))

    def put(self, number: int, before: int, more: Iterable[tuple[int, Features]]) -> None:
        """As `add`, in place of the context `number`."""
        self._of[number] = self._made(before, more)

    def put_same(self, number: int, as_: int) -> None:
        """As `same`, in place of the context `number`."""
        self._of[number] = self._of[as_]

    def _made(self, before: int, more: Iterable[tuple[int, Features]]) -> tuple[int, ...]:
        made = list(self._of[before])
        for category, own in more:
            self._rows.append(plus(self._rows[made[category]], own))
            made[category] = len(self._rows) - 1
        return tuple(made)

    def at(self, number: int) -> Composition:
        """The composition of a context. Raises `IndexError` for one that is not there."""
        return tuple([self._rows[row] for row in self._of[number]])

    def of(self, number: int, category: int) -> Features:
        """As `at`, of one category alone."""
        return self._rows[self._of[number][category]]

    def rows_at(self, number: int) -> Sequence[int]:
        """The row of each category in a context; a row never changes."""
        return self._of[number]

    def row_at(self, number: int, category: int) -> int:
        """As `rows_at`, of one category alone."""
        return self._of[number][category]

    def values(self, row: int) -> Features:
        """The features of a row."""
        return self._rows[row]


Parts = Callable[[Node], Sequence[tuple[int, Features]]]
"""Gives the features of a node's block by category index where rules split it, the first part of its text first;
nothing where the whole block belongs to the node's category."""

_THINKING: Final = INDEX["thinking"]
_WAYS: Final = 8
"""Weights under which whole tokens are kept: those of a few models, and of the step of learning before."""


class _Owed:
    """The features of headers by node. A session has few different ones: each is kept once."""

    def __init__(self) -> None:
        self._of = array("i")
        """By node the number of its features, from 1; 0 where nothing is owed."""
        self._several: list[Features] = []
        self._numbers: dict[Features, int] = {}

    def __contains__(self, node: int) -> bool:
        return node < len(self._of) and self._of[node] > 0

    def at(self, node: int) -> Features:
        """What is owed behind `node`."""
        number = self._of[node] if node < len(self._of) else 0
        return self._several[number - 1] if number else NOTHING

    def put(self, node: int, features: Features) -> None:
        """Behind `node`, `features` are owed."""
        number = self._numbers.get(features)
        if number is None:
            self._several.append(features)
            number = self._numbers[features] = len(self._several)
        if node >= len(self._of):
            self._of.frombytes(bytes(self._of.itemsize * (node + 1 - len(self._of))))
        self._of[node] = number


class Cumulated:
    """Features of every prefix in a tree, for one way of counting.

    `measure` gives the raw features of one block, `parts` shares them out among categories, `reported` holds the tokens
    of nodes that a report tells, `alike` those of blocks by digest that are told of elsewhere: they stand in for the
    features of the block. Counting is the slow part,
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
        alike: Mapping[str, float] | None = None,
    ) -> None:
        self._tree = tree
        self.measure = measure
        """Gives the raw features of one block."""
        self._parts = parts
        self._reported = reported if reported is not None else {}
        self._alike = alike if alike is not None else {}
        self._split: dict[int, tuple[int, ...]] = {}
        self._rows = FeatureRows()
        self._owed = _Owed()
        self._alone: dict[str, Features] = {}
        """The features of headers by the digest of the block, of those that no other header stands before."""
        self._whole: dict[int, WholeTokens] = {}

    @property
    def done(self) -> int:
        """Nodes with an id below this are counted."""
        return len(self._rows)

    def counted(self, node: int) -> bool:
        """Whether the figures of `node` are known yet."""
        return node < len(self._rows)

    def advance(self, limit: int | None = None) -> int:
        """Count up to `limit` further nodes (all that are there by default); returns `done`."""
        rows = self._rows
        first = len(rows)
        last = len(self._tree) if limit is None else min(len(self._tree), first + limit)
        for node in self._tree.nodes(first, last):
            more = self._more(node)
            if more is None:
                rows.same(node.parent)
            else:
                rows.add(node.parent, more)
        return len(rows)

    def _more(self, node: Node) -> list[tuple[int, Features]] | None:
        """What the block of `node` adds, with category indexes; None for a header, which counts with what follows."""
        owed = self._owed.at(node.parent)
        if node.block.kind == HEADER:
            known = self._alone.get(node.block.digest) if owed is NOTHING else None
            if known is None:
                known = plus(owed, self.measure(node.block))
                if owed is NOTHING:
                    self._alone[node.block.digest] = known
            self._owed.put(node.id, known)
            return None
        parts = self._parts(node) if self._parts else ()
        if not parts:
            own = self._features(node)
            return [(node.category, own if owed is NOTHING else plus(own, owed))]
        self._split[node.id] = tuple(category for category, _ in parts)
        (category, first), *others = parts
        return [(category, plus(first, owed)), *others]

    def revise(self, first: int) -> None:
        """Count the nodes from `first` on again: a report came that tells more of one of them."""
        for id_ in range(first, len(self._rows)):
            node = self._tree[id_]
            more = self._more(node)
            if more is None:
                self._rows.put_same(id_, node.parent)
            else:
                self._rows.put(id_, node.parent, more)

    def _features(self, node: Node) -> Features:
        told = self._reported.get(node.id)
        if told is None and self._alike:
            told = self._alike.get(node.block.digest)
        return self.measure(node.block) if told is None else Features(reported=told)

    def owed(self, node: int) -> Features:
        """The features of the header before the block of `node`, which count with its first part."""
        return self.outstanding(self._tree[node].parent)

    def outstanding(self, node: int) -> Features:
        """The features of a header that ends the context `node`: the part that comes next will count with it."""
        return self._owed.at(node)

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
        parent = self._tree[node].parent
        total = NOTHING
        for category in self.categories(node):
            total = plus(total, minus(self._rows.of(node, category), self._rows.of(parent, category)))
        return total

    def at(self, node: int) -> Composition:
        """The composition of the whole context `node`. Raises `IndexError` while it is not counted."""
        return self._rows.at(node)

    def of(self, node: int, category: int) -> Features:
        """As `at`, for one category alone."""
        return self._rows.of(node, category)

    def whole(self, weights: Weights) -> WholeTokens:
        """What contexts come to under `weights`, in whole tokens by category."""
        found = self._whole.get(id(weights))
        if found is None or found.rows is not self._rows or found.weights is not weights:
            if len(self._whole) >= _WAYS:
                self._whole.clear()
            found = self._whole[id(weights)] = WholeTokens(self._rows, weights)
        return found
