"""Find blocks that a model did not read: reports have fewer tokens than the context.

A recording may hold blocks that were not in the request: without a record of it, a client clears old tool results or
drops old messages, and a provider leaves out thinking. The *residual* of a call is its reported input without the
counted tokens of its blocks and without the unrecorded input (system prompt, tools and others). If it falls below that
of the earlier report by more than the errors of counting, some blocks must be *absent* (`Absences`): those whose tokens
explain the difference. They are back when a report rises again by their tokens.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.read.absence import (
    NO_ABSENCES,
    NOT_SENT,
    Absences,
    MissingTokens,
    explain_missing,
    oldest_messages,
)
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, Fidelity, answer_nodes_in
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import weigh

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book


class ReadContext(Struct, frozen=True, kw_only=True, gc=False):
    """The part of a call's context that its model read, by its report.

    - `number`: counts from 1 in its thread.
    - `front`: unrecorded tokens of system prompt and tools; None if recorded, or not inferable.
    - `attached`: tokens that the client attached again after a compaction.
    - `brought`: tokens that the provider added (`analysis.read.searches`).
    - `gone`: the absent blocks, which were not read.
    - `residual`: reported tokens less those of the blocks that were read, `front`, `attached` and `brought`.
    - `step`: the largest change of the residual in this epoch with its present sign, in tokens; `since`: the number of
      the call in which it changed.
    - `events`: number of reports so far in which blocks were newly found absent, or back again.
    - `lowered`: tokens by which `front` last decreased in this epoch; 0 if it has increased since.
    - `blank`: no block of the context is recorded.

    A call without a report has the figures of an earlier one in its epoch; if there is none, it is not `reported`.
    """

    number: int
    front: int | None
    attached: int = 0
    brought: int = 0
    gone: Absences = NO_ABSENCES
    residual: int = 0
    since: int = 0
    step: int = 0
    events: int = 0
    lowered: int = 0
    reported: bool = True
    blank: bool = False


class CallAtNode:
    """A call's index by a node of the tree."""

    def __init__(self) -> None:
        self._next = array("i")
        """By node the index of its call plus 1, 0 for none."""

    def get(self, node: int) -> int | None:
        number = self._next[node] if node < len(self._next) else 0
        return number - 1 if number else None

    def put(self, node: int, index: int) -> None:
        if node >= len(self._next):
            self._next.frombytes(bytes(self._next.itemsize * (node + 1 - len(self._next))))
        self._next[node] = index + 1


class ReadLine(Struct, frozen=True):
    """The calls of a thread that were examined so far, and the result for each.

    `at` has a call's index by node, `index` by the call's id.
    """

    calls: list[Call]
    read: Sequence[ReadContext]
    at: CallAtNode
    index: dict[str, int]
    linked: set[str]
    """Ids of calls whose request links to documents that it does not hold."""

    @property
    def last(self) -> int | None:
        """Index of the last call with a report and recorded blocks; None before the first."""
        for index in reversed(range(len(self.calls))):
            if has_report(self.calls[index]) and not self.read[index].blank:
                return index
        return None

    @property
    def events(self) -> int:
        """Number of reports in which blocks were newly found absent, or back again."""
        return self.read[-1].events if self.read else 0


class ReadStep(Struct, frozen=True):
    """The next `call` to be examined, which has a report.

    - `base`: index of the call whose context it extends; None without one.
    - `was`: the result for the last call with a report; None before the first.
    - `level`: the earlier residual, with which that of `call` is compared; 0 at the start of an epoch.
    """

    call: Call
    base: int | None
    was: ReadContext | None
    level: int


def residual_of(read: Sequence[ReadContext], index: int) -> tuple[int, int] | None:
    """Number of the call at `index` and its residual; None without a report in its epoch so far."""
    read_context = read[index]
    return (read_context.number, read_context.residual) if read_context.reported else None


def has_report(call: Call) -> bool:
    return reported_input(call) > 0


def reported_input(call: Call) -> int:
    """Reported input of `call` in tokens, else the client's own figure; 0 without either."""
    return call.usage.input if call.usage is not None else call.estimated_input or 0


def _left_cached(call: Call | None) -> int:
    """Tokens that `call` read from the cache or wrote to it, by its report."""
    return call.usage.cache_read + call.usage.cache_write if call is not None and call.usage is not None else 0


