"""A session's contexts as runs: what is stored of the tree.

A context is (run, at): everything before the run, then its first `at` blocks. A conversation that only grows is one
run; a context that parts from an earlier one begins a run of its own with (parent, offset), however many blocks
follow. So a client that rewrites early content costs one row per rewrite. Nodes that lie on no call's path and before
no thread's tip are not stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, field

from ctxtui.core.tree import ROOT, Tree

_GROUPS: Final = msgspec.json.Decoder(list[list[int]])


class ContextAt(NamedTuple):
    """A context: index of its run (None: the empty context) and how many of the run's blocks belong to it."""

    run: int | None
    blocks: int


NOWHERE = ContextAt(None, 0)


class NodeRun(Struct):
    """A stretch of nodes, each the child of the one before; `parent` is the context that the first one continues."""

    parent: ContextAt
    depth: int
    nodes: list[int] = field(default_factory=list)


class RunLayout:
    """The runs that hold contexts of `tree`, and where each node is in them; those in `stored` are there already.
    `grown` are the indexes of runs that are new or longer than they were."""

    def __init__(self, tree: Tree, stored: Iterable[list[int]] = ()) -> None:
        self._tree = tree
        self.runs: list[NodeRun] = []
        self.grown: set[int] = set()
        self._at: dict[int, ContextAt] = {ROOT: NOWHERE}
        for index, nodes in enumerate(stored):
            self.runs.append(NodeRun(NOWHERE, 0, nodes))
            self._place(index, 0)

    def add(self, head: int) -> None:
        """Make sure that the context `head` is held."""
        fresh: list[int] = []
        node = head
        while node not in self._at:
            fresh.append(node)
            node = self._tree[node].parent
        if fresh:
            fresh.reverse()
            self._continue(self._at[node], fresh)

    def at(self, head: int) -> ContextAt:
        """Where the context `head` is. Raises `KeyError` if it is not held."""
        return self._at[head]

    def _continue(self, base: ContextAt, nodes: list[int]) -> None:
        index = base.run
        if index is None or base.blocks < len(self.runs[index].nodes):
            index = len(self.runs)
            self.runs.append(NodeRun(base, self._tree[nodes[0]].depth - 1))
        run = self.runs[index].nodes
        begun = len(run)
        run.extend(nodes)
        self._place(index, begun)
        self.grown.add(index)

    def _place(self, index: int, first: int) -> None:
        nodes = self.runs[index].nodes
        self._at.update((nodes[n], ContextAt(index, n + 1)) for n in range(first, len(nodes)))

    def part(self, index: int, blocks: int) -> int:
        """Make a run of its own of what stands behind the first `blocks` of a run; its index."""
        run, new = self.runs[index], len(self.runs)
        for each in self.runs:
            if each.parent.run == index and each.parent.blocks > blocks:
                each.parent = ContextAt(new, each.parent.blocks - blocks)
        self.runs.append(NodeRun(ContextAt(index, blocks), self._tree[run.nodes[blocks]].depth - 1, run.nodes[blocks:]))
        del run.nodes[blocks:]
        self._place(new, 0)
        self.grown.add(new)
        return new


def items_text(pairs: Iterable[tuple[int, int]]) -> str:
    """The `items` of a run's row from (place key, block key) pairs: ``[[place,block,block],[place,block]]``."""
    groups: list[list[int]] = []
    for place, block in pairs:
        if groups and groups[-1][0] == place:
            groups[-1].append(block)
        else:
            groups.append([place, block])
    return json.dumps(groups, separators=(",", ":"))


def items_pairs(text: str) -> Iterator[tuple[int, int]]:
    """The (place key, block key) pairs of a run's `items`."""
    for group in _GROUPS.decode(text):
        place = group[0]
        for block in group[1:]:
            yield place, block
