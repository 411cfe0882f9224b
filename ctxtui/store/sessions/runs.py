"""A session's contexts as runs, the stored form of the tree.

A run is a chain of blocks; a context is (run, at): everything before the run, then its first ``at`` blocks. A
conversation that only grows is one run. A context that differs from an earlier one begins a run of its own with
(parent, offset), however many blocks follow. So a client that rewrites early content costs one row per rewrite. Nodes
on no call's path and before no thread's tip are not stored.
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
    """A context: the index of its run (None: the empty context), and its blocks in that run."""

    run: int | None
    blocks: int


EMPTY_CONTEXT = ContextAt(None, 0)


class NodeRun(Struct):
    """A chain of nodes, each the child of the one before.

    `parent` is the context that the first node continues, `depth` the number of blocks in that context.
    """

    parent: ContextAt
    depth: int
    nodes: list[int] = field(default_factory=list)


class RunLayout:
    """The runs that hold contexts of `tree`, and the position of each node in them.

    `stored` are the nodes of runs that are in the database already; their parents are not needed, as these runs only
    grow. `grown` are the indexes of runs that are new or longer than in the database.
    """

    def __init__(self, tree: Tree, stored: Iterable[list[int]] = ()) -> None:
        self._tree = tree
        self.runs: list[NodeRun] = []
        self.grown: set[int] = set()
        self._at: dict[int, ContextAt] = {ROOT: EMPTY_CONTEXT}
        for index, nodes in enumerate(stored):
            self.runs.append(NodeRun(EMPTY_CONTEXT, 0, nodes))
            self._set_positions(index, 0)

    def add(self, head: int) -> None:
        """Add the context `head`: to a run that it continues, else as a new run."""
        fresh: list[int] = []
        node = head
        while node not in self._at:
            fresh.append(node)
            node = self._tree[node].parent
        if fresh:
            fresh.reverse()
            self._continue_run(self._at[node], fresh)

    def position_of(self, head: int) -> ContextAt:
        """The position of the context `head`. Raises `KeyError` if it is missing."""
        return self._at[head]

    def _continue_run(self, base: ContextAt, nodes: list[int]) -> None:
        index = base.run
        if index is None or base.blocks < len(self.runs[index].nodes):
            index = len(self.runs)
            self.runs.append(NodeRun(base, self._tree[nodes[0]].depth - 1))
        run = self.runs[index].nodes
        begun = len(run)
        run.extend(nodes)
        self._set_positions(index, begun)
        self.grown.add(index)

    def _set_positions(self, index: int, first: int) -> None:
        nodes = self.runs[index].nodes
        self._at.update((nodes[n], ContextAt(index, n + 1)) for n in range(first, len(nodes)))

    def split(self, index: int, blocks: int) -> int:
        """Split a run after its first `blocks` blocks; returns the index of the new run."""
        run, new = self.runs[index], len(self.runs)
        for each in self.runs:
            if each.parent.run == index and each.parent.blocks > blocks:
                each.parent = ContextAt(new, each.parent.blocks - blocks)
        self.runs.append(NodeRun(ContextAt(index, blocks), self._tree[run.nodes[blocks]].depth - 1, run.nodes[blocks:]))
        del run.nodes[blocks:]
        self._set_positions(new, 0)
        self.grown.add(new)
        return new


def encode_items(pairs: Iterable[tuple[int, int]]) -> str:
    """Encode (place key, block key) pairs like ``[[place,block,block],[place,block]]``."""
    groups: list[list[int]] = []
    for place, block in pairs:
        if groups and groups[-1][0] == place:
            groups[-1].append(block)
        else:
            groups.append([place, block])
    return json.dumps(groups, separators=(",", ":"))


def decode_items(text: str) -> Iterator[tuple[int, int]]:
    """Decode the (place key, block key) pairs of a run's ``items``."""
    for group in _GROUPS.decode(text):
        place = group[0]
        for block in group[1:]:
            yield place, block
