"""Read contexts: what of a call's recorded context its model read, as the reports up to that call show.

Call by call: what the recording lacks is inferred from the first report of an epoch and stays what it is until the next
one; what a client attached again after a compaction stands apart from it; and where a report falls short of the
recorded blocks, the blocks are found that are gone (`analysis.absence`). No later report is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.analysis.cache.truncated_prompt import is_cut, unseen
from ctxtui.analysis.read.absence import COMPACTED, CUT, EDITED, NONE_GONE, THINKING_LEFT_OUT, Absences, GoneBlocks
from ctxtui.analysis.read.searches import compacted, links
from ctxtui.analysis.read.shortfall import (
    CallAtNode,
    ReadContext,
    ReadLine,
    ReadStep,
    Shortfalls,
    has_report,
    least_missing,
    reported_input,
    residual_of,
)
from ctxtui.core.block import HEADER
from ctxtui.core.call import FRONT_RECORDED, Call, EpochStart, Fidelity, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book


_COMPACTION: Final = "compaction"
_RESULT: Final = INDEX["tool_result"]
_CLOSED: Final = frozenset({"anthropic", "google", "xai"})
"""Makers whose models nobody cuts requests for."""
_LEAST_SLACK: Final = 0.1
_SMALLEST_WINDOW: Final = 256
"""Tokens below which no server's window is: such a request was not cut, its texts are counted wrongly."""


def by_provider(book: Book, call: Call, notice: int, number: int) -> Absences:
    """What was taken out of the request of `call`, the one with `number` in its thread, as answer and report show; a
    `notice` of so many tokens stands in the place of a cleared result. Each request is edited and cut anew."""
    if call.fidelity != Fidelity.WIRE or call.usage is None:
        return NONE_GONE
    tree, read = book.session.tree, call.usage.input
    sums = book.read_sums(call.model, call.sent_head, NONE_GONE)
    if sum(sums) <= read:
        return NONE_GONE
    said = [
        n for n in tree.path(call.sent_head) if tree[n].place.section == "messages" and tree[n].block.kind != HEADER
    ]
    if any(tree[n].block.kind == _COMPACTION for n in answer_path(tree, call)):
        return NONE_GONE.and_(GoneBlocks(tuple(said), COMPACTED), 0, number)
    if many := _cleared(call):
        results = [n for n in said if tree[n].category == _RESULT]
        return NONE_GONE.and_(GoneBlocks(tuple(results[:many]), EDITED), notice, number)
    return _cut(book, call, sums, read, number)


def _cleared(call: Call) -> int:
    """How many results the provider cleared, by its answer (facts §3)."""
    said = call.extra.get("context_management")
    listed = said.get("applied_edits") if isinstance(said, dict) else None
    edits = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return max((n for one in edits if isinstance(n := one.get("cleared_tool_uses"), int)), default=0)


def _cut(book: Book, call: Call, sums: tuple[int, ...], read: int, number: int) -> Absences:
    card = book.card(call.model)
    # Some makers' models run with their maker only; where others serve an open one, they may cut it.
    maker = card.provider in _CLOSED or (card.provider and call.provider in ("", card.provider))
    if maker or read < _SMALLEST_WINDOW:
        return NONE_GONE
    # How a model counts a picture is often not known: a cut shows in the texts alone.
    texts = sum(sums) - sums[INDEX["image"]] - sums[INDEX["document"]]
    slack = max(_LEAST_SLACK, book.whole_slack(call.model, call.sent_head) or 0.0)
    if not is_cut(texts, slack, read, book.session.about.window or card.window or 0):
        return NONE_GONE
    tree = book.session.tree

    def own(node: int) -> int:
        return 0 if tree[node].block.kind == HEADER else book.own(call.model, node)

    nodes = unseen(tree, call.sent_head, own, sum(sums), read)
    return NONE_GONE.and_(GoneBlocks(nodes, CUT), 0, number)


_THINKING: Final = INDEX["thinking"]
_FRONT_STAYS: Final = 0.5
"""A system prompt that is said to be less than this share of what it was before: blocks are gone instead."""


