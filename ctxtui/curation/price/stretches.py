"""The stretches of messages that edits touch, and what they come to: worked out from those of the edits before, of
which most stand as they stood."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxtui.core.block import HEADER
from ctxtui.curation.apply.applied import Applied, BlockChange, Insert
from ctxtui.curation.context import Context
from ctxtui.tokens.features import NOTHING, Features, minus, plus

_Span = tuple[int, int]
"""Raw positions, the second exclusive."""


class StretchSum(NamedTuple):
    """By which features each category differs in a stretch of messages that edits touch, and of thinking where."""

    moved: Sequence[tuple[int, Features]]
    thoughts: Sequence[tuple[int, Features]]


class _Together:
    """What all stretches come to by category, as they come and go: most edits change one of a hundred. Sums of whole
    numbers of quarters are the same in any order, of others they are not: then each is to be gone through."""

    def __init__(self) -> None:
        self.sums: dict[int, Features] = {}
        self._uneven = 0

    @property
    def even(self) -> bool:
        """Whether `sums` are what adding up all stretches in order gives."""
        return not self._uneven

    def change(self, gone: Iterable[StretchSum], new: Iterable[StretchSum]) -> None:
        """These stretches are not there any more, and those are."""
        for several, add, sign in ((gone, minus, -1), (new, plus, 1)):
            for one in several:
                for category, features in one.moved:
                    if any(4 * number % 1 for number in features):
                        self._uneven += sign
                    else:
                        self.sums[category] = add(self.sums.get(category, NOTHING), features)


SumOf = Callable[[int, int, Sequence[Insert]], StretchSum]
"""What the stretch between two raw positions (the second exclusive) comes to, with what is put in before it, in it and
right behind it."""


class KnownStretches:
    """What stretches came to under the edits that were asked about last: those that the next ones do not touch are as
    they were. It holds for one context, one way of counting and one state of its counts."""

    def __init__(self) -> None:
        self._of: tuple[Context, int, bool] | None = None
        self._begin()

    def _begin(self) -> None:
        self._changes: Mapping[int, BlockChange] = {}
        self._inserts: dict[int, list[Insert]] = {}
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._sums: list[StretchSum] = []
        self._together: _Together | None = None
        """None while there is nothing to go on from."""

    def moved(self) -> Iterable[tuple[int, Features]]:
        """By which features each category differs in the stretches that `of` told last, where possible together."""
        if self._together is not None and self._together.even:
            return self._together.sums.items()
        return [one for several in self._sums for one in several.moved]

    def of(self, applied: Applied, length: int, joins: bool, sum_of: SumOf) -> Sequence[StretchSum]:
        """What each stretch comes to that `applied` touches in the first `length` blocks, in order."""
        if self._of is None or self._of[0] is not applied.context or self._of[1:] != (length, joins):
            self._of = applied.context, length, joins
            self._begin()
        changes, inserts = applied.changes, dict[int, list[Insert]]()
        for one in applied.inserts:
            inserts.setdefault(one.position, []).append(one)
        spans = _merged(self._others(applied, changes, inserts, length))
        if spans:
            if self._sums and self._together is None:
                self._together = _Together()
                self._together.change((), self._sums)
            changed, filled = sorted(changes), sorted(inserts)
            for start, stop in spans:
                self._again(applied, changed, [(at, inserts[at]) for at in filled], start, stop, length, sum_of)
        self._changes, self._inserts = changes, inserts
        return self._sums

    def _others(
        self, applied: Applied, changes: Mapping[int, BlockChange], inserts: Mapping[int, list[Insert]], length: int
    ) -> Iterator[_Span]:
        """The messages in which something is done otherwise than before."""
        before, had = self._changes, self._inserts
        others = [at for at, change in changes.items() if (was := before.get(at)) is not change and was != change]
        yield from _spans(applied.context, [*others, *(before.keys() - changes.keys())], (), length)
        if inserts or had:
            for at in {*inserts, *had}:
                if inserts.get(at) != had.get(at):
                    yield from _spans(applied.context, (), [*inserts.get(at, ()), *had.get(at, ())], length)

    def _again(
        self,
        applied: Applied,
        changed: Sequence[int],
        filled: Sequence[tuple[int, list[Insert]]],
        start: int,
        stop: int,
        length: int,
        sum_of: SumOf,
    ) -> None:
        """Work out anew what lies between two positions, with the stretches that touch it."""
        first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        inside = changed[bisect_left(changed, start) : bisect_left(changed, stop)]
        there = [one for at, several in filled if start <= at <= stop for one in several]
        found = _merged(_spans(applied.context, inside, there, length))
        self._starts[first:last] = [one for one, _ in found]
        self._stops[first:last] = [end for _, end in found]
        sums = [sum_of(one, end, [new for new in there if one <= new.position <= end]) for one, end in found]
        if self._together is not None:
            self._together.change(self._sums[first:last], sums)
        self._sums[first:last] = sums


def _spans(context: Context, changed: Iterable[int], inserts: Iterable[Insert], length: int) -> Iterator[_Span]:
    """The messages that are touched by changes and by what is put in. What is put in before a stretch, in it or right
    behind it belongs to it."""
    for position in changed:
        message = context.message_at(position)
        yield (position, position + 1) if message is None else (message.start, min(message.stop, length))
    for one in inserts:
        at = one.position
        message = context.message_at(at) if at < length else None
        if message is not None and message.start < at:
            yield message.start, min(message.stop, length)
        elif one.items[0].block.kind == HEADER or not at:
            yield at, at
        else:
            before = context.message_at(at - 1)
            yield (at, at) if before is None else (before.start, at)


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    """Those side by side as one, in order."""
    found: list[_Span] = []
    for start, stop in sorted(set(spans)):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found
