"""Turn numbers of a thread: they continue through compactions, and no two turns share one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile, zip_longest
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree

_THINKING: Final = INDEX["thinking"]


class Turns:
    """The turns of one thread, numbered from 1 in the order of their first calls.

    A turn begins with user input. Unlike in `Node.turn`, it keeps its number as long as its first block is in the next
    context, also after a compaction. Edits begin and end no turn: an edited context has the turns of the context before
    edits. `count` is the number of turns so far.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._numbers: dict[int, int] = {}
        """Node that begins a turn -> the turn's number."""
        self._calls: list[int] = []
        """The turn of each call."""
        self._before: list[int] = []
        """The nodes that begin the turns of the last call's context."""
        self.count = 0

    def forget_after(self, calls: int) -> None:
        """Forget the calls after the first `calls`, which were replaced; `count` does not shrink."""
        del self._calls[calls:]

    def extend(self, calls: Sequence[Call]) -> None:
        """Number the turns of `calls`, all calls of the thread; those numbered before are skipped."""
        for call in calls[len(self._calls) :]:
            start = self._number_context(call.raw_head or call.sent_head)
            if call.sent_head != call.raw_head:
                self._number_edited(call.sent_head)
            self._calls.append(self._numbers.get(start) or (self._calls[-1] if self._calls else 0))

    def of_call(self, index: int) -> int:
        """The turn of call `index` (from 0); 0 before the first turn."""
        return self._calls[index]

    @property
    def count_with_calls(self) -> int:
        """Number of turns that are the current turn of at least one call."""
        return len(set(self._calls) - {0})

    def number_of(self, node: int) -> int:
        """The turn number of the block of `node`, 0 if no turn has begun in its context.

        For a turn that is in no call yet, the number that it would get in the next one.
        """
        new, numbered = self._new_turns(self._tree[node].turn_start)
        return self._match_numbers(new, numbered)[-1] if new else self._numbers.get(numbered, 0)

    def _number_context(self, head: int) -> int:
        last = self._tree[head].turn_start
        new, numbered = self._new_turns(last)
        numbers = self._match_numbers(new, numbered)
        self._numbers.update(zip(new, numbers, strict=True))
        self.count = max(self.count, *numbers, 0)
        if not self._before or self._before[-1] != last:
            shared = self._turns_until(numbered)
            # One more turn of a long context: the known ones are neither walked nor copied.
            if shared is self._before:
                self._before.extend(new)
            else:
                self._before = [*shared, *new] if shared or numbered == ROOT else self._turn_starts(last)
        return last

    def _new_turns(self, last: int) -> tuple[list[int], int]:
        """The turns without a number up to `last`, and the numbered turn before them (`ROOT`: none).

        A turn is given by its first node.
        """
        new: list[int] = []
        start = last
        while start != ROOT and start not in self._numbers:
            new.append(start)
            start = self._tree[self._tree[start].parent].turn_start
        new.reverse()
        return new, start

    def _match_numbers(self, new: Sequence[int], numbered: int) -> list[int]:
        """The numbers of the turns that begin with `new`, which follow the numbered one `numbered`."""
        # Turns of the previous context after the last shared one may be there at another position.
        tree, count, numbers = self._tree, self.count, list[int]()
        rest = self._before[len(self._turns_until(numbered)) :] if new else []
        for start in new:
            same = next((n for n, old in enumerate(rest) if tree[old].block.digest == tree[start].block.digest), None)
            if same is None:
                count += 1
                numbers.append(count)
            else:
                numbers.append(self._numbers[rest[same]])
                del rest[: same + 1]
        return numbers

    def _number_edited(self, head: int) -> None:
        """Number the new turns of the context `head`, an edited version of the one numbered last.

        A user message has the number of the one that it replaces; inserted blocks belong to the turn before.
        """
        tree, numbers = self._tree, self._numbers
        new, numbered = self._new_turns(tree[head].turn_start)
        number = numbers.get(numbered, 0)
        rest = list(takewhile(lambda old: numbers[old] > number, reversed(self._before)))[::-1] if new else []
        unmatched: list[int] = []
        for start in (*new, ROOT):
            same = next((n for n, old in enumerate(rest) if tree[old].block.digest == tree[start].block.digest), None)
            if same is None and start != ROOT:
                unmatched.append(start)
                continue
            replaced = rest[:same]
            for node, old in zip_longest(unmatched, replaced[: len(unmatched)]):
                number = numbers[node] = max(1, number) if old is None else numbers[old]
            unmatched.clear()
            if same is not None:
                number = numbers[start] = numbers[rest[same]]
                del rest[: same + 1]

    def _turns_until(self, start: int) -> list[int]:
        """The turns of the previous context up to `start`; empty if it lacks that."""
        before = self._before
        if before and before[-1] == start:
            return before
        return before[: before.index(start) + 1] if start in before else []

    def _turn_starts(self, start: int) -> list[int]:
        starts: list[int] = []
        while start != ROOT:
            starts.append(start)
            start = self._tree[self._tree[start].parent].turn_start
        starts.reverse()
        return starts


def turns_of(tree: Tree, calls: Sequence[Call]) -> Turns:
    turns = Turns(tree)
    turns.extend(calls)
    return turns


def is_read(tree: Tree, head: int, node: int, *, strips_thinking: bool) -> bool:
    """Whether the provider reads the block of `node` as part of the context `head`.

    With `strips_thinking`, the provider drops the thinking of earlier turns (facts §2).
    """
    here = tree[node]
    return not (strips_thinking and here.category == _THINKING and here.turn < tree[head].turn)
