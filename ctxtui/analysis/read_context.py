"""Read contexts: what of a call's recorded context its model read, as the reports up to that call show.

Call by call: what the recording lacks is inferred from the first report of an epoch and stays what it is until the next
one; what a client attached again after a compaction stands apart from it; and where a report falls short of the
recorded blocks, the blocks are found that are gone (`analysis.absence`). No later report is looked at.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from ctxtui.analysis.absence import NONE_GONE, NOT_SENT, Absences, Missing, explain
from ctxtui.analysis.provider_edits import by_provider
from ctxtui.analysis.searches import compacted, links
from ctxtui.core.block import HEADER
from ctxtui.core.call import FRONT_RECORDED, Call, EpochStart, Fidelity
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import tokens

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book

_THINKING: Final = INDEX["thinking"]
_CLEARED: Final = Features(result=9.0, returns=1.0)
"""What stands in the place of a cleared result: a short notice."""
_LEAST: Final = 40
"""Tokens by which a report must at least fall short before a block is taken to be gone ..."""
_SHARE: Final = 0.005
"""... and the share of the report."""
_SURE: Final = 1.65
"""Half widths of what came (independent errors) that what is missing must exceed."""
_MOST: Final = 200
"""How often blocks may be found to be gone in one thread: in a record of more, reports and blocks have nothing to do
with each other."""
_FRONT_STAYS: Final = 0.5
"""A system prompt that is said to be less than this share of what it was before: blocks are gone instead."""
_READ_AGAIN: Final = 0.9
"""Share of what the call before left in the cache from which on its context was read again."""
_LIFE: Final = 300.0
"""Seconds that every cache entry lives: a shorter pause explains no miss."""
_BACK: Final = 0.25
"""Share by which a rise may differ from what was gone, to be taken for its return."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContext:
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
    reported: bool = True


@dataclass(frozen=True, slots=True)
class _Line:
    """The calls of a thread that are gone through, how each was read, and which of them stands at a node."""

    calls: list[Call]
    read: list[ReadContext]
    at: dict[int, int]
    index: dict[str, int]
    linked: set[str]
    """Ids of calls whose request links to documents that it does not hold."""

    @property
    def events(self) -> int:
        """How often blocks were found to be gone."""
        return self.read[-1].events if self.read else 0


