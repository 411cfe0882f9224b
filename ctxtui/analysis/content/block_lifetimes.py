"""How long blocks stay: in which calls of a thread each stood, what that comes to, and how far a cache can keep it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT, Tree

HIGH, MEDIUM, LOW = "high", "medium", "low"
_HIGH: Final = 0.9
"""The share of further calls that a block of high stability stood in, at least."""
_MEDIUM: Final = 0.5


class Stays:
    """The calls (numbered from 0) of one thread in whose context each node stood.

    `advance` follows the thread; a step costs the blocks that entered and left with a call. A node names a whole
    prefix: where one stays, everything before it stayed too.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._since: dict[int, int] = {}
        self._stood: dict[int, list[tuple[int, int]]] = {}
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
        gone, come = self._moved(self._heads[-1] if self._heads else ROOT, call.sent_head)
        for node in gone:
            self._stood.setdefault(node, []).append((self._since.pop(node), index))
        for node in come:
            self._since[node] = index
        self._epochs.append(call.epoch.number)
        # Last, since `done` counts these: another thread may read while this one enters.
        self._heads.append(call.sent_head)

    def _moved(self, before: int, head: int) -> tuple[list[int], list[int]]:
        """The blocks that leave and those that enter from one context to the next."""
        shared = self._tree.common(before, head)
        return self._tree.path(before, shared), self._tree.path(head, shared)

    def back(self, calls: int) -> None:
        """Keep the first `calls` calls only: the next one was replaced by a fuller record of it."""
        while self.done > calls:
            head = self._heads.pop()
            gone, come = self._moved(self._heads[-1] if self._heads else ROOT, head)
            for node in come:
                del self._since[node]
            for node in gone:
                self._since[node] = self._stood[node].pop()[0]
            self._epochs.pop()

    def first(self, node: int) -> int | None:
        """The first call in whose context `node` stood; None where it stood in none yet."""
        stood = self._stood.get(node)
        return stood[0][0] if stood else self._since.get(node)

    def count(self, node: int, calls: int) -> int:
        """In how many of the first `calls` calls `node` stood."""
        since = self._since.get(node)
        total = max(0, min(calls, self.done) - since) if since is not None else 0
        return total + sum(max(0, min(calls, end) - start) for start, end in self._stood.get(node, ()))

    def spans(self, node: int, calls: int) -> list[tuple[int, int]]:
        """The stretches [from, to) of the first `calls` calls in which `node` stood, in order."""
        since, end = self._since.get(node), min(calls, self.done)
        every = [*self._stood.get(node, ()), *([(since, end)] if since is not None else [])]
        return [(start, min(stop, end)) for start, stop in every if start < end]

    def stability(self, node: int) -> tuple[str, int, int]:
        """How far a cache can keep the block: `HIGH`, `MEDIUM`, `LOW`, or "" where fewer than two further calls tell.

        Then in how many further calls of the epoch in which it entered (up to a compaction, a change of model ...) it
        stood with everything before it unchanged, and how many further calls there were.
        """
        first = self.first(node)
        if first is None:
            return "", 0, 0
        end = bisect_right(self._epochs, self._epochs[first], lo=first)
        further = end - first - 1
        held = self.count(node, end) - 1
        if further < 2:
            return "", held, further
        share = held / further
        return HIGH if share >= _HIGH else MEDIUM if share >= _MEDIUM else LOW, held, further
