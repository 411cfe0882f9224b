"""Shortfalls: reports that are less than what stands in a context, and what of it is gone then."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.read.absence import NONE_GONE, NOT_SENT, Absences, Missing, explain, oldest_messages
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, Fidelity, answer_nodes_in
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import weigh

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book


class ReadContext(Struct, frozen=True, kw_only=True, gc=False):
    """How the context of a call was read.

    `number` counts from 1 in its thread. `front` are the tokens of system prompt and tools that the recording lacks
    (None where they are on record or cannot be inferred), `attached` those that the client attached again after a
    compaction, `brought` those that the provider put in (`analysis.searches`); `gone` are the blocks that were not
    read, `residual` what is left of the report. `since` is the number of the call whose report moved the residual most,
    `step` by how many tokens, `events` how often blocks were found to be gone so far. A call without report has the
    figures of the one that it extends, and is not `reported` where there is none.
    """

    number: int
    front: int | None
    attached: int = 0
    brought: int = 0
    gone: Absences = NONE_GONE
    residual: int = 0
    since: int = 0
    step: int = 0
    events: int = 0
    lowered: int = 0
    reported: bool = True
    blank: bool = False


class CallAtNode:
    """Which call stands at a node, by its index."""

    def __init__(self) -> None:
        self._next = array("i")
        """By node the index of the call behind its own, 0 where none stands."""

    def get(self, node: int) -> int | None:
        """The index of the call at `node`; None where none stands."""
        found = self._next[node] if node < len(self._next) else 0
        return found - 1 if found else None

    def put(self, node: int, index: int) -> None:
        """The call `index` stands at `node`."""
        if node >= len(self._next):
            self._next.frombytes(bytes(self._next.itemsize * (node + 1 - len(self._next))))
        self._next[node] = index + 1


class ReadLine(Struct, frozen=True):
    """The calls of a thread that are gone through, how each was read, and which of them stands at a node."""

    calls: list[Call]
    read: Sequence[ReadContext]
    at: CallAtNode
    index: dict[str, int]
    linked: set[str]
    """Ids of calls whose request links to documents that it does not hold."""

    @property
    def last(self) -> int | None:
        """The index of the last call with a report and blocks on record; None before the first."""
        for index in reversed(range(len(self.calls))):
            if has_report(self.calls[index]) and not self.read[index].blank:
                return index
        return None

    @property
    def events(self) -> int:
        """How often blocks were found to be gone."""
        return self.read[-1].events if self.read else 0


class ReadStep(Struct, frozen=True):
    """A `call` with a report: the index of the one that it extends, how the last one with a report was read, and the
    residual that its own is held against."""

    call: Call
    base: int | None
    was: ReadContext | None
    level: int


def residual_of(read: Sequence[ReadContext], at: int) -> tuple[int, int] | None:
    """The number of a call and the residual of its report, of the call at `at`; None where it has none."""
    one = read[at]
    return (one.number, one.residual) if one.reported else None


def has_report(call: Call) -> bool:
    """Whether the recording says how large the context of `call` was: its provider reported it, or its client did."""
    return reported_input(call) > 0


def reported_input(call: Call) -> int:
    """The input that was reported for `call`, in tokens, else the client's own figure; 0 without either."""
    return call.usage.input if call.usage is not None else call.estimated_input or 0


def is_estimate(call: Call) -> bool:
    """Whether what is said of the input of `call` is its client's own figure."""
    return call.usage is None


def left_cached(call: Call | None) -> int:
    """Tokens that a call left in the cache."""
    return call.usage.cache_read + call.usage.cache_write if call is not None and call.usage is not None else 0


_THINKING: Final = INDEX["thinking"]
_LEAST: Final = 40
"""Tokens by which a report must at least fall short before a block is taken to be gone ..."""
_SHARE: Final = 0.005
"""... and the share of the report."""
_SPARE: Final = 0.01
"""Share of a report by which what is found to be gone may fall short of what is missing."""
_SURE: Final = 1.65
"""Half widths of what came (independent errors) that what is missing must exceed."""
_MOST: Final = 200
"""How often blocks may be found to be gone in one thread: in a record of more, reports and blocks have nothing to do
with each other."""
_READ_AGAIN: Final = 0.9
"""Share of what the call before left in the cache from which on its context was read again."""
_LIFE: Final = 300.0
"""Seconds that every cache entry lives: a shorter pause explains no miss."""
_BACK: Final = 0.25
"""Share by which a rise may differ from what was gone, to be taken for its return."""
_EXCESS: Final = 0.02
"""Share of a report by which blocks may exceed it: beyond that some are gone, whatever the call before says."""
_ROUGH: Final = 0.3
"""The same shares where the size is the client's own estimate, by characters."""
_CLEARED: Final = Features(result=9.0, returns=1.0)
"""What stands in the place of a cleared result: a short notice."""


