"""The next request under staged edits as a cache sees it, derived from the request without them.

Up to the first change both are the same prefix. Behind it nothing can have been cached before, so only the places that
a cache could look at are made: those around markers and message ends. That is arithmetic on the edits, not on the ten
thousand blocks that nobody changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from ctxtui.cache.prefix_key import Spot
from ctxtui.cache.prompt import Mark, Prompt
from ctxtui.core.block import HEADER, Item
from ctxtui.curation.applied import Applied
from ctxtui.curation.staged_context import Count, StagedContext, Standing
from ctxtui.wire.grammars import ANTHROPIC, MESSAGE_PARTS, RESPONSES

ENDS: Final = 22
"""Message ends that are made behind the first change: one more than any cache looks up (facts §4)."""
_FRESH: Final = b"\0staged"


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
