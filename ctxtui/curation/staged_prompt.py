"""The next request under staged edits as a cache sees it, derived from the request without them.

Up to the first change both are the same prefix. Behind it nothing can have been cached before, so only the places that
a cache could look at are made: those around markers and message ends. That is arithmetic on the edits, not on the ten
thousand blocks that nobody changed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from ctxtui.cache.prefix_key import Spot
from ctxtui.cache.prompt import Mark, Prompt
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.curation.applied import Applied, Change
from ctxtui.curation.context import THINKING
from ctxtui.wire.grammars import ANTHROPIC, MESSAGE_PARTS, RESPONSES

Count = Callable[[Block], int]
"""Tokens of one block, as the provider reads it."""

ENDS: Final = 22
"""Message ends that are made behind the first change: one more than any cache looks up (facts §4)."""
_FRESH: Final = b"\0staged"


class Standing(NamedTuple):
    """A block under the edits: its raw `position` (-1: an edit put it in) and the tokens up to and with it."""

    position: int
    item: Item
    tokens: int


class StagedContext:
    """Where blocks stand under `after` and how many tokens come before them, against the same context under `before`
    (edits that are applied already; none of them by default)."""

    def __init__(self, before: Applied, after: Applied, base: Prompt, count: Count) -> None:
        self._context = after.context
        self._after = after
        self._base = base
        self._count = count
        self._spoken = _spoken(after) if base.rules.strips else 0
        changed = [p for p in {*before.changes, *after.changes} if _fate(before, p) != _fate(after, p)]
        self.first = self._first(before, changed)
        steps = self._changes(before, changed)
        self._steps = sorted(steps)
        self._sums = [0, *accumulate(steps[position] for position in self._steps)]
        self._out = sorted(p for p, c in after.changes.items() if c.after is None and c.before.kind != HEADER)
        self._in = sorted(i.position for i in after.inserts for item in i.items if item.block.kind != HEADER)

    def _first(self, before: Applied, changed: list[int]) -> int | None:
        """The first position from which the prompt is another one."""
        places = [p for p in changed if not self.is_stripped(p)]
        places += [one.position for one in {*before.inserts} ^ {*self._after.inserts}]
        if self._base.rules.strips:
            places += self._again(before)
        if _shows(before) != _shows(self._after):
            places += [message.start for message in self._context.messages[:1]]
        return min(places, default=None)

    def _again(self, before: Applied) -> list[int]:
        """Thinking that is read only on one side, because a person last spoke elsewhere."""
        low, high = sorted((_spoken(before), self._spoken))
        thinking = self._context.thinking
        return [
            p for p in thinking[bisect_left(thinking, low) : bisect_left(thinking, high)] if _stands(self._after, p)
        ]

    def is_stripped(self, position: int) -> bool:
        """Whether the block at `position` is thinking that the provider takes out."""
        return position < self._spoken and self._context.items[position].block.kind in THINKING

    def _changes(self, before: Applied, changed: list[int]) -> dict[int, int]:
        """By how many tokens each position differs from what it was."""
        steps: dict[int, int] = {}
        for position in changed:
            steps[position] = self._tokens(_fate(self._after, position), position)
            steps[position] -= self._tokens(_fate(before, position), position)
        for side, sign in ((self._after, 1), (before, -1)):
            for one in side.inserts:
                tokens = sum(self._count(item.block) for item in one.items)
                steps[one.position] = steps.get(one.position, 0) + sign * tokens
        return steps

    @property
    def more(self) -> int:
        """Tokens that the edits add (negative: free)."""
        return self._sums[-1]

    def own(self, position: int) -> int:
        """Tokens of the raw block at `position`, as it is read; 0 for thinking that the provider takes out."""
        return 0 if self.is_stripped(position) else self._count(self._context.items[position].block)

    def upto(self, position: int) -> int:
        """Tokens up to and with the raw block at `position`, with what stands in front of it."""
        raw = self._base.tokens(self._context.nodes[position]) if position >= 0 else 0
        return raw + self._sums[bisect_right(self._steps, position)]

    def number(self, position: int) -> int:
        """How many places there are from the first change up to and with the raw block at `position`."""
        first = self.first or 0
        found = self._context.blocks_before[position + 1] - self._context.blocks_before[first]
        found -= bisect_right(self._out, position) - bisect_left(self._out, first)
        found += bisect_right(self._in, position) - bisect_left(self._in, first)
        if self._base.rules.strips:
            found -= self._stripped(first, position)
        return found

    def _stripped(self, first: int, position: int) -> int:
        thinking = self._context.thinking
        last = min(position, self._spoken - 1)
        inside = thinking[bisect_left(thinking, first) : bisect_right(thinking, last)]
        return sum(_stands(self._after, p) for p in inside)

    def _tokens(self, fate: Block | bool, position: int) -> int:
        if fate is False:
            return 0
        return self.own(position) if fate is True else self._count(fate)

    def back(self) -> Iterator[Standing]:
        """What stands under the edits, from the end back to the first change."""
        inserts: dict[int, list[Item]] = {}
        for one in self._after.inserts:
            inserts.setdefault(one.position, []).extend(one.items)
        for position in range(len(self._context), (self.first or 0) - 1, -1):
            if position < len(self._context):
                fate = _fate(self._after, position)
                item = self._context.items[position]
                if fate is not False:
                    changed = item if fate is True else Item(fate, item.place)
                    yield Standing(position, changed, self.upto(position))
            new = inserts.get(position, [])
            end = self.upto(position - 1) + sum(self._count(item.block) for item in new)
            for item in reversed(new):
                yield Standing(-1, item, end)
                end -= self._count(item.block)


def _fate(side: Applied, position: int) -> Block | bool:
    """What stands at `position`: True for what was there, False for nothing, else another block."""
    change: Change | None = side.changes.get(position)
    if change is None:
        return True
    return False if change.after is None else change.after


def _stands(side: Applied, position: int) -> bool:
    return _fate(side, position) is not False


def _spoken(side: Applied) -> int:
    """The position at which a person last speaks; thinking in front of it is taken out by models that strip it."""
    new = max((one.position for one in side.inserts if one.items[-1].place.role == "user"), default=-1)
    old = next((p for p in reversed(side.context.spoken) if _stands(side, p)), -1)
    return max(new, old)


def _shows(side: Applied) -> bool:
    """Whether an image is left, which decides how Anthropic caches all messages (facts §2)."""
    if side.context.dialect != ANTHROPIC:
        return False
    for position in side.context.images:
        fate = _fate(side, position)
        if fate is True or (fate is not False and b'"type":"image"' in fate.body):
            return True
    return False


def trail_of(base: Prompt) -> list[Spot]:
    """The places of a prompt, from the front on."""
    return list(base.last.back())[::-1]


def staged_prompt(
    base: Prompt, before: Applied, after: Applied, count: Count, trail: Sequence[Spot] | None = None
) -> tuple[Prompt, StagedContext]:
    """The prompt that `base` becomes when `after` is applied instead of `before`. `base` must be the request of the
    context under `before`, its places by the nodes of the raw path; `count` gives the tokens of new blocks, `trail` is
    `trail_of(base)`, for whoever asks more than once."""
    staged = StagedContext(before, after, base, count)
    if staged.first is None and before.marks == after.marks:
        return base, staged
    places = _Places(base, staged, after, trail_of(base) if trail is None else trail)
    marks = [made for mark in base.marks if (made := places.mark(mark)) is not None]
    marks += places.added(before)
    numbers = sorted(marks, key=lambda mark: mark.spot.number)
    return base._replace(
        last=places.last, marks=tuple(numbers), tokens=places.tokens, total=base.total + staged.more
    ), staged


def _front(spot: Spot) -> Spot:
    while spot.before is not None:
        spot = spot.before
    return spot


class _Places:
    """The places of a staged prompt: those of the base in front of the first change, new ones behind it."""

    def __init__(self, base: Prompt, staged: StagedContext, after: Applied, trail: Sequence[Spot]) -> None:
        self._base, self._staged, self._after, self._trail = base, staged, after, trail
        self._context = after.context
        self._tokens: dict[int, int] = {}
        self._at: dict[int, Spot] = {}
        first = len(self._context) if staged.first is None else staged.first
        index = bisect_left(trail, first, key=self._position)
        self._front = trail[index - 1] if index else _front(base.last)
        self._make()

    def _position(self, spot: Spot) -> int:
        return self._context.tree[spot.node].depth - 1

    def tokens(self, node: int) -> int:
        """Tokens up to a place; the nodes of new ones are negative."""
        return self._tokens[node] if node < 0 else self._base.tokens(node)

    def mark(self, mark: Mark) -> Mark | None:
        """A marker of the base, where it is now; None where its block is out."""
        position = self._position(mark.spot)
        edit = self._after.marks.get(position)
        if edit is not None and edit.given.get("on") is False:
            return None
        if self._staged.first is None or position < self._staged.first:
            return mark
        spot = self._at.get(position)
        return None if spot is None else Mark(spot, mark.life)

    def added(self, before: Applied) -> list[Mark]:
        """The markers that breakpoint edits add."""
        had = {self._position(mark.spot) for mark in self._base.marks}
        found = []
        for position, edit in self._after.marks.items():
            if edit.given.get("on") is False or (position in had and before.marks.get(position) == edit):
                continue
            spot = self._at.get(position) or self._raw(position)
            if spot is not None:
                found.append(Mark(spot, self._base.rules.seconds(str(edit.given.get("ttl") or ""))))
        return found

    def _raw(self, position: int) -> Spot | None:
        if self._staged.first is not None and position >= self._staged.first:
            return None
        node = self._context.nodes[position]
        index = bisect_left(self._trail, position, key=self._position)
        found = self._trail[index] if index < len(self._trail) else None
        return found if found is not None and found.node == node else None

    def _make(self) -> None:
        """New places, from the end back: enough message ends, and the look-back of each marker."""
        self.last = self._front
        if self._staged.first is None:
            return
        first = self._staged.first
        marked = {self._position(mark.spot) for mark in self._base.marks} | set(self._after.marks)
        wanted = {position for position in marked if position >= first}
        chosen: list[Standing] = []
        ends, near, role = 0, 0, ""
        for one in self._staged.back():
            if not self._is_place(one):
                continue
            near = self._base.rules.lookback if one.position in wanted else near - 1
            ends += one.item.place.role != role
            role = one.item.place.role
            if ends <= ENDS or near > 0:
                chosen.append(one)
            elif not any(position < one.position for position in wanted):
                break
        for one in reversed(chosen):
            self._add(one)

    def _is_place(self, one: Standing) -> bool:
        if one.item.block.kind == HEADER:
            return self._context.dialect != ANTHROPIC
        return one.position < 0 or not self._staged.is_stripped(one.position)

    def _add(self, one: Standing) -> None:
        node = -1 - len(self._tokens)
        self._tokens[node] = one.tokens
        number = self.last.number + 1
        if one.position >= 0:
            number = max(number, self._front.number + self._staged.number(one.position))
        section, role, _ = one.item.place
        key = _FRESH + one.item.block.digest.encode() + node.to_bytes(4, "big", signed=True)
        opens = self._context.dialect != ANTHROPIC and self._opens(one.item)
        self.last = Spot(key, self.last, node, number, section, role, opens)
        if one.position >= 0:
            self._at[one.position] = self.last

    def _opens(self, item: Item) -> bool:
        alone = self._context.dialect == RESPONSES and item.block.kind not in MESSAGE_PARTS
        return item.block.kind == HEADER or (alone and item.place.section == "messages")
