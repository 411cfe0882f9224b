"""The next request under staged edits as a cache sees it, derived from the request without them.

Up to the first change both are the same prefix. Behind it nothing can have been cached before, so only the places that
a cache could look at are made: those around markers and message ends. That is arithmetic on the edits, not on the ten
thousand blocks that nobody changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMark
from ctxtui.core.block import HEADER, Item
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.standing_markers import RAW, Edge, standing_markers
from ctxtui.curation.price.sent_path import END, SentPath
from ctxtui.curation.price.staged_context import Count, StagedContext, StandingBlock
from ctxtui.wire.grammars import ANTHROPIC, MESSAGE_PARTS, RESPONSES

ENDS: Final = 22
"""Message ends that are made behind the first change: one more than any cache looks up (facts §4)."""
_FRESH: Final = b"\0staged"


def trail_of(base: CachedPrompt) -> list[PrefixEnd]:
    """The places of a prompt, from the front on."""
    return list(base.last.back())[::-1]


class Front(NamedTuple):
    """A request that was made before: the edits that it is `under`, its places from the front on, and their path."""

    under: Applied
    trail: Sequence[PrefixEnd]
    path: SentPath


Earlier = Callable[[int], Sequence[PrefixEnd]]
"""Gives the places of the request that ended at a node, from the front on."""


def staged_prompt(
    base: CachedPrompt,
    front: Front,
    after: Applied,
    count: Count,
    other: Front | None = None,
    earlier: Earlier | None = None,
) -> tuple[CachedPrompt, StagedContext]:
    """The prompt that `base` becomes when `after` is applied instead of the edits that it is under; `front` has its
    places. Where a longer prefix is that of another request, as where a staged edit undoes an applied one, `other`
    gives that request, `earlier` those that ended sooner. `count` gives the tokens of new blocks."""
    staged = StagedContext(front.under, after, base, count, front.path)
    if staged.first is None and front.under.marks == after.marks:
        return base, staged
    fixed = {front.path.edge(mark.spot.node): mark.life for mark in base.marks if not mark.ends}
    standing = standing_markers(after, _movable(base, front, after, fixed))
    nearest, start = front, staged.edge or END
    if other is not None and start is not END:
        parts = staged.parts_from(other.under) or END
        nearest, start = (other, parts) if parts > start else (front, start)
    if earlier is not None and start is not END and (back := staged.goes_back(nearest.under)) is not None:
        path = nearest.path
        before = path.index(back)
        if before:
            nearest, start = nearest._replace(trail=earlier(path.nodes[before - 1])), back
    places = _Places(base, staged, after, nearest, start, standing)
    marks = [made for edge, life in standing.items() if (made := places.mark(edge, life)) is not None]
    marks += [made for mark in base.marks if mark.ends and (made := places.at_end(mark)) is not None]
    marks += places.added(front.under, fixed)
    # Of several at one place the last one counts.
    one_each = {mark.spot.number: mark for mark in marks}
    numbers = [one_each[number] for number in sorted(one_each)]
    return base._replace(last=places.last, marks=tuple(numbers), tokens=places.tokens, total=staged.total), staged


def _movable(base: CachedPrompt, front: Front, after: Applied, fixed: Mapping[Edge, float]) -> dict[Edge, float]:
    """The markers that `fixed` has at their blocks, as they would be without breakpoint edits: those of blocks that are
    out move, those that an edit set there do not."""
    found: dict[Edge, float] = {}
    for edge, life in fixed.items():
        position = edge[0]
        edit = front.under.marks.get(position) if edge[1] == RAW else None
        change = after.changes.get(position) if edit is not None else None
        if change is None or change.after is not None:
            found[edge] = life
        elif position in after.context.markers:
            found[edge] = base.rules.seconds(after.context.markers[position])
    return found


def _front(spot: PrefixEnd) -> PrefixEnd:
    while spot.before is not None:
        spot = spot.before
    return spot


class _Places:
    """The places of a staged prompt: those of `front` before `start`, new ones behind it."""

    def __init__(
        self,
        base: CachedPrompt,
        staged: StagedContext,
        after: Applied,
        front: Front,
        start: Edge,
        standing: Collection[Edge],
    ) -> None:
        self._base, self._staged, self._after = base, staged, after
        self._front, self._start, self._standing = front, start, standing
        self._context = after.context
        self._tokens: dict[int, int] = {}
        self._at: dict[Edge, PrefixEnd] = {}
        self._edges: list[Edge] = []
        self._rereads = front.under is staged.before and staged.edge is not None and staged.edge < start
        self._parted = False
        """Whether the last message begins behind `start`."""
        self._end_before: Edge | None = None
        index = bisect_left(front.trail, start, key=self._edge)
        self._before = front.trail[index - 1] if index else _front(base.last)
        self._resume = start
        """Where new places begin: behind blocks that are the same as those that stood there."""
        if start is not END:
            self._go_on(index)
        self._make()

    def _go_on(self, index: int) -> None:
        front, trail = self._front, self._front.trail
        for edge, node in self._staged.same(front.under, front.path.nodes[front.path.index(self._start) :]):
            if index < len(trail) and trail[index].node == node:
                self._before = self._at[edge] = trail[index]
                index += 1
            self._resume = (edge[0] + 1, 0) if edge[1] == RAW else (edge[0], edge[1] + 1)

    def _edge(self, spot: PrefixEnd) -> Edge:
        return self._front.path.edge(spot.node)

    def tokens(self, node: int) -> int:
        """Tokens up to a place; the nodes of new ones are negative."""
        if node < 0:
            return self._tokens[node]
        # In front of the first change only what is read otherwise now makes a difference.
        more = self._staged.more_upto(self._front.path.edge(node)[0]) if self._rereads else 0
        return self._base.tokens(node) + more

    def mark(self, edge: Edge, life: float) -> CacheMark | None:
        """A marker of the base that stands at `edge` now; None where that is no place."""
        spot = self._spot(edge)
        return None if spot is None else CacheMark(spot, life)

    def at_end(self, mark: CacheMark) -> CacheMark | None:
        """A marker that stands at the end of a message, where that is now; None where there is no such message."""
        spot = self.last if mark.ends == 1 else self._message_before()
        if spot.before is None:
            return None
        position, order = self._edges[-1 - spot.node] if spot.node < 0 else self._edge(spot)
        edit = self._after.marks.get(position) if order == RAW else None
        return None if edit is not None and edit.given.get("on") is False else mark._replace(spot=spot)

    def _message_before(self) -> PrefixEnd:
        """The place at which the message before the last one ends."""
        if self._end_before is not None:
            return self._at[self._end_before]
        if self._parted:
            return self._before
        tree, spot = self._context.tree, self._before
        message = tree[spot.node].message
        while spot.before is not None and tree[spot.node].message == message:
            spot = spot.before
        return spot

    def added(self, before: Applied, had: Collection[Edge]) -> list[CacheMark]:
        """The markers that breakpoint edits add to those that the base `had`."""
        found = []
        for position, edit in self._after.marks.items():
            edge = (position, RAW)
            if edit.given.get("on") is False or (edge in had and before.marks.get(position) == edit):
                continue
            spot = self._spot(edge)
            if spot is not None:
                found.append(CacheMark(spot, self._base.rules.seconds(str(edit.given.get("ttl") or ""))))
        return found

    def _spot(self, edge: Edge) -> PrefixEnd | None:
        if edge >= self._start:
            return self._at.get(edge)
        trail = self._front.trail
        index = bisect_left(trail, edge, key=self._edge)
        found = trail[index] if index < len(trail) else None
        return found if found is not None and self._edge(found) == edge else None

    def _make(self) -> None:
        """New places, from the end back: enough message ends, and the look-back of each marker."""
        self.last = self._before
        if self._start is END:
            return
        start = self._resume
        marked = {*self._standing, *((at, RAW) for at in self._after.marks)}
        wanted = {edge for edge in marked if edge >= start}
        chosen: list[StandingBlock] = []
        # Where entries stand at markers alone, only their surroundings are looked at.
        most = 0 if self._base.rules.mechanism.writes_at_markers else ENDS
        seeks = any(mark.ends == 2 for mark in self._base.marks)
        ends, near, role = 0, 0, ""
        for one in self._staged.back(start):
            self._parted = self._parted or (one.item.block.kind == HEADER and bool(chosen))
            if not self._is_place(one):
                continue
            before = self._parted and self._end_before is None and one.item.block.kind != HEADER
            if before:
                self._end_before = one.edge
            near = self._base.rules.lookback if before or not chosen or one.edge in wanted else near - 1
            ends += one.item.place.role != role
            role = one.item.place.role
            if near > 0 or ends <= most:
                chosen.append(one)
            elif (self._end_before or not seeks) and not any(edge < one.edge for edge in wanted):
                break
        for one in reversed(chosen):
            self._add(one)

    def _is_place(self, one: StandingBlock) -> bool:
        if one.item.block.kind == HEADER:
            return self._context.dialect != ANTHROPIC
        return one.position < 0 or not self._staged.is_stripped(one.position)

    def _add(self, one: StandingBlock) -> None:
        node = -1 - len(self._tokens)
        self._tokens[node] = one.tokens
        number = self.last.number + 1
        if one.position >= 0:
            number = max(number, self._before.number + self._staged.number(one.position, self._resume))
        section, role, _ = one.item.place
        key = _FRESH + one.item.block.digest.encode() + node.to_bytes(4, "big", signed=True)
        opens = self._context.dialect != ANTHROPIC and self._opens(one.item)
        self.last = PrefixEnd(key, self.last, node, number, section, role, opens)
        self._at[one.edge] = self.last
        self._edges.append(one.edge)

    def _opens(self, item: Item) -> bool:
        alone = self._context.dialect == RESPONSES and item.block.kind not in MESSAGE_PARTS
        return item.block.kind == HEADER or (alone and item.place.section == "messages")
