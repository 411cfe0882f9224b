"""Turns Claude Code's records of assistant messages into calls.

An answer is spread over several records, usually one for each block; all have the same message id. The *front* of a
context is its system prompt and tools, which most transcripts lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.answer_least import min_tokens
from ctxtui.core.block import Item, message_place
from ctxtui.core.call import (
    ANSWER_LEAST,
    ASKED_AT,
    CLIENT_VERSION,
    COMPACTED,
    COPIED_BY,
    ESTIMATED_INPUT,
    FRONT_RECORDED,
    UNATTENDED,
    Call,
    Fidelity,
)
from ctxtui.core.canonical import Json
from ctxtui.core.session import CallSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.claude_code.message import ClaudeMessage, ContentPart, parse_parts
from ctxtui.transcripts.formats.claude_code.message_chain import (
    Anchor,
    ApiResponse,
    Point,
    append_items,
    build_context,
    find_sendable,
    last_prompt_time,
    later_time,
    newest_time,
    with_front,
)
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread
from ctxtui.transcripts.joined import merge_exchange
from ctxtui.transcripts.kit.fields import complete_epoch, parse_timestamp
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.transcripts.reader import NeedsContexts

_MIN_ANSWER_SECONDS: Final = 0.5
"""Minimum seconds between a person's message and its answer."""


class SentRequest(Struct, frozen=True):
    """The recorded part of a request.

    `front`: the node at the end of its system prompt and tools (`ROOT`: neither is known); `front_whole`: both are
    known. `exchange`: the request itself; None if it is not recorded.
    """

    front: int = ROOT
    front_whole: bool = True
    exchange: Call | None = None


class PendingCall:
    """The call whose answer is being read; `build` makes it from the records added so far."""

    def __init__(self, call: Call, answer: ApiResponse, blocks: set[str]) -> None:
        self.call = call
        self.answer = answer
        self.blocks = blocks
        """Digests of the answer's blocks; records may repeat each other's blocks."""
        self.model = call.model
        self.stop_reason = call.stop_reason
        self.usage = call.usage
        self.ended = call.ended
        self.epoch = call.epoch
        self.extra = dict(call.extra)
        self.extra.pop(ANSWER_LEAST, None)
        self._end = call.bytes_[1]

    def add_record(self, message: ClaudeMessage, record: ClaudeRecord, time: float | None, end: int) -> None:
        self.model = message.model or self.model
        self.stop_reason = message.stop or self.stop_reason
        if time is not None and (self.ended is None or time > self.ended):
            self.ended = time
        self._end = max(self._end, end)
        if message.content:
            self.answer.contents += (message.content,)
        before, usage = self.usage, newer_report(self.usage, message.report.usage)
        # A report that was added already, or is not used, adds no facts to those of an identified request.
        if not (usage and "requestId" in self.extra and usage is before):
            self.extra = add_facts(record, message, self.extra)
        if usage is None or usage is before:
            return
        self.usage = usage
        if self.epoch.detail:
            self.epoch = complete_epoch(self.epoch, usage.input)

    def build(self, tree: Tree) -> Call:
        call, usage = self.call, self.usage
        # Built field by field, since `replace` takes several times as long and every answer passes here.
        self.call = built = Call(
            call.id,
            call.thread,
            call.raw_head,
            call.sent_head,
            self.answer.head,
            provider=call.provider,
            model=self.model,
            started=call.started,
            first_byte=call.first_byte,
            ended=self.ended,
            fidelity=call.fidelity,
            epoch=self.epoch,
            usage=usage,
            stop_reason=self.stop_reason,
            error=call.error,
            skeleton=call.skeleton,
            line=call.line,
            bytes_=(call.bytes_[0], self._end),
            extra=self.extra
            if usage is None or usage.output_final
            else _with_min_tokens(self.extra, self.answer, tree),
        )
        return built


def newer_report(old: Usage | None, new: Usage | None) -> Usage | None:
    if new is None or (old is not None and old.output_final and not new.output_final):
        return old
    return new


def _with_min_tokens(extra: dict[str, Json], answer: ApiResponse, tree: Tree) -> dict[str, Json]:
    if answer.contents:
        blocks = {part.block.digest: part.block for raw in answer.contents for part in parse_parts(raw, None)}
        answer.least = sum(map(min_tokens, blocks.values()))
    else:
        new = answer.blocks(tree, answer.weighed)
        answer.least += sum(map(min_tokens, new))
        answer.weighed += len(new)
    return {**extra, ANSWER_LEAST: answer.least} if answer.least else extra


