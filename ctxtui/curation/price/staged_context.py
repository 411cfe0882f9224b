"""Where blocks stand under staged edits, and how many tokens come before them: arithmetic on what was changed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from ctxtui.cache.prompt import CachedPrompt
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied, BlockChange
from ctxtui.curation.apply.standing_markers import RAW, Edge, put_in
from ctxtui.curation.context import THINKING
from ctxtui.curation.price.sent_path import SentPath
from ctxtui.wire.grammars import ANTHROPIC

Count = Callable[[Block], int]
"""Tokens of one block, as the provider reads it."""


class StandingBlock(NamedTuple):
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

    def __init__(
        self,
        before: Applied,
        after: Applied,
        base: CachedPrompt,
        count: Count,
        path: SentPath,
    ) -> None:
        self._context = after.context
        self._path = path
        self.before = before
        self._after = after
        self._base = base
        self._count = count
        self._spoken = _spoken(after) if base.rules.strips else 0
        self._moves: dict[int, Edge | None] = {}
        """Where something else begins to stand that is read than under other edits, by which those are."""
        changed = self._changed(before)
        self.edge = self._first(before)
        self.first = None if self.edge is None else self.edge[0]
        steps, self._out = self._changes(before, changed)
        self._steps = sorted(steps)
        self._sums = [0, *accumulate(map(steps.__getitem__, self._steps))]
        self._new = put_in(after)
        there = [(at, order) for at, items in self._new.items() for order, item in enumerate(items) if _counts(item)]
        self._in = sorted(there)

    def parts_from(self, other: Applied) -> Edge | None:
        """Where the prompt parts from the one under `other`; None where both are the same."""
        return self._first(other)

    def goes_back(self, other: Applied) -> Edge | None:
        """Where what is changed begins, if what stands before is read as it was when nothing came behind it: a person
        spoke last there, and what shows is there. None where it is not, or where it is read as under `other`."""
        real = self._moved(other)
        if real is None or not self._read_otherwise(other) or self._spoken >= real[0]:
            return None
        return real if _shows(self._after) == _shows(self._after, real[0]) else None

    def same(self, other: Applied, nodes: Sequence[int]) -> Iterator[tuple[Edge, int]]:
        """The places behind that where the same blocks stand nevertheless, because those between were alike: each with
        the node that is the same, of the `nodes` from there on of a request under `other`."""
        start = self.parts_from(other)
        if start is None or self._read_otherwise(other):
            return
        tree = self._context.tree
        for (edge, item), node in zip(self._forward(start), nodes, strict=False):
            here = tree[node]
            if here.block.digest != item.block.digest or here.place[:2] != item.place[:2]:
                return
            yield edge, node

    def _forward(self, start: Edge) -> Iterator[tuple[Edge, Item]]:
        """What stands from `start` on."""
        first, ahead = start
        for position in range(first, len(self._context) + 1):
            new = self._new.get(position, ())
            yield from (((position, n), new[n]) for n in range(ahead if position == first else 0, len(new)))
            fate = _fate(self._after, position)
            if position < len(self._context) and fate is not False:
                item = self._context.items[position]
                yield (position, RAW), item if fate is True else Item(fate, item.place)

    def _changed(self, before: Applied) -> list[int]:
        """The raw positions at which something else stands."""
        after = self._after
        if not before.changes:
            return list(after.changes)
        return [p for p in {*before.changes, *after.changes} if _fate(before, p) != _fate(after, p)]

    def _first(self, before: Applied) -> Edge | None:
        """Where the prompt begins to be another one."""
        moved = self._moved(before)
        return min([*([] if moved is None else [moved]), *self._read_otherwise(before)], default=None)

    def _moved(self, before: Applied) -> Edge | None:
        """Where something else begins to stand that is read; None where nothing does."""
        if id(before) not in self._moves:
            changed = self._changed(before)
            first = min(changed if not self._spoken else (p for p in changed if not self.is_stripped(p)), default=None)
            places = [] if first is None else [(first, RAW)]
            if before.inserts != self._after.inserts:
                places += _differing(put_in(before), put_in(self._after))
            self._moves[id(before)] = min(places, default=None)
        return self._moves[id(before)]

    def _read_otherwise(self, before: Applied) -> list[Edge]:
        """Where what stands there still is not read as it was."""
        places = [(p, RAW) for p in self._again(before)] if self._base.rules.strips else []
        if _shows(before) != _shows(self._after):
            places += [(message.start, 0) for message in self._context.messages[:1]]
        return places

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

    def _changes(self, before: Applied, changed: list[int]) -> tuple[dict[int, int], list[int]]:
        """By how many tokens each position differs from what it was, and which parts of messages are out."""
        spoken = _spoken(before) if self._base.rules.strips else 0
        again = self._again(before) if self._base.rules.strips else ()
        steps: dict[int, int] = {}
        for position in {*changed, *again}:
            stands = self._tokens(_fate(self._after, position), position, self._spoken)
            steps[position] = stands - self._tokens(_fate(before, position), position, spoken)
        out = sorted(p for p, c in self._after.changes.items() if _is_out(c))
        for side, sign in ((self._after, 1), (before, -1)):
            for one in side.inserts:
                tokens = sum(self._count(item.block) for item in one.items)
                steps[one.position] = steps.get(one.position, 0) + sign * tokens
        return steps, out

    @property
    def more(self) -> int:
        """Tokens that the edits add (negative: free)."""
        return self._sums[-1]

    @property
    def total(self) -> int:
        """Tokens of the whole request; never fewer than those of the front that stays, whose length was reported."""
        return max(self._base.total + self.more, 0 if self.first is None else self.upto(self.first - 1))

    def own(self, position: int) -> int:
        """Tokens of the raw block at `position`, as it is read; 0 for thinking that the provider takes out."""
        return 0 if self.is_stripped(position) else self._count(self._context.items[position].block)

    def upto(self, position: int) -> int:
        """Tokens up to and with the raw block at `position`, with what stands in front of it."""
        there = self._base.tokens(self._path.upto(position) if position >= 0 else ROOT)
        return there + self.more_upto(position)

    def more_upto(self, position: int) -> int:
        """How many of those the edits add (negative: they take them away)."""
        return self._sums[bisect_right(self._steps, position)]

    def at(self, edge: Edge) -> int:
        """As `upto`, with the block that stands at `edge`."""
        position, order = edge
        if order == RAW:
            return self.upto(position)
        return self.upto(position - 1) + sum(self._count(item.block) for item in self._new[position][: order + 1])

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

    def _tokens(self, fate: Block | bool, position: int, spoken: int) -> int:
        """Tokens of what stands at `position` where a person last speaks at `spoken`."""
        if fate is False:
            return 0
        block = self._context.items[position].block if fate is True else fate
        return 0 if position < spoken and block.kind in THINKING else self._count(block)

    def back(self, start: Edge) -> Iterator[StandingBlock]:
        """What stands under the edits, from the end back to `start`."""
        first, ahead = start
        for position in range(len(self._context), first - 1, -1):
            if position < len(self._context):
                fate = _fate(self._after, position)
                item = self._context.items[position]
                if fate is not False:
                    changed = item if fate is True else Item(fate, item.place)
                    yield StandingBlock(position, changed, self.upto(position), (position, RAW))
            new = self._new.get(position)
            if new is None:
                continue
            end = self.upto(position - 1) + sum(self._count(item.block) for item in new)
            for order in range(len(new) - 1, (ahead if position == first else 0) - 1, -1):
                yield StandingBlock(-1, new[order], end, (position, order))
                end -= self._count(new[order].block)


def _counts(item: Item) -> bool:
    return item.block.kind != HEADER


def _is_out(change: BlockChange) -> bool:
    """Whether a part of a message is out."""
    return change.after is None and change.before.kind != HEADER


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
    change: BlockChange | None = side.changes.get(position)
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


def _shows(side: Applied, until: int | None = None) -> bool:
    """Whether an image is left (before the raw position `until`), which decides how Anthropic caches all messages
    (facts §2)."""
    if side.context.dialect != ANTHROPIC:
        return False
    images = side.context.images
    for position in images if until is None else images[: bisect_left(images, until)]:
        fate = _fate(side, position)
        if fate is True or (fate is not False and b'"type":"image"' in fate.body):
            return True
    return False