def least_missing(call: Call) -> float:
    """Tokens by which the report of `call` must at least fall short before anything is looked for."""
    return max(_LEAST, (_ROUGH if is_estimate(call) else _SHARE) * reported_input(call))


class Shortfalls:
    """Finds in the contexts of `book` what reports show to be gone."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tree = book.session.tree

    def notice(self, call: Call) -> int:
        """Tokens of what stands in the place of a cleared result."""
        return round(weigh(_CLEARED, self._book.weights(call.model)))

    def gone(self, line: ReadLine, step: ReadStep, gone: Absences, rest: int, before: int) -> Absences:
        """The blocks that are gone, where `rest` tokens remain of the report and `before` stand before them."""
        call = step.call
        if line.events >= _MOST:
            return gone
        number, least = len(line.calls) + 1, least_missing(call)
        fell = step.level - rest
        if gone and -fell > least and rest > least:
            again = step.base is not None and self._again(line.calls[step.base], call)
            return gone if again else self._back(call, gone, -fell)
        if rest >= -least or fell <= least:
            return gone
        base = self._before(line, step)
        shared = self._shared(base, call)
        doubt = self._doubt(base, call)
        if fell <= doubt:
            return gone
        # Of what stood there before it is gone what the last reports had; the rest is what is missing here.
        missing = self._missing(call, base, gone, shared, fell, doubt, before)
        found = explain(self._tree, missing)
        return gone.and_(found, missing.left, number) if found else gone

    def certain(self, line: ReadLine, step: ReadStep, gone: Absences, rest: int, before: int) -> Absences:
        """As `gone`, of what exceeds the report whatever the residual was before: so much is gone for certain."""
        call = step.call
        most = -(_ROUGH if is_estimate(call) else _EXCESS) * reported_input(call)
        if rest >= most or line.events >= _MOST:
            return gone
        found = self.gone(line, replace(step, level=0), gone, rest, before)
        if found is not gone and rest + self._went(call, gone, found) >= most:
            return found
        base = self._before(line, step)
        shared = self._shared(base, call)
        missing = self._missing(call, base, gone, shared, -rest, self._doubt(base, call), before)
        oldest = None if missing.prefix_stays or missing.whole else oldest_messages(self._tree, missing)
        return gone.and_(oldest, missing.left, len(line.calls) + 1) if oldest else found

    def _went(self, call: Call, gone: Absences, found: Absences) -> int:
        """Tokens of `call` that are gone by `found` and not by `gone`."""
        was, now = (self._book.read_sums(call.model, call.sent_head, one) for one in (gone, found))
        return sum(was) - sum(now)

    def _before(self, line: ReadLine, step: ReadStep) -> Call | None:
        """The call that a step goes on from: the one whose context is extended, else the last one."""
        return line.calls[step.base] if step.base is not None else line.calls[-1] if line.calls else None

    def _shared(self, base: Call | None, call: Call) -> int:
        """What of the context of `call` stood there before: what it shares with `base`; without one, all before the
        turn that it is in."""
        if base is not None:
            return self._tree.common(base.sent_head, call.sent_head)
        start = self._tree[call.sent_head].turn_start
        return self._tree[start].parent if start != ROOT else ROOT

    def less(
        self, line: ReadLine, step: ReadStep, front: int | None, rest: int, lowered: int, *, explained: bool
    ) -> int:
        """By how much system prompt and tools are less than before (negative: more again), where `rest` tokens remain.
        They are only less where no block explained a fall: what is not on record is all that can have changed then.
        `lowered` is by how much they were less before."""
        call, base = step.call, self._before(line, step)
        if front is None or (base is not None and self._again(base, call)):
            return 0
        least = least_missing(call)
        # What a block that is gone was counted wrongly by is gone with it.
        fell = (0 if explained else step.level) - rest
        if lowered and rest > least and abs(-fell - lowered) <= _BACK * lowered:
            return -lowered
        if explained or rest >= -least or fell <= max(least, self._doubt(base, call)):
            return 0
        return min(front, fell)

    def _doubt(self, base: Call | None, call: Call) -> float:
        """How much of what is missing the blocks that came may be wrong by, in tokens."""
        came = self._tree.path(call.sent_head, self._shared(base, call))
        slacks = (self._book.slack(call.model, n) or 0.0 for n in came if self._counts(n))
        return _SURE * math.sqrt(sum(one**2 for one in slacks))

    def _missing(
        self,
        call: Call,
        base: Call | None,
        gone: Absences,
        shared: int,
        fell: int,
        doubt: float,
        before: int,
    ) -> Missing:
        book, tree = self._book, self._tree
        came = tree.path(call.sent_head, shared)
        answered = answer_nodes_in(tree, base, call.sent_head) if base else []
        held = set(came)
        left, again = left_cached(base), base is not None and self._again(base, call)
        lost = base is not None and call.usage is not None and call.usage.cache_read < _READ_AGAIN * left
        pause = call.started - base.started if base and base.started and call.started else None
        return Missing(
            tokens=fell,
            doubt=doubt,
            came=came,
            answered=[n for n in answered if n in held and self._counts(n)],
            old=lambda: self._old(call, gone, shared, before),
            thought=book.read_sums(call.model, call.sent_head, gone)[_THINKING],
            size=lambda node: book.own(call.model, node),
            left=self.notice(call),
            spare=max(doubt, _SPARE * reported_input(call)),
            prefix_stays=again,
            prefix_broke=lost and pause is not None and pause < _LIFE,
            whole=call.fidelity == Fidelity.WIRE,
        )

    def _old(self, call: Call, gone: Absences, shared: int, before: int) -> list[int]:
        """The nodes of the context `shared` that `call` reads, less those that came from the cache, where `before`
        tokens stand before all of them."""
        tree, usage = self._tree, call.usage
        start = tree[call.sent_head].turn_start if self._book.card(call.model).strips_thinking else ROOT
        cached = usage.cache_read * _READ_AGAIN if usage is not None and usage.has_cache else 0
        path = tree.path(shared)
        first = bisect_right(path, cached, key=lambda n: before + self._until(call, gone, n, start)) if cached else 0
        return [
            node
            for node in path[first:]
            if self._counts(node) and not gone.get(node) and not (tree[node].category == _THINKING and node < start)
        ]

    def _until(self, call: Call, gone: Absences, node: int, start: int) -> int:
        """Tokens that `call` reads up to and with `node`; `start` is where its turn begins if thinking goes with it."""
        book, model = self._book, call.model
        total = sum(book.sums(model, node))
        if start != ROOT:
            total -= book.sum_of(model, node if node < start else self._tree[start].parent, _THINKING)
        if gone:
            sums = gone.before.get((book.version, model))
            if sums is None:
                sizes = (book.own(model, n) - one.left for n, one in gone.of.items())
                sums = gone.before[book.version, model] = [0, *accumulate(sizes)]
            total -= sums[bisect_right(gone.nodes, node)]
        return total

    def _again(self, base: Call, call: Call) -> bool:
        """Whether `call` read from the cache what `base` left there, which was its whole context: then nothing in it is
        gone or new."""
        left = left_cached(base)
        whole = left > 0 and left >= _READ_AGAIN * reported_input(base)
        return whole and call.usage is not None and call.usage.cache_read >= _READ_AGAIN * left

    def _back(self, call: Call, gone: Absences, rise: int) -> Absences:
        """What is gone when a report rose by `rise` tokens that nothing recorded explains: blocks may be back."""
        for since in sorted({one.since for one in gone.of.values() if one.why != NOT_SENT}, reverse=True):
            rest = gone.less(since)
            came = sum(self._book.read_sums(call.model, call.sent_head, rest)) - sum(
                self._book.read_sums(call.model, call.sent_head, gone)
            )
            if came and abs(came - rise) <= _BACK * came:
                return rest
        return gone

    def _counts(self, node: int) -> bool:
        return self._tree[node].block.kind != HEADER