_THINKING: Final = INDEX["thinking"]
_MIN_TOKENS: Final = 40
"""A smaller shortfall of a report, in tokens ..."""
_MIN_SHARE: Final = 0.005
"""... or as a share of the report, is a counting error."""
_SPARE_SHARE: Final = 0.01
"""Share of a report by which the blocks found may fall short of the missing tokens."""
_MIN_WIDTHS: Final = 1.65
"""The missing tokens must exceed the possible counting error of the added blocks by this factor.

The error of each is a half width of its interval; they are added as independent ones, by their squares.
"""
_MAX_EVENTS: Final = 200
"""Maximum of `ReadContext.events`: beyond that, the reports are of other content than the blocks."""
_READ_AGAIN: Final = 0.9
"""Share of the previous call's cached tokens from which on its context counts as read again."""
_MIN_LIFETIME: Final = 300.0
"""Minimum lifetime of any cache entry in seconds: a shorter pause explains no miss."""
_RETURN_TOLERANCE: Final = 0.25
"""Relative tolerance for a rise that counts as the return of absent blocks."""
_MAX_EXCESS: Final = 0.02
"""Share of a report by which blocks may exceed it: beyond that some are absent in any case."""
_ESTIMATE_SHARE: Final = 0.3
"""Instead of `_MIN_SHARE` and `_MAX_EXCESS`, if the client estimated the size by characters."""
_CLEARED: Final = Features(result=9.0, returns=1.0)
"""Features of a cleared result's replacement: a short notice."""


def min_shortfall(call: Call) -> float:
    """Tokens by which the report of `call` must fall short before absent blocks are searched."""
    return max(_MIN_TOKENS, (_ESTIMATE_SHARE if call.usage is None else _MIN_SHARE) * reported_input(call))


