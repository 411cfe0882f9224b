"""Shortfalls: reports that are less than what stands in a context, and what of it is gone then."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.block_counts import BlockCounts
from ctxtui.analysis.read.absence import NOT_SENT, Absences, Missing, explain, oldest_messages
from ctxtui.analysis.read.read_line import ReadLine, ReadStep, is_estimate, left_cached, reported_input
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, Fidelity, answer_in
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import tokens

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

    def __init__(self, book: BlockCounts) -> None:
        self._book = book
        self._tree = book.session.tree

    def notice(self, call: Call) -> int:
        """Tokens of what stands in the place of a cleared result."""
        return round(tokens(_CLEARED, self._book.weights(call.model)))

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
        answered = answer_in(tree, base, call.sent_head) if base else []
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
