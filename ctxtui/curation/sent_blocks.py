"""The blocks that a call sent under edits, as blocks of the context that is edited.

Edits change no history: what left under them is a path of its own in the tree, while further edits are about the blocks
of the agent's own context.
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
    """The raw `position` at which a sent block stands; `own`: it is the block there, not one put in before it."""

    position: int
    own: bool


def _goes_along(applied: Applied, place: _Place) -> bool:
    change = applied.changes.get(place.position)
    return place.own and change is not None and change.is_repair


class SentBlocks:
    """What `call` sent, block by block, in `applied.context`, which goes on from what the agent had at it. It may have
    left under other edits than those that are applied now: `log` are all that there ever were, `earlier` the context
    under those that were applied before, the latest first."""

    def __init__(self, call: Call, applied: Applied, log: Iterable[Edit] = (), earlier: Iterable[Applied] = ()) -> None:
        context = self._context = applied.context
        tree = context.tree
        self._start = tree[tree.common(call.sent_head, context.head)].depth
        raw = tree[call.raw_head].depth if tree.holds(context.head, call.raw_head) else len(context)
        self._end = max(self._start, raw)
        self._nodes = tree.path(call.sent_head)[self._start :] if call.is_edited else []
        """The nodes that are none of the context's own."""
        self.put_in: dict[int, Edit | None] = {}
        """Those that edits put in, each with the edit; None where that is no longer in force."""
        places: list[_Place] = []
        if self._nodes:
            states = [applied, *earlier]
            places = self._exact(states) or self._found(states) or [*self._likely(applied, log)]
        self._order = [one.position for one in places]
        self._place = dict(zip(self._nodes, self._order, strict=True))
        new = {item.block.digest: insert.edit for insert in applied.inserts for item in insert.items}
        for node, one in zip(self._nodes, places, strict=True):
            if not one.own:
                self.put_in[node] = new.get(tree[node].block.digest)
        self._shown = {at: node for node, at in self._place.items() if node not in self.put_in}

    def _exact(self, states: Iterable[Applied]) -> list[_Place] | None:
        """Where each of the nodes stands under the first of `states` under which just these leave; None without one."""
        digests = [self._context.tree[node].block.digest for node in self._nodes]
        for state in states:
            there = [one for one in state.items if one.position <= self._end][-len(digests) :]
            if [one.item.block.digest for one in there] == digests:
                return [_Place(one.position, one.node >= 0) for one in there]
        return None

    def _found(self, states: Iterable[Applied]) -> list[_Place] | None:
        """Where each of the nodes stands under the first of `states` under which just these leave, less what only goes
        along with others: that depends on what was said since. None where there is no such state."""
        digests = [self._context.tree[node].block.digest for node in self._nodes]
        for state in states:
            there = [*self._expected(state)]
            known, places = [digest for _, digest in there], list[_Place]()
            for (first, last), (begin, end) in align(known, digests):
                here = [place for place, _ in there[first:last]]
                if known[first:last] != digests[begin:end]:
                    here = [place for place in here if not _goes_along(state, place)]
                if len(here) != end - begin:
                    break
                # As many as these are the same ones, which the provider's dialect spells in another way.
                places += here
            else:
                return places
        return None

    def _likely(self, applied: Applied, log: Iterable[Edit]) -> Iterator[_Place]:
        """Where each of the nodes stands by what it says."""
        tree = self._context.tree
        sent = [Item(tree[node].block, tree[node].place) for node in self._nodes]
        digests = [item.block.digest for item in sent]
        texts = [str(edit.params.get("text") or "") for edit in log if edit.spec.adds]
        there = [*self._expected(applied, dropped=True)]
        known = [digest for _, digest in there]
        stretches, at = align(known, digests), self._start
        for (first, last), (begin, end) in stretches:
            if known[first:last] == digests[begin:end]:
                places = [place for place, _ in there[first:last]]
            else:
                stop = there[last][0].position if last < len(there) else self._end
                places = [*self._alike(sent[begin:end], at, stop, texts)]
            yield from places
            at = max(at, places[-1].position + places[-1].own) if places else at

    def _expected(self, applied: Applied, *, dropped: bool = False) -> Iterator[tuple[_Place, str]]:
        """The blocks that would have left under `applied`, with those that went along with others; with those that are
        `dropped`, too."""
        inserts = [one for one in applied.inserts if self._start <= one.position <= self._end]
        for at in range(self._start, self._end + 1):
            while inserts and inserts[0].position == at:
                yield from ((_Place(at, False), item.block.digest) for item in inserts.pop(0).items)
            change = applied.changes.get(at)
            if at == self._end or (change is not None and change.after is None and not (change.is_repair or dropped)):
                continue
            after = change.after if change is not None else None
            yield _Place(at, True), (after or self._context.items[at].block).digest

    def _alike(self, sent: Iterable[Item], at: int, stop: int, texts: Iterable[str]) -> Iterator[_Place]:
        """Where blocks stand that say something else than what stands from position `at` to `stop` now."""
        for item in sent:
            text = read(item.block).text
            put_in = any(one and one in text for one in texts)
            found = None if put_in else next((n for n in range(at, stop) if self._context.is_alike(n, item)), None)
            yield _Place(at, False) if found is None else _Place(found, True)
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