def first_facts(
    record: ClaudeRecord, sent: SentRequest, point: Point, input_before: int, times: tuple[float | None, float | None]
) -> dict[str, Json]:
    """Collect the extra facts of a call from the first `record` of its answer.

    - `point`: the position in the chain of records from which its request was sent.
    - `input_before`: input tokens of the last call of its thread.
    - `times`: of the newest record in its context, and of `record`.
    """
    exchange = sent.exchange
    exact = exchange is not None and exchange.fidelity == Fidelity.WIRE
    facts: dict[str, Json] = {FRONT_RECORDED: True} if sent.front != ROOT and sent.front_whole and not exact else {}
    if exchange is None and not facts:
        facts = _prompt_time(last_prompt_time(point), *times)
    return _client_facts(record) | facts | _compaction_facts(point.anchor, input_before)


def _compaction_facts(anchor: Anchor, input_before: int) -> dict[str, Json]:
    if anchor.used or not anchor.trigger:
        return {}
    return {COMPACTED: {"trigger": anchor.trigger, "tokens": anchor.tokens_before or input_before}}


def _client_facts(record: ClaudeRecord) -> dict[str, Json]:
    """Client version, and whether a program runs the client: ``sdk-cli`` (``-p``) and the SDKs."""
    facts: dict[str, Json] = {CLIENT_VERSION: record.version} if record.version else {}
    return facts | {UNATTENDED: True} if (record.entrypoint or "").startswith("sdk") else facts


def _prompt_time(prompted: float | None, before: float | None, answer_time: float | None) -> dict[str, Json]:
    """Return the time of the user's message if the newest record is too close to the answer."""
    if (
        prompted is None
        or before is None
        or answer_time is None
        or answer_time - before >= _MIN_ANSWER_SECONDS
        or before - prompted < _MIN_ANSWER_SECONDS
    ):
        return {}
    return {ASKED_AT: prompted}


def add_facts(record: ClaudeRecord, message: ClaudeMessage, facts: dict[str, Json]) -> dict[str, Json]:
    merged = dict(facts)
    if record.copied_by:
        merged[COPIED_BY] = record.copied_by
    if record.request_id:
        merged["requestId"] = record.request_id
    if message.report.estimated:
        merged[ESTIMATED_INPUT] = message.report.estimated
    merged.update(message.report.extra)
    return merged


_PROVIDER: Final = "anthropic"
ASSISTANT: Final = message_place("assistant")


