"""The recorded calls after a context, each with the blocks that edits change, as far as they still stand there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.price_tag import NOW, PriceTag
from ctxtui.curation.price.rest_of_session import (
    FirstRead,
    FreedBlock,
    LaterCall,
    LaterCharge,
    RestOfSession,
    rest_of_session,
)

Front = Callable[[int, int], int]
"""Tokens of a context (by its end) up to and with a node of it."""


def charged_as(tag: PriceTag | None, freed: Sequence[FreedBlock]) -> float:
    """How many tokens the `tag` prices for each token that is freed: it goes by what reports make of the request, of
    which a token may be more or less than one that is counted."""
    gone = sum(one.tokens for one in freed)
    return max(0.0, (tag.foretold - tag.foretold_under) / gone) if tag is not None and gone else 1.0


def left_by(tag: PriceTag | None) -> FirstRead | None:
    """What the next request reads if what the `tag` prices is applied now; None where that is not known."""
    now = next((one for one in tag.moments if one.name == NOW), None) if tag is not None else None
    return FirstRead(now.read, now.anew) if now is not None else None


def later_calls(
    tree: Tree, last: int, calls: Iterable[Call], freed: Sequence[FreedBlock], front: Front
) -> Iterator[LaterCall]:
    """The recorded `calls` after a context that ends at `last` (a node), as they left; edits change its blocks in
    `freed`."""
    stand = _Standing(tree, last, freed)
    fronts = _Fronts(tree, front)
    for call in calls:
        held = fronts.placed(call.sent_head, stand.go(call.sent_head), stand.parted)
        yield LaterCall(call.usage, call.started or 0.0, tuple(_as_told(call, held, front)), call)


def _as_told(call: Call, held: Sequence[FreedBlock], front: Front) -> Sequence[FreedBlock]:
    """The blocks where the report of `call` has them: of a context that came to less than its blocks are counted, each
    place is so much nearer to the front."""
    told = call.usage.input if call.usage is not None else 0
    counted = front(call.sent_head, call.sent_head) if held and told else 0
    if counted <= told:
        return held
    return [one._replace(before=round(one.before * told / counted)) for one in held]


class WhatFollowed(Struct, frozen=True, kw_only=True):
    """The recorded `calls` after a context, which goes on under the edits of `situation`; `front` gives the tokens of a
    context up to a node, `charge` what usage costs (None: no price is known)."""

    situation: PolicyContext
    calls: Sequence[Call]
    front: Front
    charge: LaterCharge | None

    def under(self, after: Applied, tag: PriceTag) -> RestOfSession | None:
        """What the edits in `after`, whose price is `tag`, would have saved in them; None where none followed."""
        freed = list(freed_blocks(self.situation, after)) if self.calls else []
        if not freed:
            return None
        context = self.situation.context
        calls = list(later_calls(context.tree, context.nodes[-1], self.calls, freed, self.front))
        return rest_of_session(calls, left_by(tag), self.charge, charged_as(tag, freed))


def freed_blocks(here: PolicyContext, after: Applied) -> Iterator[FreedBlock]:
    """The blocks that `after` makes smaller than they are `here`: the tokens that go, and those in front of them."""
    found: dict[int, int] = {}
    for position in {*after.changes, *here.applied.changes}:
        change = after.changes.get(position)
        size = here.tokens(position) if change is None else 0 if change.after is None else here.count(change.after)
        found[position] = here.size(position) - size
    for sign, applied in ((-1, after), (1, here.applied)):
        for one in applied.inserts:
            tokens = sum(here.count(item.block) for item in one.items)
            found[one.position] = found.get(one.position, 0) + sign * tokens
    front, at = here.hidden, 0
    for position in sorted(found):
        front += sum(here.tokens(p) for p in range(at, position))
        at = position
        if found[position]:
            yield FreedBlock(position, front, found[position])


class _Fronts:
    """What stands before changed blocks in one context after the other. It is another length where they moved, where a
    person spoke since, so that thinking of the turn before is not read any more, and where blocks are gone."""

    def __init__(self, tree: Tree, front: Front) -> None:
        self._tree, self._front = tree, front
        self._for: tuple[int, list[int]] = (-1, [])
        self._nodes: list[int] = []
        self._key: object = None
        self._placed: tuple[FreedBlock, ...] = ()

    def placed(self, head: int, found: Sequence[tuple[FreedBlock, int]], parted: int) -> tuple[FreedBlock, ...]:
        """The blocks where they stand in the context `head`; `parted` is another number where one did not go on from
        the one before it."""
        if not found:
            return ()
        places = [at for _, at in found]
        if self._for != (parted, places):
            path = list(self._tree.path(head))
            self._for, self._nodes = (parted, places), [path[at - 1] if at else ROOT for at in places]
        # Where the last front is as long as it was, so are those before it.
        key = parted, places, self._tree[head].turn_start, self._front(head, self._nodes[-1])
        if self._key != key:
            fronts = [self._front(head, node) for node in self._nodes]
            self._placed = tuple(
                one._replace(at=at, before=before) for (one, at), before in zip(found, fronts, strict=True)
            )
            self._key = key
        return self._placed


class _Standing:
    """Where changed blocks stand in one context after the other. Edits are about content, and which of several equal
    blocks one is: where a call parts from the one before, a block may stand again, as after a compaction that kept
    it."""

    def __init__(self, tree: Tree, head: int, freed: Sequence[FreedBlock]) -> None:
        self._tree = tree
        self._head = head
        self._freed = freed
        self._at: dict[int, int | None] = {one.at: one.at for one in freed}
        self._first = head
        self._names: dict[int, tuple[str, int]] = {}
        self.parted = 0
        """How often a context did not go on from the one before it."""

    def _places(self, head: int, among: frozenset[str] | None = None) -> dict[tuple[str, int], int]:
        """The blocks of a context, or those `among` digests, by digest and which of several, with their positions."""
        found: dict[tuple[str, int], int] = {}
        seen: Counter[str] = Counter()
        for at, node in enumerate(self._tree.path(head)):
            digest = self._tree[node].block.digest
            if among is None or digest in among:
                found[digest, seen[digest]] = at
                seen[digest] += 1
        return found

    def go(self, head: int) -> list[tuple[FreedBlock, int]]:
        """The blocks that the context `head` has, each with its position there."""
        tree = self._tree
        shared = tree[tree.common(self._head, head)].depth
        parts, self._head = shared < tree[self._head].depth, head
        self.parted += parts
        gone = [at for at, now in self._at.items() if now is None or now >= shared]
        if parts and gone:
            if not self._names:
                self._names = {at: name for name, at in self._places(self._first).items() if at in self._at}
            names = [self._names[at] for at in gone if at in self._names]
            places = self._places(head, frozenset(digest for digest, _ in names))
            for was in gone:
                self._at[was] = places.get(self._names[was]) if was in self._names else None
        return [(one, at) for one in self._freed if (at := self._at[one.at]) is not None]
