"""Maps the blocks that a call sent under edits to blocks of the edited context.

Edits do not change history: the sent blocks are a separate path in the tree, while further edits are about blocks of
the agent's own context. The transcript shows what was sent, and needs the block that a key should edit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctxtui.core.block import Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.sequence_diff import align
from ctxtui.curation.apply.applied import Applied


class _Place(NamedTuple):
    """Place of a sent block: the context's `own` one at a raw position, or inserted before it."""

    position: int
    own: bool


def _is_repair(applied: Applied, place: _Place) -> bool:
    change = applied.changes.get(place.position)
    return place.own and change is not None and change.is_repair


class SentBlocks:
    """The sent blocks of `call`, matched with the blocks of `applied.context`.

    That context continues the agent's own context at the call. The call may have been sent under other edits than the
    current ones: `log` are all edits ever made, and `earlier` are the contexts under formerly applied edits, the latest
    first.
    """

    def __init__(self, call: Call, applied: Applied, log: Iterable[Edit] = (), earlier: Iterable[Applied] = ()) -> None:
        context = self._context = applied.context
        tree = context.tree
        self._start = tree[tree.common(call.sent_head, context.head)].depth
        raw = tree[call.raw_head].depth if tree.holds(context.head, call.raw_head) else len(context)
        self._end = max(self._start, raw)
        self._nodes = tree.path(call.sent_head)[self._start :] if call.is_edited else []
        """The nodes that are not the context's own."""
        self.inserted: dict[int, Edit | None] = {}
        """The inserted nodes, each with its edit; None if that is no longer in force."""
        places: list[_Place] = []
        if self._nodes:
            states = [applied, *earlier]
            places = self._match_exactly(states) or self._match_states(states) or [*self._guess_places(applied, log)]
        self._order = [block_place.position for block_place in places]
        self._place = dict(zip(self._nodes, self._order, strict=True))
        new = {item.block.digest: insert.edit for insert in applied.inserts for item in insert.items}
        for node, block_place in zip(self._nodes, places, strict=True):
            if not block_place.own:
                self.inserted[node] = new.get(tree[node].block.digest)
        self._shown = {at: node for node, at in self._place.items() if node not in self.inserted}

    def _match_exactly(self, states: Iterable[Applied]) -> list[_Place] | None:
        """The places under the first of `states` that sends exactly these blocks; None without one."""
        digests = [self._context.tree[node].block.digest for node in self._nodes]
        for state in states:
            expected_items = [applied_item for applied_item in state.items if applied_item.position <= self._end][
                -len(digests) :
            ]
            if [applied_item.item.block.digest for applied_item in expected_items] == digests:
                return [_Place(applied_item.position, applied_item.node >= 0) for applied_item in expected_items]
        return None

    def _match_states(self, states: Iterable[Applied]) -> list[_Place] | None:
        """The same, without regard to repairs, which depend on later blocks."""
        digests = [self._context.tree[node].block.digest for node in self._nodes]
        for state in states:
            expected = [*self._iter_expected(state)]
            state_digests, places = [digest for _, digest in expected], list[_Place]()
            for (first, last), (begin, end) in align(state_digests, digests):
                places_here = [place for place, _ in expected[first:last]]
                if state_digests[first:last] != digests[begin:end]:
                    places_here = [place for place in places_here if not _is_repair(state, place)]
                if len(places_here) != end - begin:
                    break
                # An equal number are the same blocks, spelled differently by the provider's dialect.
                places += places_here
            else:
                return places
        return None

    def _guess_places(self, applied: Applied, log: Iterable[Edit]) -> Iterator[_Place]:
        tree = self._context.tree
        sent = [Item(tree[node].block, tree[node].place) for node in self._nodes]
        digests = [item.block.digest for item in sent]
        texts = [str(edit.params.get("text") or "") for edit in log if edit.spec.adds]
        expected = [*self._iter_expected(applied, dropped=True)]
        state_digests = [digest for _, digest in expected]
        stretches, position = align(state_digests, digests), self._start
        for (first, last), (begin, end) in stretches:
            if state_digests[first:last] == digests[begin:end]:
                places = [place for place, _ in expected[first:last]]
            else:
                stop = expected[last][0].position if last < len(expected) else self._end
                places = [*self._match_similar(sent[begin:end], position, stop, texts)]
            yield from places
            position = max(position, places[-1].position + places[-1].own) if places else position

    def _iter_expected(self, applied: Applied, *, dropped: bool = False) -> Iterator[tuple[_Place, str]]:
        """Place and digest of each block sent under `applied`, or removed by repairs.

        `dropped` adds those that edits removed.
        """
        inserts = [insert for insert in applied.inserts if self._start <= insert.position <= self._end]
        for position in range(self._start, self._end + 1):
            while inserts and inserts[0].position == position:
                yield from ((_Place(position, False), item.block.digest) for item in inserts.pop(0).items)
            change = applied.changes.get(position)
            if position == self._end or (
                change is not None and change.after is None and not (change.is_repair or dropped)
            ):
                continue
            after = change.after if change is not None else None
            yield _Place(position, True), (after or self._context.items[position].block).digest

    def _match_similar(self, sent: Iterable[Item], position: int, stop: int, texts: Iterable[str]) -> Iterator[_Place]:
        """The places of blocks with other content than the current ones from `position` to `stop`."""
        for item in sent:
            text = read(item.block).text
            put_in = any(inserted_text and inserted_text in text for inserted_text in texts)
            match = (
                None if put_in else next((n for n in range(position, stop) if self._context.is_alike(n, item)), None)
            )
            yield _Place(position, False) if match is None else _Place(match, True)
            position = position if match is None else match + 1

    def position(self, node: int) -> int | None:
        """The raw position of the block that `node` shows; None if it is not one of the context's."""
        context = self._context
        at = context.tree[node].depth - 1
        if 0 <= at < len(context.nodes) and context.nodes[at] == node:
            return at
        return None if node in self.inserted else self._place.get(node)

    def block(self, node: int) -> int:
        """The node of the context that `node` shows; itself if there is none."""
        position = self.position(node)
        return node if position is None else self._context.nodes[position]

    def shown(self, node: int) -> int:
        """The sent node that shows the same block as `node`; itself if there is none."""
        position = self.position(node)
        return node if position is None else self._shown.get(position, node)

    def place(self, node: int) -> int:
        """The raw position of `node`, or the one before which it is inserted."""
        return self._place.get(node, self._context.tree[node].depth - 1)

    def first(self, position: int) -> int | None:
        """The first sent node at or after the raw `position`; None if there is none."""
        nodes = self._context.nodes
        if self._nodes and self._start <= position < self._end:
            at = bisect_left(self._order, position)
            if at < len(self._nodes):
                return self._nodes[at]
            position = self._end
        return nodes[position] if position < len(nodes) else None