class ReadContexts:
    """How the contexts of a session's calls were read. `advance` goes through the calls; the rest only reads, and may
    be asked by other threads meanwhile: what is known is replaced, never changed."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tree = book.session.tree
        self._lines: dict[str, _Line] = {}
        self._version = -1
        self._any = False
        self._heads: dict[int, Absences] = {}

    def advance(self) -> None:
        """Go through the calls that are new, under the weights as they are now. Everything must be counted."""
        again = self._version != self._book.version
        self._version = self._book.version
        for thread, order in list(self._book.session.order.items()):
            known = None if again else self._lines.get(thread)
            calls = [self._book.session.calls[id_] for id_ in list(order)]
            same = _same(known.calls, calls) if known else 0
            if known and same == len(calls) == len(known.calls):
                continue
            line = _Line([], [], {}, {}, set(known.linked) if known else set())
            for index, call in enumerate(calls):
                read = known.read[index] if known and index < same else self._next(line, call)
                line.index[call.id] = len(line.calls)
                line.at[call.sent_head] = line.at[call.response_head] = len(line.calls)
                line.calls.append(call)
                line.read.append(read)
                self._any = self._any or bool(read.gone)
            self._lines = {**self._lines, thread: line}
        self._heads = {}

    def of(self, call: Call) -> ReadContext | None:
        """How the context of `call` was read; None while that is not known."""
        line = self._lines.get(call.thread)
        index = line.index.get(call.id) if line else None
        if line is None or index is None or line.calls[index].sent_head != call.sent_head:
            return None
        return line.read[index]

    def at(self, head: int) -> Absences:
        """The blocks on the path to `head` that are gone: as of the last call whose context or answer is on it."""
        if not self._any:
            return NONE_GONE
        known = self._heads
        found = known.get(head)
        if found is None:
            found = known[head] = self._at(head)
        return found

    def _at(self, head: int) -> Absences:
        lines = list(self._lines.values())
        while head != ROOT:
            for line in lines:
                index = line.at.get(head)
                if index is not None:
                    return line.read[index].gone
            head = self._tree[head].parent
        return NONE_GONE

    def tokens(self, model: str, head: int, gone: Absences) -> tuple[int, ...]:
        """Tokens by category index that the absences take from the context `head`, as `model` counts. Raises
        `IndexError` while it is not counted."""
        book, tree = self._book, self._tree
        start = tree[head].turn_start if book.card(model).strips_thinking else ROOT
        key = (book.version, model, start)
        found = gone.known.get(key)
        if found is None:
            sums = [0] * len(INDEX)
            for node, one in gone.of.items():
                if tree[node].category == _THINKING and node < start:
                    continue  # taken out as thinking of an earlier turn already
                own = book.own_by_category(model, node)
                for category, n in own.items():
                    sums[category] += n
                sums[next(iter(own))] -= min(one.left, sum(own.values()))
            found = gone.known[key] = tuple(sums)
        return found

    def _next(self, line: _Line, call: Call) -> ReadContext:
        number = len(line.calls) + 1
        base = self._base(line, call.sent_head)
        known = line.read[base] if base is not None else None
        gone = known.gone if known else self._moved(line, call.sent_head)
        last = next((i for i in reversed(range(len(line.calls))) if _reported(line.calls[i])), None)
        was = line.read[last] if last is not None else None
        same = last is not None and line.calls[last].epoch.number == call.epoch.number
        if not _reported(call):
            nothing = ReadContext(number=number, front=None, reported=False)
            read = (known or was or nothing) if same else nothing
            return replace(read, number=number, gone=gone, events=line.events)
        level = (known or was) if same else None
        step = _Step(call, base, was, level.residual if level else 0)
        if self._visible(call, NONE_GONE) == 0:
            # Nothing of this request is recorded: the whole report is what the recording lacks.
            front = _input(call) if call.fidelity == Fidelity.TRANSCRIPT else None
            return ReadContext(number=number, front=front, events=line.events)
        if call.fidelity != Fidelity.TRANSCRIPT:
            gone = by_provider(self._book, call, self._notice(call), number)
        front, attached, held, step = self._lacking(line, step, gone, same)
        before = (front or 0) + attached + held
        rest = _input(call) - self._visible(call, gone) - before
        found = self._gone(line, step, gone, rest, before)
        events, gone = line.events + (found is not gone), found
        rest = _input(call) - self._visible(call, gone) - before
        moved, since = rest - step.level, number
        if same and was is not None and was.step * rest > 0 and abs(was.step) >= abs(moved):
            moved, since = was.step, was.since
        return ReadContext(
            number=number,
            front=front,
            attached=attached,
            brought=held,
            gone=gone,
            residual=rest,
            since=since,
            step=moved,
            events=events,
        )

    def _notice(self, call: Call) -> int:
        """Tokens of what stands in the place of a cleared result."""
        return round(tokens(_CLEARED, self._book.weights(call.model)))

    def _lacking(self, line: _Line, step: _Step, gone: Absences, same: bool) -> tuple[int | None, int, int, _Step]:
        """What the recording lacks of a context: system prompt and tools, what was attached again, what searches
        brought; and the step, with the level that its residual is held against."""
        call, was = step.call, step.was
        if call.fidelity == Fidelity.WIRE:
            return None, 0, self._put_in(line, step, gone, same), step
        if call.fidelity != Fidelity.TRANSCRIPT:
            return None, 0, 0, step
        more = _input(call) - self._visible(call, gone)
        if call.extra.get(FRONT_RECORDED):
            front, attached = None, 0
        elif same and was is not None:
            front, attached = was.front, was.attached
        else:
            front, attached, step = self._begun(step, more)
        searches = self._book.searches
        held = was.brought if same and was is not None else 0
        if searches.any_in(call.thread):
            held = searches.held(call, held, more - (front or 0) - attached)
        return front, attached, held, step

    def _put_in(self, line: _Line, step: _Step, gone: Absences, same: bool) -> int:
        """Tokens that the provider put into the context of a whole request, as answer or request show: what its own
        tools brought, documents that are only linked to, the summary of its compaction."""
        call, searches = step.call, self._book.searches
        more = _input(call) - self._visible(call, gone)
        base = line.calls[step.base].sent_head if step.base is not None else ROOT
        new = self._tree.path(call.sent_head, self._tree.common(base, call.sent_head))
        before = step.base is not None and line.calls[step.base].id in line.linked
        if before or any(links(self._tree, node) for node in new):
            line.linked.add(call.id)
        if call.id in line.linked or compacted(self._tree, call):
            return max(0, more)
        held = step.was.brought if same and step.was is not None else 0
        return searches.held(call, held, more) if searches.any_in(call.thread) else 0

    def _begun(self, step: _Step, more: int) -> tuple[int | None, int, _Step]:
        """What an epoch's first report says of system prompt and tools, and of what was attached again; `more` are its
        tokens beyond the recorded blocks."""
        was, start = step.was, step.call.epoch.start
        front = was.front if was is not None else None
        if was is None or front is None or start is EpochStart.START:
            return max(0, more) or None, 0, step
        if start is EpochStart.MICROCOMPACTION:
            return front, was.attached, replace(step, level=was.residual)
        if start is EpochStart.COMPACTION:
            kept = min(front, max(0, more))
            return kept or None, max(0, more) - kept, step
        # The client came back or changed: what it sends of its own may be other than before, but does not vanish.
        return (more, 0, step) if more >= _FRONT_STAYS * front else (front, 0, step)

    def _gone(self, line: _Line, step: _Step, gone: Absences, rest: int, before: int) -> Absences:
        """The blocks that are gone, where `rest` tokens remain of the report and `before` stand before them."""
        call = step.call
        if line.events >= _MOST:
            return gone
        number, least = len(line.calls) + 1, max(_LEAST, _SHARE * _input(call))
        fell = step.level - rest
        if gone and -fell > least and rest > least:
            again = step.base is not None and self._again(line.calls[step.base], call)
            return gone if again else self._back(call, gone, -fell)
        if rest >= -least or fell <= least:
            return gone
        base = line.calls[step.base] if step.base is not None else line.calls[-1] if line.calls else None
        shared = self._tree.common(base.sent_head, call.sent_head) if base else ROOT
        came = self._tree.path(call.sent_head, shared)
        doubt = _SURE * math.sqrt(sum((self._book.slack(call.model, n) or 0.0) ** 2 for n in came if self._counts(n)))
        if fell <= doubt:
            return gone
        # Of what stood there before it is gone what the last reports had; the rest is what is missing here.
        missing = self._missing(call, base, gone, shared, fell, doubt, before)
        found = explain(self._tree, missing)
        return gone.and_(found, missing.left, number) if found else gone

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
        answered = tree.path(base.response_head, base.sent_head) if base and self._answers(base) else []
        held = set(came)
        left, again = _left(base), base is not None and self._again(base, call)
        pause = call.started - base.started if base and base.started and call.started else None
        return Missing(
            tokens=fell,
            doubt=doubt,
            came=came,
            answered=[n for n in answered if n in held and self._counts(n)],
            old=lambda: self._old(call, gone, shared, before),
            thought=book.read_sums(call.model, call.sent_head, gone)[_THINKING],
            size=lambda node: book.own(call.model, node),
            left=self._notice(call),
            prefix_stays=again,
            prefix_broke=left > 0 and not again and pause is not None and pause < _LIFE,
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
        """Whether `call` read from the cache what `base` left there: then nothing in it is gone or new."""
        left = _left(base)
        return left > 0 and call.usage is not None and call.usage.cache_read >= _READ_AGAIN * left

    def _back(self, call: Call, gone: Absences, rise: int) -> Absences:
        """What is gone when a report rose by `rise` tokens that nothing recorded explains: blocks may be back."""
        for since in sorted({one.since for one in gone.of.values() if one.why != NOT_SENT}, reverse=True):
            rest = gone.less(since)
            came = self._visible(call, rest) - self._visible(call, gone)
            if came and abs(came - rise) <= _BACK * came:
                return rest
        return gone

    def _visible(self, call: Call, gone: Absences) -> int:
        """Tokens of the recorded blocks that are read."""
        return sum(self._book.read_sums(call.model, call.sent_head, gone))

    def _base(self, line: _Line, head: int) -> int | None:
        """The last call whose context or answer `head` goes on from."""
        while head != ROOT:
            found = line.at.get(head)
            if found is not None:
                return found
            head = self._tree[head].parent
        return None

    def _moved(self, line: _Line, head: int) -> Absences:
        """What was gone of the last context, where `head` is one in which blocks were replaced: the same blocks."""
        before = line.read[-1].gone if line.read else NONE_GONE
        if not before or not line.calls:
            return NONE_GONE
        shared = self._tree.common(line.calls[-1].sent_head, head)
        by_digest: dict[str, list[int]] = {}
        for node in self._tree.path(head, shared):
            by_digest.setdefault(self._tree[node].block.digest, []).append(node)
        kept = {}
        for node, one in before.of.items():
            if self._tree.holds(shared, node):
                kept[node] = one
            elif spots := by_digest.get(self._tree[node].block.digest):
                kept[spots[0]] = replace(one, node=spots.pop(0))
        return Absences(kept) if kept else NONE_GONE

    def _answers(self, call: Call) -> bool:
        return self._tree.holds(call.response_head, call.sent_head)

    def _counts(self, node: int) -> bool:
        return self._tree[node].block.kind != HEADER


@dataclass(frozen=True, slots=True)
class _Step:
    """A `call` with a report: the index of the one that it extends, how the last one with a report was read, and the
    residual that its own is held against."""

    call: Call
    base: int | None
    was: ReadContext | None
    level: int


def _reported(call: Call) -> bool:
    return call.usage is not None and call.usage.input > 0


def _input(call: Call) -> int:
    return call.usage.input if call.usage is not None else 0


def _left(call: Call | None) -> int:
    """Tokens that a call left in the cache."""
    return call.usage.cache_read + call.usage.cache_write if call is not None and call.usage is not None else 0


def _same(before: Sequence[Call], now: Sequence[Call]) -> int:
    """How many calls are the same objects, from the first on: only calls near the end are ever replaced."""
    same = min(len(before), len(now))
    while same and before[same - 1] is not now[same - 1]:
        same -= 1
    return same
