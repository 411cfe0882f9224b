"""Where the blocks of a context that leaves under edits stand in the raw one.

A request under edits that are applied has a path of its own in the tree. What is staged on top of them is arithmetic on
raw positions, so each of its places is known by an *edge*: the raw position, and how many of the blocks that edits put
in there stand before it (`RAW` for the raw block itself, which stands behind all of them).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from ctxtui.core.block import Item
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.standing_markers import RAW, Edge, edges_of
from ctxtui.curation.context import Context

END: Final[Edge] = (RAW, RAW)
"""Behind every block."""


def leaving(applied: Applied) -> list[Item]:
    """The items that leave under `applied`, as a reader of the request has them: what only a transcript says of a place
    does not hold for a block that an edit put there."""
    return [
        one.item if one.node >= 0 else Item(one.item.block, one.item.place._replace(mark="")) for one in applied.items
    ]


class SentPath:
    """The path of `applied`, whose blocks are the `nodes`; by default the raw path of the context itself."""

    def __init__(self, context: Context, applied: Applied | None = None, nodes: Sequence[int] = ()) -> None:
        self._context = context
        self._edges: dict[int, Edge] | None = None
        self._order: list[Edge] = []
        self._upto: list[int] = []
        self.nodes: Sequence[int] = context.nodes if applied is None else nodes
        if applied is not None:
            self._edges = {}
            self._walk(applied, nodes, self._edges)

    def _walk(self, applied: Applied, nodes: Sequence[int], edges: dict[int, Edge]) -> None:
        node = ROOT
        for edge, node_here in zip(edges_of(applied), nodes, strict=True):
            self._upto += [node] * (edge[0] - len(self._upto))
            if edge[1] == RAW:
                self._upto.append(node_here)
            edges[node_here] = edge
            node = node_here
        self._upto += [node] * (len(self._context) - len(self._upto))
        self._order = list(edges.values())

    def edge(self, node: int) -> Edge:
        """Where the block of `node` stands."""
        return (self._context.tree[node].depth - 1, RAW) if self._edges is None else self._edges[node]

    def index(self, edge: Edge) -> int:
        """The index into `nodes` of the first block that stands at `edge` or behind it."""
        return min(edge[0], len(self.nodes)) if self._edges is None else bisect_left(self._order, edge)

    def holds(self, node: int) -> bool:
        """Whether `node` stands on it."""
        return self._edges is None or node in self._edges

    def upto(self, position: int) -> int:
        """The last node of the path that stands at the raw `position` or before it; `ROOT` where none does."""
        return self._context.nodes[position] if self._edges is None else self._upto[position]
