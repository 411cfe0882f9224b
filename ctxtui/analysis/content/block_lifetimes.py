"""How long blocks stay: in which calls of a thread each stood, what that comes to, and how far a cache can keep it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT, Tree

HIGH, MEDIUM, LOW = "high", "medium", "low"
_HIGH: Final = 0.9
"""The share of further calls that a block of high stability stood in, at least."""
_MEDIUM: Final = 0.5


_Key = tuple[str, int]
"""A block's digest, and which of the same in a context it is (from 1)."""


class Lifetime(NamedTuple):
    """Calls (from 0) `start` to `stop` - 1 in whose context a block stood as `node`."""

    start: int
    stop: int
    node: int


class Stays:
    """The calls (numbered from 0) of one thread in whose context each block stood, and the first that answered with it.

    A block is followed by its content and by how many of the same stand before it, not by its node: one that a client
    sends again behind a changed beginning stays. `advance` follows the thread; a step costs the blocks that entered and
    left with a call.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._open: dict[_Key, tuple[int, int]] = {}
        """Where each block of the last context began to stand as the node that it is there: the call and the node."""
        self._stood: dict[_Key, list[Lifetime]] = {}
        self._answered: dict[_Key, tuple[int, int]] = {}
        self._answers: list[list[_Key]] = []
        self._nth: dict[int, int] = {}
        self._now: dict[str, int] = {}
        """How often each block stands in the context that `_walk` has come to."""
        self._prefix: dict[int, int] = {ROOT: ROOT}
        """For each node the first one whose prefix says the same, however its messages are spelt."""
        self._prefixes: dict[tuple[int, str, str], int] = {}
        self._heads: list[int] = []
        self._epochs: list[int] = []

    @property
    def done(self) -> int:
        """How many calls are taken in."""
        return len(self._heads)

    def advance(self, calls: Sequence[Call], limit: int | None = None) -> int:
        """Take in up to `limit` further `calls` of the thread; returns `done`."""
        last = len(calls) if limit is None else min(len(calls), self.done + limit)
        for index in range(self.done, last):
            self._step(index, calls[index])
        return self.done

    def _step(self, index: int, call: Call) -> None:
        gone, come = self._walk(self._heads[-1] if self._heads else ROOT, call.sent_head)
        for key in gone:
            start, node = self._open.pop(key)
            self._stood.setdefault(key, []).append(Lifetime(start, index, node))
        for key, node in come.items():
            self._open[key] = (index, node)
        _, said = self._walk(call.sent_head, call.response_head)
        new = {key: (index, node) for key, node in said.items() if key not in self._answered}
        self._walk(call.response_head, call.sent_head)
        self._answered.update(new)
        self._answers.append(list(new))
        self._epochs.append(call.epoch.number)
        # Last, since `done` counts these: another thread may read while this one enters.
        self._heads.append(call.sent_head)

    def _walk(self, before: int, head: int) -> tuple[dict[_Key, int], dict[_Key, int]]:
        """The blocks that leave and those that enter from one context to the next, with their nodes."""
        shared = self._tree.common(before, head)
        left = self._tree.path(before, shared)
        gone = {self._key(node): node for node in left}
        for node in left:
            self._now[self._tree[node].block.digest] -= 1
        come = {}
        for node in self._tree.path(head, shared):
            digest = self._tree[node].block.digest
            nth = self._nth[node] = self._now[digest] = self._now.get(digest, 0) + 1
            come[digest, nth] = node
            self._prefix[node] = self._said(node)
        return gone, come

    def _said(self, node: int) -> int:
        here = self._tree[node]
        before = self._prefix[here.parent]
        if here.block.kind == HEADER:
            return before
        return self._prefixes.setdefault((before, here.place.role, here.block.digest), node)

    def _key(self, node: int) -> _Key:
        return self._tree[node].block.digest, self._nth.get(node, 0)

    def nth(self, node: int) -> int:
        """Which of the same blocks in its context the block of `node` is, from 1; 0 for one that was not met."""
        return self._nth.get(node, 0)

    def back(self, calls: int) -> None:
        """Keep the first `calls` calls only: the next one was replaced by a fuller record of it."""
        while self.done > calls:
            head = self._heads.pop()
            gone, come = self._walk(head, self._heads[-1] if self._heads else ROOT)
            for key in gone:
                del self._open[key]
            for key in come:
                start, _, node = self._stood[key].pop()
                self._open[key] = (start, node)
            for key in self._answers.pop():
                del self._answered[key]
            self._epochs.pop()

    def first(self, node: int) -> int | None:
        """The first call in whose context the block of `node` stood; None where it stood in none yet."""
        key = self._key(node)
        stood, now = self._stood.get(key), self._open.get(key)
        return stood[0].start if stood else now[0] if now else None

    def answered(self, node: int) -> int | None:
        """The first call that answered with the block of `node`; None where none did."""
        found = self._answered.get(self._key(node))
        return found[0] if found else None

    def answers(self) -> list[int]:
        """The node of each block that a call answered with, where it first did."""
        return [node for _, node in self._answered.values()]

    def count(self, node: int, calls: int) -> int:
        """In how many of the first `calls` calls the block of `node` stood."""
        return sum(stop - start for start, stop, _ in self.stretches(node, calls))

    def stretches(self, node: int, calls: int) -> list[Lifetime]:
        """The stretches of the first `calls` calls in which the block of `node` stood, in order, each with the node
        that it was there."""
        key, end = self._key(node), min(calls, self.done)
        now = self._open.get(key)
        every = [*self._stood.get(key, ()), *([Lifetime(now[0], end, now[1])] if now else [])]
        return [Lifetime(start, min(stop, end), there) for start, stop, there in every if start < end]

    def standing(self, node: int, index: int) -> int | None:
        """The node that the block of `node` was in the context of call `index`; None where it did not stand there."""
        return next((there for start, stop, there in self.stretches(node, index + 1) if start <= index < stop), None)

    def every(self) -> list[int]:
        """The first node of each block that stood in a context, in the order in which they entered."""
        firsts = {key: (now[0], now[1]) for key, now in self._open.items()}
        firsts.update((key, (stood[0].start, stood[0].node)) for key, stood in self._stood.items() if stood)
        return [node for _, _, node in sorted((at, self._tree[node].depth, node) for at, node in firsts.values())]

    def stability(self, node: int) -> tuple[str, int, int]:
        """How far a cache can keep the block: `HIGH`, `MEDIUM`, `LOW`, or "" where fewer than two further calls tell.

        Then in how many further calls of the epoch in which it entered (up to a compaction, a change of model ...) it
        stood with everything before it unchanged, and how many further calls there were.
        """
        every = self.stretches(node, self.done)
        if not every:
            return "", 0, 0
        first, said = every[0].start, self._prefix[every[0].node]
        end = bisect_right(self._epochs, self._epochs[first], lo=first)
        further = end - first - 1
        held = (
            sum(min(stop, end) - start for start, stop, there in every if self._prefix[there] == said and start < end)
            - 1
        )
        if further < 2:
            return "", held, further
        share = held / further
        return HIGH if share >= _HIGH else MEDIUM if share >= _MEDIUM else LOW, held, further