class Shortfalls:
    """Finds absent blocks in the contexts of `book` from reports."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tree = book.session.tree

    def notice_tokens(self, call: Call) -> int:
        """Tokens of the notice that replaces a cleared tool result."""
        return round(weigh(_CLEARED, self._book.weights(call.model)))

    def find_absent(self, line: ReadLine, step: ReadStep, absences: Absences, rest: int, before: int) -> Absences:
        """Find the absent blocks of the context of `step.call`, in the thread `line`.

        `absences` are those known before; the same object is returned if the report gives no reason to change them.
        `rest` is the residual with them, `before` the unrecorded input tokens, which precede the blocks.
        """
        call = step.call
        if line.events >= _MAX_EVENTS:
            return absences
        number, least = len(line.calls) + 1, min_shortfall(call)
        fell = step.level - rest
        if absences and -fell > least and rest > least:
            was_read_again = step.base is not None and self._was_read_again(line.calls[step.base], call)
            return absences if was_read_again else self._find_returned(call, absences, -fell)
        if rest >= -least or fell <= least:
            return absences
        base = self._previous_call(line, step)
        shared = self._shared_prefix(base, call)
        doubt = self._estimate_doubt(base, call)
        if fell <= doubt:
            return absences
        # Earlier blocks are absent as in the last reports; the new shortfall is explained here.
        missing = self._make_missing(call, base, absences, shared, fell, doubt, before)
        absent = explain_missing(self._tree, missing)
        return absences.with_blocks(absent, missing.left, number) if absent else absences

    def find_certain(self, line: ReadLine, step: ReadStep, absences: Absences, rest: int, before: int) -> Absences:
        """Like `find_absent`, for a report so small that blocks must be absent.

        The earlier residual does not matter.
        """
        call = step.call
        most = -(_ESTIMATE_SHARE if call.usage is None else _MAX_EXCESS) * reported_input(call)
        if rest >= most or line.events >= _MAX_EVENTS:
            return absences
        absent = self.find_absent(line, replace(step, level=0), absences, rest, before)
        if absent is not absences and rest + self._newly_absent(call, absences, absent) >= most:
            return absent
        base = self._previous_call(line, step)
        shared = self._shared_prefix(base, call)
        missing = self._make_missing(call, base, absences, shared, -rest, self._estimate_doubt(base, call), before)
        oldest = None if missing.prefix_stays or missing.whole else oldest_messages(self._tree, missing)
        return absences.with_blocks(oldest, missing.left, len(line.calls) + 1) if oldest else absent

    def _newly_absent(self, call: Call, absences_before: Absences, now_absent: Absences) -> int:
        was, now = (
            self._book.read_sums(call.model, call.sent_head, absences) for absences in (absences_before, now_absent)
        )
        return sum(was) - sum(now)

    def _previous_call(self, line: ReadLine, step: ReadStep) -> Call | None:
        return line.calls[step.base] if step.base is not None else line.calls[-1] if line.calls else None

    def _shared_prefix(self, base: Call | None, call: Call) -> int:
        if base is not None:
            return self._tree.common(base.sent_head, call.sent_head)
        start = self._tree[call.sent_head].turn_start
        return self._tree[start].parent if start != ROOT else ROOT

    def find_decrease(
        self, line: ReadLine, step: ReadStep, front: int | None, rest: int, lowered: int, *, explained: bool
    ) -> int:
        """Tokens by which the unrecorded system prompt and tools (`front`) decreased.

        Negative: increased. `rest` is the residual, `lowered` the last decrease. `explained`: absent blocks explain
        this report.
        """
        call, base = step.call, self._previous_call(line, step)
        if front is None or (base is not None and self._was_read_again(base, call)):
            return 0
        least = min_shortfall(call)
        # The counting error of an absent block is absent too.
        fell = (0 if explained else step.level) - rest
        if lowered and rest > least and abs(-fell - lowered) <= _RETURN_TOLERANCE * lowered:
            return -lowered
        if explained or rest >= -least or fell <= max(least, self._estimate_doubt(base, call)):
            return 0
        return min(front, fell)

    def _estimate_doubt(self, base: Call | None, call: Call) -> float:
        new_nodes = self._tree.path(call.sent_head, self._shared_prefix(base, call))
        slacks = (self._book.slack(call.model, n) or 0.0 for n in new_nodes if self._is_counted(n))
        return _MIN_WIDTHS * math.sqrt(sum(slack**2 for slack in slacks))

    def _make_missing(
        self, call: Call, base: Call | None, absences: Absences, shared: int, fell: int, doubt: float, before: int
    ) -> MissingTokens:
        book, tree = self._book, self._tree
        new_nodes = tree.path(call.sent_head, shared)
        answered = answer_nodes_in(tree, base, call.sent_head) if base else []
        came_set = set(new_nodes)
        cached_before, was_read_again = _left_cached(base), base is not None and self._was_read_again(base, call)
        lost = base is not None and call.usage is not None and call.usage.cache_read < _READ_AGAIN * cached_before
        pause = call.started - base.started if base and base.started and call.started else None
        return MissingTokens(
            tokens=fell,
            doubt=doubt,
            came=new_nodes,
            answered=[n for n in answered if n in came_set and self._is_counted(n)],
            old=lambda: self._old_nodes(call, absences, shared, before),
            thought=book.read_sums(call.model, call.sent_head, absences)[_THINKING],
            size=lambda node: book.block_tokens(call.model, node),
            left=self.notice_tokens(call),
            spare=max(doubt, _SPARE_SHARE * reported_input(call)),
            prefix_stays=was_read_again,
            prefix_broke=lost and pause is not None and pause < _MIN_LIFETIME,
            whole=call.fidelity == Fidelity.WIRE,
        )

    def _old_nodes(self, call: Call, absences: Absences, shared: int, before: int) -> list[int]:
        """Nodes of the context `shared` that `call` reads, but not from the cache.

        `before` tokens precede all.
        """
        tree, usage = self._tree, call.usage
        start = tree[call.sent_head].turn_start if self._book.card(call.model).strips_thinking else ROOT
        cached = usage.cache_read * _READ_AGAIN if usage is not None and usage.has_cache else 0
        path = tree.path(shared)
        first = (
            bisect_right(path, cached, key=lambda n: before + self._tokens_until(call, absences, n, start))
            if cached
            else 0
        )
        return [
            node
            for node in path[first:]
            if self._is_counted(node)
            and not absences.get(node)
            and not (tree[node].category == _THINKING and node < start)
        ]

    def _tokens_until(self, call: Call, absences: Absences, node: int, start: int) -> int:
        """Tokens that `call` reads up to `node`.

        `start`: its turn's start if thinking is stripped, else `ROOT`.
        """
        book, model = self._book, call.model
        total = sum(book.sums(model, node))
        if start != ROOT:
            total -= book.category_tokens(model, node if node < start else self._tree[start].parent, _THINKING)
        if absences:
            sums = absences.sums.get((book.version, model))
            if sums is None:
                sizes = (book.block_tokens(model, n) - absence.left for n, absence in absences.by_node.items())
                sums = absences.sums[book.version, model] = [0, *accumulate(sizes)]
            total -= sums[bisect_right(absences.nodes, node)]
        return total

    def _was_read_again(self, base: Call, call: Call) -> bool:
        """Whether `base` cached nearly all of its input, and `call` read nearly all of that.

        `_READ_AGAIN` is the least share for both.
        """
        cached_before = _left_cached(base)
        is_whole = cached_before > 0 and cached_before >= _READ_AGAIN * reported_input(base)
        return is_whole and call.usage is not None and call.usage.cache_read >= _READ_AGAIN * cached_before

    def _find_returned(self, call: Call, absences: Absences, rise: int) -> Absences:
        """Absences after a report rose by `rise` unexplained tokens: blocks may be back."""
        for since in sorted(
            {absence.since for absence in absences.by_node.values() if absence.why != NOT_SENT}, reverse=True
        ):
            remaining = absences.without_since(since)
            returned_tokens = sum(self._book.read_sums(call.model, call.sent_head, remaining)) - sum(
                self._book.read_sums(call.model, call.sent_head, absences)
            )
            if returned_tokens and abs(returned_tokens - rise) <= _RETURN_TOLERANCE * returned_tokens:
                return remaining
        return absences

    def _is_counted(self, node: int) -> bool:
        return self._tree[node].block.kind != HEADER