class ReadContexts:
    """How the contexts of a session's calls were read. `advance` goes through the calls; the rest only reads, and may
    be asked by other threads meanwhile: what is known is replaced, never changed."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tree = book.session.tree
        self._shortfalls = Shortfalls(book)
        self._lines: Mapping[str, ReadLine] = {}
        self._version = -1
        self._any = False
        self._heads: dict[int, Absences] = {}
        self._seen: tuple[Call, int, Absences, int] | None = None
        """What was read of the context that was asked for last."""

    def advance(self) -> None:
        """Go through the calls that are new and counted, under the weights as they are now."""
        again = self._version != self._book.version
        self._version = self._book.version
        for thread, order in list(self._book.session.order.items()):
            known = None if again else self._lines.get(thread)
            calls = [self._book.session.calls[id_] for id_ in list(order)]
            same = _same(known.calls, calls) if known else 0
            if known and same == len(calls) == len(known.calls):
                continue
            reads: list[ReadContext] = []
            line = ReadLine([], reads, CallAtNode(), {}, set(known.linked) if known else set())
            for index, call in enumerate(calls):
                if known and index < same:
                    read = known.read[index]
                elif self._book.counted(call.model, max(call.sent_head, call.response_head)):
                    read = self._next(line, call)
                else:
                    # Another thread has folded it in since everything was counted.
                    break
                line.index[call.id] = len(line.calls)
                line.at.put(call.sent_head, len(line.calls))
                line.at.put(call.response_head, len(line.calls))
                line.calls.append(call)
                reads.append(read)
                self._any = self._any or bool(read.gone)
            self._lines = {**self._lines, thread: line}
        self._heads = {}

    def of(self, call: Call) -> ReadContext | None:
        """How the context of `call` was read; None while that is not known."""
        line, index = self._place(call)
        return line.read[index] if line is not None else None

    def residual_of(self, call: Call) -> tuple[int, int] | None:
        """The number of `call` and the residual of its report; None where it has none, and while that is not known."""
        line, index = self._place(call)
        return residual_of(line.read, index) if line is not None else None

    def _place(self, call: Call) -> tuple[ReadLine | None, int]:
        """The line on which it is known how `call` was read, and where; None while it is not."""
        line = self._lines.get(call.thread)
        index = line.index.get(call.id) if line else None
        if line is None or index is None or line.calls[index].sent_head != call.sent_head:
            return None, 0
        return line, index

    def is_unexplained(self, call: Call, rest: int) -> bool:
        """Whether the report of `call` falls short by `rest` (below 0) of what is taken to have been read, and nobody
        has looked yet for what is gone."""
        return has_report(call) and -rest > least_missing(call) and not self.has_seen(call)

    def has_seen(self, call: Call) -> bool:
        """Whether `call` was gone through with the report that it has now."""
        line = self._lines.get(call.thread)
        index = line.index.get(call.id) if line else None
        return line is not None and index is not None and line.calls[index].usage == call.usage

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
        lines, node = list(self._lines.values()), head
        while node != ROOT:
            for line in lines:
                index = line.at.get(node)
                if index is not None:
                    return self._standing(line.calls[index], line.read[index].gone, head)
            node = self._tree[node].parent
        return NONE_GONE

    def _standing(self, call: Call, gone: Absences, head: int) -> Absences:
        """What is `gone` of the context of `call`, as it stands in `head`: that is the agent's own where it left under
        edits, and its blocks are others' nodes."""
        if not gone or not call.is_edited or self._tree.holds(head, call.sent_head):
            return gone
        return self._carried(gone, self._tree.common(call.sent_head, head), head)

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

    def _next(self, line: ReadLine, call: Call) -> ReadContext:
        number = len(line.calls) + 1
        base = self._base(line, call.sent_head)
        known = line.read[base] if base is not None else None
        gone = known.gone if known else self._moved(line, call.sent_head)
        last = line.last
        was = line.read[last] if last is not None else None
        same = last is not None and line.calls[last].epoch.number == call.epoch.number
        if not has_report(call):
            nothing = ReadContext(number=number, front=None, reported=False)
            read = (known or was or nothing) if same else nothing
            return replace(read, number=number, gone=gone, events=line.events)
        level = (known or was) if same else None
        step = ReadStep(call, base, was, level.residual if level else 0)
        if self._visible(call, NONE_GONE) == 0:
            # Nothing of this request is recorded: the whole report is what the recording lacks.
            front = reported_input(call) if call.fidelity == Fidelity.TRANSCRIPT else None
            return ReadContext(number=number, front=front, events=line.events, blank=True)
        if call.fidelity != Fidelity.TRANSCRIPT:
            gone = by_provider(self._book, call, self._shortfalls.notice(call), number) or gone.only(THINKING_LEFT_OUT)
        front, attached, held, step = self._lacking(line, step, gone, same)
        before, reported = (front or 0) + attached + held, reported_input(call)
        rest = reported - self._visible(call, gone) - before
        found = self._shortfalls.gone(line, step, gone, rest, before)
        explained = found is not gone
        events, gone = line.events + explained, found
        rest = reported - self._visible(call, gone) - before
        lowered = was.lowered if same and was is not None else 0
        less = self._shortfalls.less(line, step, front, rest, lowered, explained=explained)
        if less:
            front, lowered, rest = (front or 0) - less, max(0, less), rest + less
        before = (front or 0) + attached + held
        found = self._shortfalls.certain(line, step, gone, rest, before)
        events, gone = max(events, line.events + (found is not gone)), found
        rest = reported - self._visible(call, gone) - before
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
            lowered=lowered,
        )

    def _lacking(
        self, line: ReadLine, step: ReadStep, gone: Absences, same: bool
    ) -> tuple[int | None, int, int, ReadStep]:
        """What the recording lacks of a context: system prompt and tools, what was attached again, what searches
        brought; and the step, with the level that its residual is held against."""
        call, was = step.call, step.was
        if call.fidelity == Fidelity.WIRE:
            return None, 0, self._put_in(line, step, gone, same), step
        if call.fidelity != Fidelity.TRANSCRIPT:
            return None, 0, 0, step
        more = reported_input(call) - self._visible(call, gone)
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

    def _put_in(self, line: ReadLine, step: ReadStep, gone: Absences, same: bool) -> int:
        """Tokens that the provider put into the context of a whole request, as answer or request show: what its own
        tools brought, documents that are only linked to, the summary of its compaction."""
        call, searches = step.call, self._book.searches
        more = reported_input(call) - self._visible(call, gone)
        base = line.calls[step.base].sent_head if step.base is not None else ROOT
        new = self._tree.path(call.sent_head, self._tree.common(base, call.sent_head))
        before = step.base is not None and line.calls[step.base].id in line.linked
        if before or any(links(self._tree, node) for node in new):
            line.linked.add(call.id)
        if call.id in line.linked or compacted(self._tree, call):
            return max(0, more)
        held = step.was.brought if same and step.was is not None else 0
        # The request is on record: what was put in is at most what is reported beyond it.
        return min(searches.held(call, held, more), max(0, more)) if searches.any_in(call.thread) else 0

    def _begun(self, step: ReadStep, more: int) -> tuple[int | None, int, ReadStep]:
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

    def _visible(self, call: Call, gone: Absences) -> int:
        """Tokens of the recorded blocks that are read. Asked several times in a row: most calls miss nothing."""
        version, known = self._book.version, self._seen
        if known is not None and known[0] is call and known[1] == version and known[2] is gone:
            return known[3]
        found = sum(self._book.read_sums(call.model, call.sent_head, gone))
        self._seen = call, version, gone, found
        return found

    def _base(self, line: ReadLine, head: int) -> int | None:
        """The last call whose context or answer `head` goes on from."""
        while head != ROOT:
            found = line.at.get(head)
            if found is not None:
                return found
            head = self._tree[head].parent
        return None

    def _moved(self, line: ReadLine, head: int) -> Absences:
        """What was gone of the last context, where `head` is one in which blocks were replaced: the same blocks."""
        before = line.read[-1].gone if line.read else NONE_GONE
        if not before or not line.calls:
            return NONE_GONE
        return self._carried(before, self._tree.common(line.calls[-1].sent_head, head), head)

    def _carried(self, before: Absences, shared: int, head: int) -> Absences:
        """What was gone `before`, in the context `head` that shares its front up to `shared`: the same blocks."""
        by_digest: dict[str, list[int]] = {}
        for node in self._tree.path(head, shared):
            by_digest.setdefault(self._tree[node].block.digest, []).append(node)
        kept = {}
        for node, one in before.of.items():
            if self._tree.holds(shared, node):
                kept[node] = one
            elif spots := by_digest.get(self._tree[node].block.digest):
                there = spots.pop(0)
                kept[there] = replace(one, node=there)
        return Absences(kept) if kept else NONE_GONE


def _same(before: Sequence[Call], now: Sequence[Call]) -> int:
    """How many calls are the same objects, from the first on. Of two requests on their way at once the first may get
    its report when the second stands behind it."""
    return next((index for index, same in enumerate(map(is_, before, now)) if not same), min(len(before), len(now)))
