"""Where blocks stand under staged edits, and how many tokens come before them: arithmetic on what was changed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from ctxtui.cache.prompt import Prompt
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.curation.applied import Applied, Change
from ctxtui.curation.context import THINKING
from ctxtui.curation.sent_path import RAW, Edge, SentPath
from ctxtui.wire.grammars import ANTHROPIC

Count = Callable[[Block], int]
"""Tokens of one block, as the provider reads it."""


class Standing(NamedTuple):
    """A block under the edits: its raw `position` (-1: an edit put it in), the tokens up to and with it, and where it
    stands."""

    position: int
    item: Item
    tokens: int
    edge: Edge


class StagedContext:
    """Where blocks stand under `after` and how many tokens come before them, against the same context under `before`
    (edits that are applied already), whose request is `base` and stands on `path`.

    From `first` on, a raw position, the prompt is another one (None: it is the same); to be exact, from `edge` on.
    """

    def __init__(self, before: Applied, after: Applied, base: Prompt, count: Count, path: SentPath) -> None:
        self._context = after.context
        self._path = path
        self._after = after
        self._base = base
        self._count = count
        self._spoken = _spoken(after) if base.rules.strips else 0
        changed = self._changed(before)
        self.edge = self._first(before, changed)
        self.first = None if self.edge is None else self.edge[0]
        steps = self._changes(before, changed)
        self._steps = sorted(steps)
        self._sums = [0, *accumulate(steps[position] for position in self._steps)]
        self._out = sorted(p for p, c in after.changes.items() if c.after is None and c.before.kind != HEADER)
        self._new = _put_in(after)
        there = [(at, order) for at, items in self._new.items() for order, item in enumerate(items) if _counts(item)]
        self._in = sorted(there)

    def parts_from(self, other: Applied) -> Edge | None:
        """Where the prompt parts from the one under `other`; None where both are the same."""
        return self._first(other, self._changed(other))

    def _changed(self, before: Applied) -> list[int]:
        """The raw positions at which something else stands."""
        after = self._after
        return [p for p in {*before.changes, *after.changes} if _fate(before, p) != _fate(after, p)]

    def _first(self, before: Applied, changed: list[int]) -> Edge | None:
        """Where the prompt begins to be another one."""
        places = [(p, RAW) for p in changed if not self.is_stripped(p)]
        if before.inserts != self._after.inserts:
            places += _differing(_put_in(before), _put_in(self._after))
        if self._base.rules.strips:
            places += [(p, RAW) for p in self._again(before)]
        if _shows(before) != _shows(self._after):
            places += [(message.start, 0) for message in self._context.messages[:1]]
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
        there = self._base.tokens(self._path.upto(position)) if position >= 0 else 0
        return there + self._sums[bisect_right(self._steps, position)]

    def number(self, position: int, start: Edge) -> int:
        """How many places there are from `start` up to and with the raw block at `position`."""
        first = start[0]
        found = self._context.blocks_before[position + 1] - self._context.blocks_before[first]
        found -= bisect_right(self._out, position) - bisect_left(self._out, first)
        found += bisect_right(self._in, (position, RAW)) - bisect_left(self._in, start)
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

    def back(self, start: Edge) -> Iterator[Standing]:
        """What stands under the edits, from the end back to `start`."""
        first, ahead = start
        for position in range(len(self._context), first - 1, -1):
            if position < len(self._context):
                fate = _fate(self._after, position)
                item = self._context.items[position]
                if fate is not False:
                    changed = item if fate is True else Item(fate, item.place)
                    yield Standing(position, changed, self.upto(position), (position, RAW))
            new = self._new.get(position)
            if new is None:
                continue
            end = self.upto(position - 1) + sum(self._count(item.block) for item in new)
            for order in range(len(new) - 1, (ahead if position == first else 0) - 1, -1):
                yield Standing(-1, new[order], end, (position, order))
                end -= self._count(new[order].block)


def _counts(item: Item) -> bool:
    return item.block.kind != HEADER


def _put_in(side: Applied) -> dict[int, list[Item]]:
    """What edits put in, by the raw position before which it stands."""
    found: dict[int, list[Item]] = {}
    for one in side.inserts:
        found.setdefault(one.position, []).extend(one.items)
    return found


def _differing(one: dict[int, list[Item]], other: dict[int, list[Item]]) -> list[Edge]:
    """Where what is put in differs, by position the first block that does."""
    found = []
    for position in {*one, *other}:
        a, b = one.get(position, []), other.get(position, [])
        if a != b:
            same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            found.append((position, same))
    return found


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
