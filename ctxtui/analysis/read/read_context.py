"""Read contexts: the part of a recorded context that the model read, derived from reports.

Unrecorded input is inferred from the first report of an epoch. If a report is less than the recorded blocks, the absent
blocks are inferred (`analysis.read.absence`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.analysis.cache.truncated_prompt import is_cut, unseen_nodes
from ctxtui.analysis.read.absence import COMPACTED, CUT, EDITED, NO_ABSENCES, THINKING_LEFT_OUT, Absences, AbsentBlocks
from ctxtui.analysis.read.searches import is_compacted, is_linked
from ctxtui.analysis.read.shortfall import (
    CallAtNode,
    ReadContext,
    ReadLine,
    ReadStep,
    Shortfalls,
    has_report,
    min_shortfall,
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
_CLOSED_MAKERS: Final = frozenset({"anthropic", "google", "xai"})
"""Makers whose models run on their own servers only, which cut no request."""
_LEAST_SLACK: Final = 0.1
"""Minimum relative error of a count in the test for a cut."""
_SMALLEST_WINDOW: Final = 256
"""Tokens; a smaller request was not cut, but its texts are counted wrongly."""


def removed_by_provider(book: Book, call: Call, notice: int, number: int) -> Absences:
    """Blocks that the provider removed from the recorded request of `call`.

    They follow from its answer and its report. `number` is the call's number in its thread; `notice`: tokens of the
    replacement of a cleared result.
    """
    if call.fidelity != Fidelity.WIRE or call.usage is None:
        return NO_ABSENCES
    tree, read = book.session.tree, call.usage.input
    sums = book.read_sums(call.model, call.sent_head, NO_ABSENCES)
    if sum(sums) <= read:
        return NO_ABSENCES
    message_nodes = [
        n for n in tree.path(call.sent_head) if tree[n].place.section == "messages" and tree[n].block.kind != HEADER
    ]
    if any(tree[n].block.kind == _COMPACTION for n in answer_path(tree, call)):
        return NO_ABSENCES.with_blocks(AbsentBlocks(tuple(message_nodes), COMPACTED), 0, number)
    if many := _cleared_results(call):
        results = [n for n in message_nodes if tree[n].category == _RESULT]
        return NO_ABSENCES.with_blocks(AbsentBlocks(tuple(results[:many]), EDITED), notice, number)
    return _find_cut_blocks(book, call, sums, read, number)


def _cleared_results(call: Call) -> int:
    management = call.extra.get("context_management")
    listed = management.get("applied_edits") if isinstance(management, dict) else None
    edits = [edit for edit in listed if isinstance(edit, dict)] if isinstance(listed, list) else []
    return max((0, *(n for edit in edits if type(n := edit.get("cleared_tool_uses")) is int)))


def _find_cut_blocks(book: Book, call: Call, sums: tuple[int, ...], read: int, number: int) -> Absences:
    card = book.card(call.model)
    # Some models are served by their maker only; other servers of an open model may cut requests.
    maker = card.provider in _CLOSED_MAKERS or (card.provider and call.provider in ("", card.provider))
    if maker or read < _SMALLEST_WINDOW:
        return NO_ABSENCES
    # A model's count of images is often unknown, so only texts can show a cut.
    texts = sum(sums) - sums[INDEX["image"]] - sums[INDEX["document"]]
    slack = max(_LEAST_SLACK, book.whole_slack(call.model, call.sent_head) or 0.0)
    if not is_cut(texts, slack, read, book.session.about.window or card.window or 0):
        return NO_ABSENCES
    tree = book.session.tree

    def own_tokens(node: int) -> int:
        return 0 if tree[node].block.kind == HEADER else book.block_tokens(call.model, node)

    nodes = unseen_nodes(tree, call.sent_head, own_tokens, sum(sums), read)
    return NO_ABSENCES.with_blocks(AbsentBlocks(nodes, CUT), 0, number)


_THINKING: Final = INDEX["thinking"]
_MIN_FRONT_SHARE: Final = 0.5
"""If system prompt and tools appear to be less than this share of their former size, blocks are absent instead."""


class ReadContexts:
    """Read contexts of a session's calls.

    Other threads may call all methods but `advance` meanwhile.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tree = book.session.tree
        self._shortfalls = Shortfalls(book)
        self._lines: Mapping[str, ReadLine] = {}
        self._version = -1
        self._any = False
        self._heads: dict[int, Absences] = {}
        self._seen: tuple[Call, int, Absences, int] | None = None
        """Result for the last context queried."""

    def advance(self) -> None:
        """Process the calls that are new and counted, under the current weights."""
        again = self._version != self._book.version
        self._version = self._book.version
        for thread, order in list(self._book.session.order.items()):
            line_before = None if again else self._lines.get(thread)
            calls = [self._book.session.calls[id_] for id_ in list(order)]
            same = _count_same(line_before.calls, calls) if line_before else 0
            if line_before and same == len(calls) == len(line_before.calls):
                continue
            reads: list[ReadContext] = []
            line = ReadLine([], reads, CallAtNode(), {}, set(line_before.linked) if line_before else set())
            for index, call in enumerate(calls):
                if line_before and index < same:
                    read = line_before.read[index]
                elif self._book.is_counted(call.model, max(call.sent_head, call.response_head)):
                    read = self._read_next(line, call)
                else:
                    # Another thread added it after everything was counted.
                    break
                line.index[call.id] = len(line.calls)
                line.at.put(call.sent_head, len(line.calls))
                line.at.put(call.response_head, len(line.calls))
                line.calls.append(call)
                reads.append(read)
                self._any = self._any or bool(read.gone)
            self._lines = {**self._lines, thread: line}
        self._heads = {}

    def read_of(self, call: Call) -> ReadContext | None:
        """Read context of `call`; None while unknown."""
        line, index = self._line_and_index(call)
        return line.read[index] if line is not None else None

    def residual_of(self, call: Call) -> tuple[int, int] | None:
        """Like `shortfall.residual_of`; None also while unknown."""
        line, index = self._line_and_index(call)
        return residual_of(line.read, index) if line is not None else None

    def _line_and_index(self, call: Call) -> tuple[ReadLine | None, int]:
        line = self._lines.get(call.thread)
        index = line.index.get(call.id) if line else None
        if line is None or index is None or line.calls[index].sent_head != call.sent_head:
            return None, 0
        return line, index

    def is_unexplained(self, call: Call, rest: int) -> bool:
        """Whether `call`, not processed yet, has a report that is too small for its blocks.

        `rest` is the report less the counted tokens.
        """
        return has_report(call) and -rest > min_shortfall(call) and not self.has_seen(call)

    def has_seen(self, call: Call) -> bool:
        """Whether `call` was processed with its current report."""
        line = self._lines.get(call.thread)
        index = line.index.get(call.id) if line else None
        return line is not None and index is not None and line.calls[index].usage == call.usage

    def absences_at(self, head: int) -> Absences:
        """Absent blocks on the path to `head`, by the last call whose context or answer is on it."""
        if not self._any:
            return NO_ABSENCES
        absences = self._heads
        head_absences = absences.get(head)
        if head_absences is None:
            head_absences = absences[head] = self._find_absences(head)
        return head_absences

    def _find_absences(self, head: int) -> Absences:
        lines, node = list(self._lines.values()), head
        while node != ROOT:
            for line in lines:
                index = line.at.get(node)
                if index is not None:
                    return self._map_to_head(line.calls[index], line.read[index].gone, head)
            node = self._tree[node].parent
        return NO_ABSENCES

    def _map_to_head(self, call: Call, absences: Absences, head: int) -> Absences:
        if not absences or not call.is_edited or self._tree.holds(head, call.sent_head):
            return absences
        return self._map_absences(absences, self._tree.common(call.sent_head, head), head)

    def tokens(self, model: str, head: int, absences: Absences) -> tuple[int, ...]:
        """Tokens by category index that absences remove from the context `head`, as `model` counts.

        Raises `IndexError` while they are not counted.
        """
        book, tree = self._book, self._tree
        start = tree[head].turn_start if book.card(model).strips_thinking else ROOT
        key = (book.version, model, start)
        tokens = absences.by_category.get(key)
        if tokens is None:
            sums = [0] * len(INDEX)
            for node, absence in absences.by_node.items():
                if tree[node].category == _THINKING and node < start:
                    continue  # already removed as thinking of an earlier turn
                tokens_by_category = book.block_tokens_by_category(model, node)
                for category, n in tokens_by_category.items():
                    sums[category] += n
                sums[next(iter(tokens_by_category))] -= min(absence.left, sum(tokens_by_category.values()))
            tokens = absences.by_category[key] = tuple(sums)
        return tokens

    def _read_next(self, line: ReadLine, call: Call) -> ReadContext:
        number = len(line.calls) + 1
        base = self._extended_call(line, call.sent_head)
        base_context = line.read[base] if base is not None else None
        absences = base_context.gone if base_context else self._map_last_absences(line, call.sent_head)
        last = line.last
        was = line.read[last] if last is not None else None
        same = last is not None and line.calls[last].epoch.number == call.epoch.number
        if not has_report(call):
            nothing = ReadContext(number=number, front=None, reported=False)
            read = (base_context or was or nothing) if same else nothing
            return replace(read, number=number, gone=absences, events=line.events)
        level = (base_context or was) if same else None
        step = ReadStep(call, base, was, level.residual if level else 0)
        if self._visible_tokens(call, NO_ABSENCES) == 0:
            # Nothing of this request is recorded, so the whole report is unrecorded input.
            front = reported_input(call) if call.fidelity == Fidelity.TRANSCRIPT else None
            return ReadContext(number=number, front=front, events=line.events, blank=True)
        if call.fidelity != Fidelity.TRANSCRIPT:
            absences = removed_by_provider(
                self._book, call, self._shortfalls.notice_tokens(call), number
            ) or absences.only(THINKING_LEFT_OUT)
        front, attached, searched, step = self._unrecorded_input(line, step, absences, same)
        before, reported = (front or 0) + attached + searched, reported_input(call)
        rest = reported - self._visible_tokens(call, absences) - before
        gone_now = self._shortfalls.find_absent(line, step, absences, rest, before)
        explained = gone_now is not absences
        events, absences = line.events + explained, gone_now
        rest = reported - self._visible_tokens(call, absences) - before
        lowered = was.lowered if same and was is not None else 0
        decrease = self._shortfalls.find_decrease(line, step, front, rest, lowered, explained=explained)
        if decrease:
            front, lowered, rest = (front or 0) - decrease, max(0, decrease), rest + decrease
        before = (front or 0) + attached + searched
        gone_now = self._shortfalls.find_certain(line, step, absences, rest, before)
        events, absences = max(events, line.events + (gone_now is not absences)), gone_now
        rest = reported - self._visible_tokens(call, absences) - before
        step_tokens, step_call = rest - step.level, number
        if same and was is not None and was.step * rest > 0 and abs(was.step) >= abs(step_tokens):
            step_tokens, step_call = was.step, was.since
        return ReadContext(
            number=number,
            front=front,
            attached=attached,
            brought=searched,
            gone=absences,
            residual=rest,
            since=step_call,
            step=step_tokens,
            events=events,
            lowered=lowered,
        )

    def _unrecorded_input(
        self, line: ReadLine, step: ReadStep, absences: Absences, same: bool
    ) -> tuple[int | None, int, int, ReadStep]:
        """Unrecorded tokens, and `step` with its level.

        The tokens are of system prompt and tools, re-attached input, and search results.
        """
        call, was = step.call, step.was
        if call.fidelity == Fidelity.WIRE:
            return None, 0, self._count_provider_additions(line, step, absences, same), step
        if call.fidelity != Fidelity.TRANSCRIPT:
            return None, 0, 0, step
        more = reported_input(call) - self._visible_tokens(call, absences)
        if call.extra.get(FRONT_RECORDED):
            front, attached = None, 0
        elif same and was is not None:
            front, attached = was.front, was.attached
        else:
            front, attached, step = self._infer_epoch(step, more)
        searches = self._book.searches
        searched = was.brought if same and was is not None else 0
        if searches.any_in(call.thread):
            searched = searches.search_tokens(call, searched, more - (front or 0) - attached)
        return front, attached, searched, step

    def _count_provider_additions(self, line: ReadLine, step: ReadStep, absences: Absences, same: bool) -> int:
        call, searches = step.call, self._book.searches
        more = reported_input(call) - self._visible_tokens(call, absences)
        base = line.calls[step.base].sent_head if step.base is not None else ROOT
        new = self._tree.path(call.sent_head, self._tree.common(base, call.sent_head))
        before = step.base is not None and line.calls[step.base].id in line.linked
        if before or any(is_linked(self._tree, node) for node in new):
            line.linked.add(call.id)
        if call.id in line.linked or is_compacted(self._tree, call):
            return max(0, more)
        searched = step.was.brought if same and step.was is not None else 0
        # The request is recorded, so additions are at most the tokens reported beyond it.
        return min(searches.search_tokens(call, searched, more), max(0, more)) if searches.any_in(call.thread) else 0

    def _infer_epoch(self, step: ReadStep, more: int) -> tuple[int | None, int, ReadStep]:
        """Infer unrecorded tokens from an epoch's first report.

        It has `more` tokens beyond the recorded blocks.
        """
        was, start = step.was, step.call.epoch.start
        front = was.front if was is not None else None
        if was is None or front is None or start is EpochStart.START:
            return max(0, more) or None, 0, step
        if start is EpochStart.MICROCOMPACTION:
            return front, was.attached, replace(step, level=was.residual)
        if start is EpochStart.COMPACTION:
            kept_front = min(front, max(0, more))
            return kept_front or None, max(0, more) - kept_front, step
        # The client was restarted or changed: its own input may differ, but does not vanish.
        return (more, 0, step) if more >= _MIN_FRONT_SHARE * front else (front, 0, step)

    def _visible_tokens(self, call: Call, absences: Absences) -> int:
        version, last = self._book.version, self._seen
        if last is not None and last[0] is call and last[1] == version and last[2] is absences:
            return last[3]
        total = sum(self._book.read_sums(call.model, call.sent_head, absences))
        self._seen = call, version, absences, total
        return total

    def _extended_call(self, line: ReadLine, head: int) -> int | None:
        while head != ROOT:
            index = line.at.get(head)
            if index is not None:
                return index
            head = self._tree[head].parent
        return None

    def _map_last_absences(self, line: ReadLine, head: int) -> Absences:
        before = line.read[-1].gone if line.read else NO_ABSENCES
        if not before or not line.calls:
            return NO_ABSENCES
        return self._map_absences(before, self._tree.common(line.calls[-1].sent_head, head), head)

    def _map_absences(self, before: Absences, shared: int, head: int) -> Absences:
        by_digest: dict[str, list[int]] = {}
        for node in self._tree.path(head, shared):
            by_digest.setdefault(self._tree[node].block.digest, []).append(node)
        mapped = {}
        for node, absence in before.by_node.items():
            if self._tree.holds(shared, node):
                mapped[node] = absence
            elif same_nodes := by_digest.get(self._tree[node].block.digest):
                same_node = same_nodes.pop(0)
                mapped[same_node] = replace(absence, node=same_node)
        return Absences(mapped) if mapped else NO_ABSENCES


def _count_same(before: Sequence[Call], now: Sequence[Call]) -> int:
    return next((index for index, same in enumerate(map(is_, before, now)) if not same), min(len(before), len(now)))
