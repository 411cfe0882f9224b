"""A session's contexts as runs: what is stored of the tree.

A context is (run, at): everything before the run, then its first `at` blocks. A conversation that only grows is one
run; a context that parts from an earlier one begins a run of its own with (parent, offset), however many blocks
follow. So a client that rewrites early content costs one row per rewrite. Nodes that lie on no call's path and before
no thread's tip are not stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, field

from ctxtui.core.block import Place
from ctxtui.core.session import Session
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
    """The runs that hold every context of a session, and where each node is in them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.runs: list[NodeRun] = []
        self._at: dict[int, ContextAt] = {ROOT: NOWHERE}

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
        for blocks, node in enumerate(nodes, len(run) + 1):
            self._at[node] = ContextAt(index, blocks)
        run.extend(nodes)


def heads(session: Session) -> Iterator[int]:
    """Every node that a stored session must be able to name, in the order in which they came about."""
    for call in session.calls.values():
        yield from (call.raw_head, call.sent_head, call.response_head)
    for thread in session.threads.values():
        yield thread.tip


def lay_out(session: Session) -> RunLayout:
    """The runs of `session`."""
    layout = RunLayout(session.tree)
    for head in heads(session):
        layout.add(head)
    return layout


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


def places_of(tree: Tree, runs: Sequence[NodeRun]) -> dict[Place, None]:
    """Every place that occurs in `runs`, in order of appearance."""
    return dict.fromkeys(tree[node].place for run in runs for node in run.nodes)
