"""The blocks that a call sent under edits, as blocks of the context that is edited.

Edits change no history: what left under them is a path of its own in the tree, while further edits are about the blocks
of the agent's own context.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ctxtui.core.block import Item
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.sequence_diff import aligned
from ctxtui.curation.apply.applied import Applied


class SentBlocks:
    """What `call` sent, block by block, in `applied.context`, which goes on from what the agent had at it. Where the
    call left under the edits of `applied`, they say which block is which; else blocks are matched by what they say."""

    def __init__(self, call: Call, applied: Applied) -> None:
        context = self._context = applied.context
        tree = context.tree
        self._start = tree[tree.common(call.sent_head, context.head)].depth
        raw = tree[call.raw_head].depth if tree.holds(context.head, call.raw_head) else len(context)
        self._end = max(self._start, raw)
        self._nodes = tree.path(call.sent_head)[self._start :] if call.edited else []
        """The nodes that are none of the context's own."""
        new = {item.block.digest: insert.edit for insert in applied.inserts for item in insert.items}
        self.put_in: dict[int, Edit | None] = {}
        """Those that edits put in, each with the edit; None where that is no longer in force."""
        places = self._by_edits(applied) or [*self._by_content()] if self._nodes else []
        self._order = [place for place, _ in places]
        self._place = dict(zip(self._nodes, self._order, strict=True))
        for node, (_, same) in zip(self._nodes, places, strict=True):
            if not same:
                self.put_in[node] = new.get(tree[node].block.digest)
        self._shown = {place: node for node, place in self._place.items() if node not in self.put_in}

    def _by_edits(self, applied: Applied) -> list[tuple[int, bool]] | None:
        """The raw position of each node, and whether it is the block there; else it was put in before it."""
        tree, items = self._context.tree, applied.items
        left = items[self._start : self._start + len(self._nodes)]
        if any(one.position != at for at, one in enumerate(items[: self._start])):
            return None
        if [one.item.block.digest for one in left] != [tree[node].block.digest for node in self._nodes]:
            return None
        return [(one.position, one.node >= 0) for one in left]

    def _by_content(self) -> Iterator[tuple[int, bool]]:
        tree, own = self._context.tree, self._context.items
        sent = [Item(tree[node].block, tree[node].place) for node in self._nodes]
        stretch = [item.block.digest for item in own[self._start : self._end]]
        for (first, last), (begin, end) in aligned(stretch, [item.block.digest for item in sent]):
            first, last = first + self._start, last + self._start
            yield from self._matched(range(first, last), sent[begin:end])

    def _matched(self, places: range, sent: Sequence[Item]) -> Iterator[tuple[int, bool]]:
        """Which of `sent` are the blocks at `places`, in order."""
        context = self._context
        at = places.start
        for item in sent:
            alike = (n for n in range(at, places.stop) if context.is_alike(n, item))
            found = next(alike, None)
            yield (at, False) if found is None else (found, True)
            at = at if found is None else found + 1

    def position(self, node: int) -> int | None:
        """The raw position of the block that `node` shows; None where it shows none of the context's."""
        context = self._context
        at = context.tree[node].depth - 1
        if 0 <= at < len(context.nodes) and context.nodes[at] == node:
            return at
        return None if node in self.put_in else self._place.get(node)

    def block(self, node: int) -> int:
        """The node of the context that `node` shows; itself where it shows none."""
        at = self.position(node)
        return node if at is None else self._context.nodes[at]

    def shown(self, node: int) -> int:
        """The node of what was sent that shows the same block as `node`; itself where none does."""
        at = self.position(node)
        return node if at is None else self._shown.get(at, node)

    def place(self, node: int) -> int:
        """The raw position at which `node` stands, or before which an edit put it in."""
        return self._place.get(node, self._context.tree[node].depth - 1)

    def first(self, position: int) -> int | None:
        """The first node of what is shown that stands at the raw `position` or behind it; None where none does."""
        nodes = self._context.nodes
        if self._nodes and self._start <= position < self._end:
            at = bisect_left(self._order, position)
            if at < len(self._nodes):
                return self._nodes[at]
            position = self._end
        return nodes[position] if position < len(nodes) else None
