"""The numbers of a thread's turns: they run on through compactions, and no two turns share one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile, zip_longest
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree

_THINKING: Final = INDEX["thinking"]


class Turns:
    """The turns of one thread, numbered from 1 in the order in which its calls bring them.

    A node says how many turns its own context has (`Node.turn`), which begins anew where a compaction puts a summary in
    the place of the history. Here a turn keeps its number as long as its first block stands in the next context, also
    at another place; what a user says later gets the next one. `count` is how many there are so far. Edits
    begin no turn and end none: what left under edits has the turns of what the agent had.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._numbers: dict[int, int] = {}
        self._calls: list[int] = []
        self._before: list[int] = []
        self.count = 0

    def back(self, calls: int) -> None:
        """Forget in which turn the calls after the first `calls` stand, because they were replaced."""
        del self._calls[calls:]

    def extend(self, calls: Sequence[Call]) -> None:
        """Take in the calls that came since; `calls` are all calls of the thread."""
        for call in calls[len(self._calls) :]:
            start = self._take(call.raw_head or call.sent_head)
            if call.sent_head != call.raw_head:
                self._take_edited(call.sent_head)
            self._calls.append(self._numbers.get(start) or (self._calls[-1] if self._calls else 0))

    def of_call(self, index: int) -> int:
        """The turn of call `index` (from 0), which may have begun before a compaction; 0 before the first turn."""
        return self._calls[index]

    @property
    def called(self) -> int:
        """In how many turns calls were made."""
        return len(set(self._calls) - {0})

    def of(self, node: int) -> int:
        """The number of the turn to which the block of `node` belongs, 0 where none has begun in its context. One that
        no call has brought yet has the number that it will get."""
        new, start = 0, self._tree[node].turn_start
        while start != ROOT and start not in self._numbers:
            new, start = new + 1, self._tree[self._tree[start].parent].turn_start
        return self.count + new if new else self._numbers.get(start, 0)

    def _take(self, head: int) -> int:
        """Number what is new of the context `head`; gives the node with which its last turn begins."""
        tree, last = self._tree, self._tree[head].turn_start
        new: list[int] = []
        at = last
        while at != ROOT and at not in self._numbers:
            new.append(at)
            at = tree[tree[at].parent].turn_start
        if new:
            # What the context before had behind the turn that both share may stand here at another place.
            shared = self._until(at)
            rest = self._before[len(shared) :]
            for start in reversed(new):
                same = next(
                    (n for n, old in enumerate(rest) if tree[old].block.digest == tree[start].block.digest), None
                )
                if same is None:
                    self.count += 1
                    self._numbers[start] = self.count
                else:
                    self._numbers[start] = self._numbers[rest[same]]
                    del rest[: same + 1]
        if not self._before or self._before[-1] != last:
            shared = self._until(at)
            # A turn more of a long context: what is known of those before it is neither gone through nor copied.
            if shared is self._before:
                self._before.extend(reversed(new))
            else:
                self._before = [*shared, *reversed(new)] if shared or at == ROOT else self._starts(last)
        return last

    def _take_edited(self, head: int) -> None:
        """Number what is new of the context `head`, which edits made of the one that was taken in last: words of a
        person as what they stand for, also where they were replaced; what edits put in belongs to the turn before."""
        tree, numbers = self._tree, self._numbers
        new: list[int] = []
        at = tree[head].turn_start
        while at != ROOT and at not in numbers:
            new.append(at)
            at = tree[tree[at].parent].turn_start
        number = numbers.get(at, 0)
        rest = list(takewhile(lambda old: numbers[old] > number, reversed(self._before)))[::-1] if new else []
        apart: list[int] = []
        for start in (*reversed(new), ROOT):
            same = next((n for n, old in enumerate(rest) if tree[old].block.digest == tree[start].block.digest), None)
            if same is None and start != ROOT:
                apart.append(start)
                continue
            replaced = rest[:same]
            for one, old in zip_longest(apart, replaced[: len(apart)]):
                number = numbers[one] = max(1, number) if old is None else numbers[old]
            apart.clear()
            if same is not None:
                number = numbers[start] = numbers[rest[same]]
                del rest[: same + 1]

    def _until(self, start: int) -> list[int]:
        """The turns of the context before up to and with the one that begins with `start`; none where it has not."""
        before = self._before
        if before and before[-1] == start:
            return before
        return before[: before.index(start) + 1] if start in before else []

    def _starts(self, start: int) -> list[int]:
        found: list[int] = []
        while start != ROOT:
            found.append(start)
            start = self._tree[self._tree[start].parent].turn_start
        found.reverse()
        return found


def turns_of(tree: Tree, calls: Sequence[Call]) -> Turns:
    """The turns of the `calls` of a thread."""
    found = Turns(tree)
    found.extend(calls)
    return found


def is_read(tree: Tree, head: int, node: int, *, strips_thinking: bool) -> bool:
    """Whether the provider reads the block of `node` as part of the context `head`: on models that strip
    it, thinking of earlier turns is gone (facts §2)."""
    here = tree[node]
    return not (strips_thinking and here.category == _THINKING and here.turn < tree[head].turn)
