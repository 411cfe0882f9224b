"""Lifetime of blocks: the calls of a thread whose context held each, its carry, and how far a cache can keep it."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, answer_path
from ctxtui.core.tree import ROOT, Tree

HIGH, MEDIUM, LOW = "high", "medium", "low"
_HIGH: Final = 0.9
"""The share of further calls that a block of high stability stood in, at least."""
_MEDIUM: Final = 0.5


_Key = str | tuple[str, int]
"""A block's digest; with it which of the same in a context it is, from the second on."""
_NOT: Final = -1
"""In place of a call: there is none."""


class Lifetime(NamedTuple):
    """Calls (from 0) `start` to `stop` - 1 in whose context a block stood as `node`."""

    start: int
    stop: int
    node: int


class Stays:
    """The calls (from 0) of one thread whose context held each block, and the first that answered with it.

    A block is followed by its content and by how many of the same stand before it, not by its node: one that a client
    sends again behind a changed beginning stays. `advance` follows the thread; a step costs the blocks that entered and
    left with a call. Blocks have numbers and what is known of them stands in columns: a long session has a million.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._numbers: dict[_Key, int] = {}
        """The number of each block that was met, from 0."""
        self._number_at = array("i")
        """By node: the number of its block, from 1; 0 where it was not met."""
        self._since = array("i")
        """By number: the call since which it stands in the last context as the node that it is there, or `_NOT`."""
        self._node = array("i")
        """By number: the node that it is there."""
        self._stood: dict[int, list[Lifetime]] = {}
        self._made = array("i")
        """By number: the first call that answered with it, or `_NOT`."""
        self._made_as = array("i")
        """By number: the node that it was in that answer."""
        self._answers = array("i")
        """The numbers of blocks that calls answered with first, call by call ..."""
        self._answer_ends = array("i", [0])
        """... and where those of each call end, behind the 0 before the first."""
        self._nth = array("i")
        """By node: which of the same blocks in its context it is, from 1; 0 where it was not met."""
        self._now: dict[str, int] = {}
        """How often each block stands in the context that `_walk` has come to."""
        self._prefix: dict[int, int] = {ROOT: ROOT}
        """For nodes that were asked for the first one whose prefix says the same, however its messages are spelt."""
        self._prefixes: dict[tuple[int, str, str], int] = {}
        self._heads = array("i")
        self._epochs: list[int] = []  # a stored number may be of any size

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
        for number in gone:
            stood = Lifetime(self._since[number], index, self._node[number])
            self._since[number] = _NOT
            self._stood.setdefault(number, []).append(stood)
        for number, node in come:
            self._node[number] = node
            self._since[number] = index
        _, said = self._walk(call.sent_head, call.response_head)
        # Where the context left under edits, what it left without is no answer.
        answer = frozenset(answer_path(self._tree, call))
        new = [(number, node) for number, node in said if self._made[number] == _NOT and node in answer]
        self._walk(call.response_head, call.sent_head)
        for number, node in new:
            self._made_as[number] = node
            self._made[number] = index
        self._answers.extend([number for number, _ in new])
        self._answer_ends.append(len(self._answers))
        self._epochs.append(call.epoch.number)
        # Last, since `done` counts these: another thread may read while this one enters.
        self._heads.append(call.sent_head)

    def _walk(self, before: int, head: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The numbers of the blocks that leave and of those that enter from one context to the next, these with their
        nodes."""
        tree, now = self._tree, self._now
        shared = tree.common(before, head)
        gone = []
        for node in tree.path(before, shared):
            gone.append(self._number_at[node] - 1)
            now[tree.digest(node)] -= 1
        come = []
        for node in tree.path(head, shared):
            digest = tree.digest(node)
            nth = now[digest] = now.get(digest, 0) + 1
            if node >= len(self._nth):
                for column in (self._nth, self._number_at):
                    column.frombytes(bytes(column.itemsize * (len(tree) - len(column))))
            number = self._number(digest, nth)
            self._nth[node] = nth
            self._number_at[node] = number + 1
            come.append((number, node))
        return gone, come

    def _number(self, digest: str, nth: int) -> int:
        key = _key(digest, nth)
        found = self._numbers.get(key)
        if found is None:
            found = len(self._made)
            for column in (self._since, self._node, self._made_as, self._made):
                column.append(_NOT)
            self._numbers[key] = found
        return found

    def _numbered(self, node: int) -> int | None:
        """The number of the block of `node`; None for one that was not met."""
        number = self._number_at[node] if node < len(self._number_at) else 0
        return number - 1 if number else None

    def _beginning(self, node: int) -> int:
        """The first node that was asked for whose prefix says the same as that of `node`."""
        tree, known = self._tree, self._prefix
        path = []
        while node not in known:
            path.append(node)
            node = tree[node].parent
        found = known[node]
        for below in reversed(path):
            here = tree[below]
            if here.block.kind != HEADER:
                found = self._prefixes.setdefault((found, here.place.role, here.block.digest), below)
            known[below] = found
        return found

    def nth(self, node: int) -> int:
        """Which of the same blocks in its context the block of `node` is, from 1; 0 for one that was not met."""
        return self._nth[node] if node < len(self._nth) else 0

    def node_of(self, digest: str, nth: int) -> int | None:
        """The first node of the block that is the `nth` (from 1) of the same in a context; None where it stood in
        none."""
        number = self._numbers.get(_key(digest, nth))
        found = self._first(number) if number is not None else None
        return found[1] if found is not None else None

    def back(self, calls: int) -> None:
        """Keep the first `calls` calls only: the next one was replaced by a fuller record of it."""
        while self.done > calls:
            head = self._heads.pop()
            gone, come = self._walk(head, self._heads[-1] if self._heads else ROOT)
            for number in gone:
                self._since[number] = _NOT
            for number, _ in come:
                start, _, node = self._stood[number].pop()
                self._node[number] = node
                self._since[number] = start
            self._answer_ends.pop()
            for number in self._answers[self._answer_ends[-1] :]:
                self._made[number] = _NOT
            del self._answers[self._answer_ends[-1] :]
            self._epochs.pop()

    def _first(self, number: int) -> tuple[int, int] | None:
        """The first call in whose context a block stood, and the node that it was there."""
        stood = self._stood.get(number)
        if stood:
            return stood[0].start, stood[0].node
        return (self._since[number], self._node[number]) if self._since[number] != _NOT else None

    def first(self, node: int) -> int | None:
        """The first call in whose context the block of `node` stood; None where it stood in none yet."""
        number = self._numbered(node)
        found = self._first(number) if number is not None else None
        return found[0] if found is not None else None

    def answered(self, node: int) -> int | None:
        """The first call that answered with the block of `node`; None where none did."""
        number = self._numbered(node)
        return self._made[number] if number is not None and self._made[number] != _NOT else None

    def answers(self) -> list[int]:
        """The node of each block that a call answered with, where it first did."""
        return [self._made_as[number] for number in self._answers]

    def count(self, node: int, calls: int) -> int:
        """In how many of the first `calls` calls the block of `node` stood."""
        return sum(stop - start for start, stop, _ in self.stretches(node, calls))

    def stretches(self, node: int, calls: int) -> list[Lifetime]:
        """The stretches of the first `calls` calls in which the block of `node` stood, in order, each with the node
        that it was there."""
        number, end = self._numbered(node), min(calls, self.done)
        if number is None:
            return []
        every, since = list(self._stood.get(number, ())), self._since[number]
        if since != _NOT:
            every.append(Lifetime(since, end, self._node[number]))
        return [Lifetime(start, min(stop, end), there) for start, stop, there in every if start < end]

    def standing(self, node: int, index: int) -> int | None:
        """The node that held the block of `node` in the context of call `index`; None if it was not in it."""
        return next((there for start, stop, there in self.stretches(node, index + 1) if start <= index < stop), None)

    def every(self) -> list[int]:
        """The first node of each block that stood in a context, in the order in which they entered."""
        firsts = filter(None, map(self._first, range(len(self._made))))
        return [node for _, _, node in sorted((at, self._tree[node].depth, node) for at, node in firsts)]

    def stability(self, node: int) -> tuple[str, int, int]:
        """How far a cache can keep the block: `HIGH`, `MEDIUM`, `LOW`, or "" where fewer than two further calls tell.

        Then in how many further calls of the epoch in which it entered (up to a compaction, a change of model ...) it
        stood with everything before it unchanged, and how many further calls there were.
        """
        every = self.stretches(node, self.done)
        if not every:
            return "", 0, 0
        first = every[0].start
        end = bisect_right(self._epochs, self._epochs[first], lo=first)
        further = end - first - 1
        # Mostly there is one stretch: what stood before the block need not be looked at.
        said = self._beginning(every[0].node) if len(every) > 1 else ROOT
        alike = (one for one in every if len(every) == 1 or self._beginning(one.node) == said)
        held = sum(min(stop, end) - start for start, stop, _ in alike if start < end) - 1
        if further < 2:
            return "", held, further
        share = held / further
        return HIGH if share >= _HIGH else MEDIUM if share >= _MEDIUM else LOW, held, further


def _key(digest: str, nth: int) -> _Key:
    return digest if nth == 1 else (digest, nth)