class Answers:
    """The answers of a session by call id, and the tool results that they wait for."""

    def __init__(self, tree: Tree, *, contexts: bool = True) -> None:
        self._tree = tree
        self.contexts = contexts
        """Whether contexts are built; else only calls with their usage are emitted."""
        self._answers: dict[str, ApiResponse] = {}
        """Call id -> its answer."""
        self._owners: dict[str, ApiResponse] = {}
        """Tool call id -> the answer that made it."""
        self._results: dict[str, str] = {}
        """Tool call id -> digest of its result block."""
        self._pending_call: PendingCall | None = None
        """The call whose answer is being read."""
        self.calls: dict[str, Call] = {}

    def find(self, message: ClaudeMessage, record: ClaudeRecord) -> tuple[str, ApiResponse | None]:
        """The call id of a record's message, and its answer so far (None: this is its first record).

        Responses to which a gateway gave the same message id are distinguished by the request id.
        """
        id_ = message.id or record.request_id or record.uuid or f"answer {len(self._answers) + 1}"
        answer = self._answers.get(id_)
        if answer is not None and record.request_id:
            request = self._extra(id_).get("requestId")
            if request and request != record.request_id:
                id_ = f"{id_}+{record.request_id}"
                answer = self._answers.get(id_)
        return id_, answer

    def begin(
        self,
        id_: str,
        thread: ClaudeThread,
        parent: Point,
        message: ClaudeMessage,
        record: ClaudeRecord,
        source: RawRecord,
        sent: SentRequest,
    ) -> ApiResponse:
        """Begin the call `id_` with the first record of its answer; the point before is `parent`."""
        sent_after, head = find_sendable(parent), ROOT
        if sent.exchange is not None:
            head = sent.exchange.raw_head
        elif self.contexts:
            head = with_front(self._tree, sent.front, build_context(self._tree, sent_after), sent_after.anchor.front)
        process = (record.session_id or "", record.version or "")
        usage = message.report.usage
        time, before = parse_timestamp(record.timestamp), newest_time(sent_after)
        extra = first_facts(record, sent, sent_after, thread.input, (before, time))
        thread.epoch = thread.next_epoch(sent_after.anchor, message.model, process, usage.input if usage else 0)
        sent_after.anchor.used = True
        answer = ApiResponse(head, id=id_, request_point=sent_after, context=head, front=sent.front)
        self._answers[id_] = thread.last = answer
        call = Call(
            id_,
            thread.id,
            head,
            head,
            head,
            provider=_PROVIDER,
            model=message.model,
            started=estimate_start(before, time),
            epoch=thread.epoch,
            line=source.line,
            bytes_=(source.start, source.end),
            extra=extra,
        )
        if sent.exchange is not None:
            call = merge_exchange(call, sent.exchange)
        self.calls[id_] = call
        self._pending_call = PendingCall(call, answer, set())
        if sent.front != ROOT and not sent.front_whole:
            thread.partial.append(id_)
        thread.call, thread.model, thread.process, thread.resumed = id_, message.model or thread.model, process, False
        return answer

    def extend(
        self, answer: ApiResponse, message: ClaudeMessage, record: ClaudeRecord, time: float | None, end: int
    ) -> tuple[str, Usage | None]:
        """Add a record of the time `time`, which ends at byte `end`, to `answer`.

        Returns the call's model and usage. Call `build_call` after the last record.
        """
        pending = self._pending_call
        if pending is None or pending.answer is not answer or pending.call is not self.calls[answer.id]:
            blocks = {block.digest for block in answer.blocks(self._tree)}
            pending = self._pending_call = PendingCall(self.calls[answer.id], answer, blocks)
        self._add_blocks(pending, message)
        pending.add_record(message, record, time, end)
        return pending.model, pending.usage

    def build_call(self, answer: ApiResponse, thread: ClaudeThread) -> Call:
        pending = self._pending_call
        if pending is None or pending.answer is not answer:
            return self.calls[answer.id]
        self.calls[answer.id] = call = pending.build(self._tree)
        if thread.call == call.id:
            thread.epoch, thread.input = call.epoch, call.usage.input if call.usage else thread.input
        return call

    def _extra(self, id_: str) -> dict[str, Json]:
        pending = self._pending_call
        return pending.extra if pending is not None and pending.answer.id == id_ else self.calls[id_].extra

    def set_front(self, ids: Iterable[str], front: int, old: int) -> Iterator[CallSeen]:
        """Set the system prompt and tools at `front`, now known, on calls that have `old` there."""
        for id_ in ids:
            answer, call = self._answers[id_], self.calls[id_]
            if answer.front != old:
                continue
            answer.context = with_front(self._tree, front, answer.context, old)
            answer.head = with_front(self._tree, front, answer.head, old)
            answer.front = front
            answer.version += 1
            self.calls[id_] = changed = replace(
                call,
                raw_head=answer.context,
                sent_head=answer.context,
                response_head=answer.head,
                extra={**call.extra, FRONT_RECORDED: True},
            )
            yield CallSeen(changed)

    def _add_blocks(self, pending: PendingCall, message: ClaudeMessage) -> None:
        items, answer = [], pending.answer
        for part in message.parts:
            if part.makes:
                self._expect_result(answer, part.makes)
            if part.block.digest and part.block.digest not in pending.blocks:
                pending.blocks.add(part.block.digest)
                items.append(Item(part.block, ASSISTANT))
        if items:
            answer.head = append_items(self._tree, answer.head, items)
            answer.version += 1

    def _expect_result(self, answer: ApiResponse, call_id: str) -> None:
        if self._owners.get(call_id) is not answer:
            # A call that an earlier answer made gets its result there, so this answer never gets one.
            self._owners.setdefault(call_id, answer)
            answer.waiting += 1

    def add_result(self, part: ContentPart, time: float | None, role: str) -> tuple[Anchor | None, bool]:
        """Add a result to the answer that made its call.

        Returns that answer (None for an unknown call), and whether the result belongs to it: a second, different one
        does not.
        """
        owner = self._owners.get(part.answers)
        if owner is None:
            return None, False
        digest = self._results.get(part.answers)
        if digest is not None and not self.contexts:
            raise NeedsContexts("two results of one call, of which only their content says whether they are the same")
        if digest is None:
            self._results[part.answers] = part.block.digest
            owner.waiting -= 1
            owner.results += (Item(part.block, message_place(role)),)
            owner.latest = later_time(owner.latest, time)
            owner.version += 1
        return owner, digest is None or digest == part.block.digest

    def replace_result(self, call_id: str, text: str) -> None:
        owner, digest = self._owners.get(call_id), self._results.get(call_id)
        for n, item in enumerate(owner.results if owner else ()):
            if owner and item.block.digest == digest:
                new = block.make("tool_result", {**item.block.value(), "content": text})
                owner.results = (*owner.results[:n], Item(new, item.place), *owner.results[n + 1 :])
                owner.version += 1


def estimate_start(before: float | None, answer_time: float | None) -> float | None:
    """Estimate when a request was sent: `before`, the time of the newest record in its context.

    None if that is unknown or later than the answer (in a copied file).
    """
    return before if before is None or answer_time is None or before <= answer_time else None
