"""Lifetime of blocks: the calls whose context held each, and its cache stability.

A block is identified by its content and its number among equal blocks of a context, not by its node: thus it stays the
same after a change before it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, answer_path
from ctxtui.core.tree import ROOT, Tree

HIGH, MEDIUM, LOW = "high", "medium", "low"
"""Cache stability of a block: how many later calls had it after an unchanged prefix."""
_HIGH, _MEDIUM = 0.9, 0.5
"""Minimum share of further calls that a block of high or medium stability was in."""


_Key = str | tuple[str, int]
"""A block's digest; from the second occurrence in a context on with its number."""
_NO_CALL: Final = -1


class Lifetime(NamedTuple):
    """Calls (from 0) `start` to `stop` - 1 in whose context a block was present as `node`."""

    start: int
    stop: int
    node: int


class BlockLifetimes:
    """For each block, the calls of a thread that held it, and the first that answered with it.

    Calls count from 0.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._numbers: dict[_Key, int] = {}
        """Number of each block that occurred, from 0."""
        self._number_at = array("i")
        """By node: the number of its block, from 1; 0 if it did not occur."""
        self._since = array("i")
        """By number: the first call of its current stretch in the last context, or `_NO_CALL`."""
        self._node = array("i")
        """By number: its node in that context."""
        self._lifetimes: dict[int, list[Lifetime]] = {}
        self._answering = array("i")
        """By number: the first call that answered with it, or `_NO_CALL`."""
        self._answer_node = array("i")
        """By number: its node in that answer."""
        self._answers = array("i")
        """Numbers of the blocks that calls answered with first, call by call ..."""
        self._answer_ends = array("i", [0])
        """... and the end of each call's, after a leading 0."""
        self._nth = array("i")
        """By node: its number among equal blocks in its context, from 1; 0 if it did not occur."""
        self._occurrences: dict[str, int] = {}
        """By digest: how often the block occurs in the last context given to `_changed_blocks`."""
        self._prefix: dict[int, int] = {ROOT: ROOT}
        """By node: the first node with an equal prefix, ignoring headers."""
        self._prefixes: dict[tuple[int, str, str], int] = {}
        """By first node of the prefix before a block, role and digest of the block: its first node."""
        self._heads = array("i")
        self._epochs: list[int] = []  # a stored number may be of any size

    @property
    def done(self) -> int:
        """Number of calls processed."""
        return len(self._heads)

    def advance(self, calls: Sequence[Call], limit: int | None = None) -> int:
        """Process up to `limit` further `calls` of the thread; returns `done`."""
        last = len(calls) if limit is None else min(len(calls), self.done + limit)
        for index in range(self.done, last):
            self._step(index, calls[index])
        return self.done

    def _step(self, index: int, call: Call) -> None:
        removed, added = self._changed_blocks(self._heads[-1] if self._heads else ROOT, call.sent_head)
        for number in removed:
            lifetime = Lifetime(self._since[number], index, self._node[number])
            self._since[number] = _NO_CALL
            self._lifetimes.setdefault(number, []).append(lifetime)
        for number, node in added:
            self._node[number] = node
            self._since[number] = index
        _, answer_blocks = self._changed_blocks(call.sent_head, call.response_head)
        # If the context was sent under edits, the blocks it was sent without are not part of the answer.
        answer = frozenset(answer_path(self._tree, call))
        new = [
            (number, node) for number, node in answer_blocks if self._answering[number] == _NO_CALL and node in answer
        ]
        self._changed_blocks(call.response_head, call.sent_head)
        for number, node in new:
            self._answer_node[number] = node
            self._answering[number] = index
        self._answers.extend([number for number, _ in new])
        self._answer_ends.append(len(self._answers))
        self._epochs.append(call.epoch.number)
        # Last, because `done` counts these and another thread may be reading.
        self._heads.append(call.sent_head)

    def _changed_blocks(self, before: int, head: int) -> tuple[list[int], list[tuple[int, int]]]:
        tree, occurrences = self._tree, self._occurrences
        shared = tree.common(before, head)
        removed = []
        for node in tree.path(before, shared):
            removed.append(self._number_at[node] - 1)
            occurrences[tree.digest(node)] -= 1
        added = []
        for node in tree.path(head, shared):
            digest = tree.digest(node)
            nth = occurrences[digest] = occurrences.get(digest, 0) + 1
            if node >= len(self._nth):
                for column in (self._nth, self._number_at):
                    column.frombytes(bytes(column.itemsize * (len(tree) - len(column))))
            number = self._number_of(digest, nth)
            self._nth[node] = nth
            self._number_at[node] = number + 1
            added.append((number, node))
        return removed, added

    def _number_of(self, digest: str, nth: int) -> int:
        key = _key_of(digest, nth)
        number = self._numbers.get(key)
        if number is None:
            number = len(self._answering)
            for column in (self._since, self._node, self._answer_node, self._answering):
                column.append(_NO_CALL)
            self._numbers[key] = number
        return number

    def _find_number(self, node: int) -> int | None:
        number = self._number_at[node] if node < len(self._number_at) else 0
        return number - 1 if number else None

    def _first_equal_node(self, node: int) -> int:
        tree, beginnings = self._tree, self._prefix
        path = []
        while node not in beginnings:
            path.append(node)
            node = tree[node].parent
        beginning = beginnings[node]
        for path_node in reversed(path):
            node_row = tree[path_node]
            if node_row.block.kind != HEADER:
                beginning = self._prefixes.setdefault(
                    (beginning, node_row.place.role, node_row.block.digest), path_node
                )
            beginnings[path_node] = beginning
        return beginning

    def nth(self, node: int) -> int:
        """Number of the block of `node` among equal ones in its context, from 1.

        0 if it did not occur.
        """
        return self._nth[node] if node < len(self._nth) else 0

    def node_of(self, digest: str, nth: int) -> int | None:
        """First node of the `nth` (from 1) block with `digest` in a context; None if there was none."""
        number = self._numbers.get(_key_of(digest, nth))
        first = self._first_presence(number) if number is not None else None
        return first[1] if first is not None else None

    def truncate(self, calls: int) -> None:
        """Forget all but the first `calls` calls."""
        while self.done > calls:
            head = self._heads.pop()
            removed, added = self._changed_blocks(head, self._heads[-1] if self._heads else ROOT)
            for number in removed:
                self._since[number] = _NO_CALL
            for number, _ in added:
                start, _, node = self._lifetimes[number].pop()
                self._node[number] = node
                self._since[number] = start
            self._answer_ends.pop()
            for number in self._answers[self._answer_ends[-1] :]:
                self._answering[number] = _NO_CALL
            del self._answers[self._answer_ends[-1] :]
            self._epochs.pop()

    def _first_presence(self, number: int) -> tuple[int, int] | None:
        lifetimes = self._lifetimes.get(number)
        if lifetimes:
            return lifetimes[0].start, lifetimes[0].node
        return (self._since[number], self._node[number]) if self._since[number] != _NO_CALL else None

    def first_call(self, node: int) -> int | None:
        """First call whose context held the block of `node`; None if none did yet."""
        number = self._find_number(node)
        first = self._first_presence(number) if number is not None else None
        return first[0] if first is not None else None

    def answering_call(self, node: int) -> int | None:
        """First call that answered with the block of `node`; None if none did."""
        number = self._find_number(node)
        return self._answering[number] if number is not None and self._answering[number] != _NO_CALL else None

    def answer_nodes(self) -> list[int]:
        """Node of each block of an answer, in the first such answer."""
        return [self._answer_node[number] for number in self._answers]

    def count_calls(self, node: int, calls: int) -> int:
        """Number of calls, of the first `calls`, whose context held the block of `node`."""
        return sum(stop - start for start, stop, _ in self.stretches(node, calls))

    def count_calls_with_any(self, nodes: Iterable[int], calls: int) -> int:
        """Number of calls, of the first `calls`, whose context held the block of one of `nodes`."""
        count, done = 0, 0
        for start, stop, _ in sorted(stretch for node in nodes for stretch in self.stretches(node, calls)):
            count += max(0, stop - max(start, done))
            done = max(done, stop)
        return count

    def stretches(self, node: int, calls: int) -> list[Lifetime]:
        """Stretches of the first `calls` calls that held the block of `node`, in order."""
        number, end = self._find_number(node), min(calls, self.done)
        if number is None:
            return []
        lifetimes, current_start = list(self._lifetimes.get(number, ())), self._since[number]
        if current_start != _NO_CALL:
            lifetimes.append(Lifetime(current_start, end, self._node[number]))
        return [Lifetime(start, min(stop, end), there) for start, stop, there in lifetimes if start < end]

    def node_at_call(self, node: int, index: int) -> int | None:
        """Node of the block of `node` in the context of call `index`; None if it is not in it."""
        return next((there for start, stop, there in self.stretches(node, index + 1) if start <= index < stop), None)

    def all_nodes(self) -> list[int]:
        """First node of each block that was in a context, by call, then by depth."""
        firsts = filter(None, map(self._first_presence, range(len(self._answering))))
        return [node for _, _, node in sorted((at, self._tree[node].depth, node) for at, node in firsts)]

    def stability(self, node: int) -> tuple[str, int, int]:
        """Cache stability of a block: `HIGH`, `MEDIUM` or `LOW`.

        "" with fewer than two further calls. Also returns two numbers about the epoch in which it was added: of the
        further calls that had it after an unchanged prefix, and of all further calls.
        """
        every = self.stretches(node, self.done)
        if not every:
            return "", 0, 0
        first = every[0].start
        end = bisect_right(self._epochs, self._epochs[first], lo=first)
        further = end - first - 1
        # With a single stretch, as usual, prefixes need not be compared.
        beginning = self._first_equal_node(every[0].node) if len(every) > 1 else ROOT
        alike = (stretch for stretch in every if len(every) == 1 or self._first_equal_node(stretch.node) == beginning)
        stable_calls = sum(min(stop, end) - start for start, stop, _ in alike if start < end) - 1
        if further < 2:
            return "", stable_calls, further
        share = stable_calls / further
        return HIGH if share >= _HIGH else MEDIUM if share >= _MEDIUM else LOW, stable_calls, further


def _key_of(digest: str, nth: int) -> _Key:
    return digest if nth == 1 else (digest, nth)
