"""Records of assistant messages -> calls. One API response may be many records, in one file or several (design §2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ctxtui.core import block
from ctxtui.core.answer_least import least_tokens
from ctxtui.core.block import Item, Place
from ctxtui.core.call import (
    ANSWER_LEAST,
    CLIENT_VERSION,
    COMPACTED,
    ESTIMATED_INPUT,
    FRONT_RECORDED,
    UNATTENDED,
    Call,
    Fidelity,
    Skeleton,
)
from ctxtui.core.canonical import Json
from ctxtui.core.session import CallSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.dataclasses import KW_ONLY, dataclass, field, replace
from ctxtui.transcripts.formats.claude_code.message import ClaudeMessage, ContentPart
from ctxtui.transcripts.formats.claude_code.message_chain import (
    Anchor,
    ApiResponse,
    Point,
    append,
    context,
    newest,
    said_at,
    sendable,
    spoken_since,
    under,
)
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.timestamps import completed, seconds

PROVIDER: Final = "anthropic"
ASSISTANT: Final = Place("messages", "assistant")
_RECENT: Final = 8
"""Calls back that two lines of work running at the same time are looked for."""
_NO_TIME: Final = 0.5
"""Seconds."""
_EXTRA: Final = ("service_tier", "speed", "inference_geo", "server_tool_use", "iterations")
"""Keys of a usage report that a call keeps as they are."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a file says of a request: its system prompt and tools, which end at `front` (`ROOT`: nothing of them;
    `front_whole`: both are known), and
    where it is on record its context, what spells it, when it was sent (Unix seconds) and what else the record says."""

    front: int = ROOT
    _: KW_ONLY
    front_whole: bool = True
    head: int | None = None
    skeleton: Skeleton | None = None
    at: float | None = None
    fidelity: Fidelity = Fidelity.TRANSCRIPT
    extra: dict[str, Json] = field(default_factory=dict)


class Answers:
    """The API responses of a session and the calls they answer, by message id."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._answers: dict[str, ApiResponse] = {}
        self._owners: dict[str, ApiResponse] = {}
        self._totals: dict[tuple[str, int], ApiResponse] = {}
        """What a call left in the cache (thread, tokens read and written) -> its answer."""
        self.calls: dict[str, Call] = {}

    def owner(self, call_id: str) -> ApiResponse | None:
        """The answer that made the tool call `call_id`."""
        return self._owners.get(call_id)

    def of(self, said: ClaudeMessage, record: ClaudeRecord) -> tuple[str, ApiResponse | None]:
        """The call id of a record's message, and its answer where another record of it was seen.

        The message id names a response; gateways that give many responses one id are told apart by the request id.
        """
        id_ = said.id or record.request_id or record.uuid or f"line {len(self._answers) + 1}"
        known = self._answers.get(id_)
        request = self.calls[id_].extra.get("requestId") if known else None
        if known and record.request_id and request and request != record.request_id:
            id_ = f"{id_}+{record.request_id}"
            known = self._answers.get(id_)
        return id_, known

    def begin(
        self,
        id_: str,
        thread: ClaudeThread,
        parent: Point,
        said: ClaudeMessage,
        record: ClaudeRecord,
        found: FoundObject,
        sent: Sent,
    ) -> ApiResponse:
        """A new call of `thread`, whose request was sent after `parent`; `sent` is what the file says of it."""
        asked, head = sendable(parent), sent.head
        if head is None:
            asked = self.read_from(thread, asked, said.report.usage)
            head = under(self._tree, sent.front, context(self._tree, asked), asked.anchor.front)
        process = (record.session_id or "", record.version or "")
        usage = said.report.usage
        shrunk = _shrunk(asked.anchor, thread)
        thread.epoch = thread.next_epoch(asked.anchor, said.model, process, usage.input if usage else 0)
        asked.anchor.used = True
        answer = ApiResponse(head, id=id_, asked=asked, context=head, number=len(self.calls), front=sent.front)
        self._answers[id_] = thread.last = answer
        at, before = seconds(record.timestamp), newest(asked)
        self.calls[id_] = Call(
            id_,
            thread.id,
            head,
            head,
            head,
            provider=PROVIDER,
            model=said.model,
            started=sent.at if sent.at is not None else began(asked, at),
            fidelity=sent.fidelity,
            epoch=thread.epoch,
            skeleton=sent.skeleton,
            line=found.line,
            bytes_=(found.start, found.end),
            extra=_client(record) | (_known(sent) or _asked(said_at(asked), before, at)) | shrunk,
        )
        if sent.front != ROOT and not sent.front_whole:
            thread.partial.append(id_)
        thread.call, thread.model, thread.process, thread.resumed = id_, said.model or thread.model, process, False
        return answer

    def extend(
        self, answer: ApiResponse, thread: ClaudeThread, said: ClaudeMessage, record: ClaudeRecord, found: FoundObject
    ) -> Call:
        """Add what a record says to `answer` of `thread`: new blocks in the order of the records, the latest usage."""
        self._say(answer, said)
        call = self.calls[answer.id]
        stop = said.stop or call.stop_reason
        at = seconds(record.timestamp)
        usage, known = later(call.usage, said.report.usage), call.extra
        told = known if usage and "requestId" in known and usage is call.usage else extra_of(record, said, known)
        # Built in full: `replace` takes four times as long, and this is done for every record of an answer.
        self.calls[answer.id] = call = Call(
            call.id,
            call.thread,
            call.raw_head,
            call.sent_head,
            answer.head,
            provider=call.provider,
            model=said.model or call.model,
            started=call.started,
            first_byte=call.first_byte,
            ended=at if call.ended is None or (at is not None and at > call.ended) else call.ended,
            fidelity=call.fidelity,
            epoch=completed(call.epoch, usage.input) if usage else call.epoch,
            usage=usage,
            stop_reason=stop,
            error=call.error,
            skeleton=call.skeleton,
            line=call.line,
            bytes_=(call.bytes_[0], max(call.bytes_[1], found.end)),
            extra=_with_least(told, usage, answer),
        )
        if usage is not None and usage.cache_write:
            self._totals[thread.id, usage.cache_read + usage.cache_write] = answer
        if thread.call == call.id:
            thread.epoch, thread.input = call.epoch, usage.input if usage else thread.input
        return call

    def put_under(self, ids: Iterable[str], front: int, old: int) -> Iterator[CallSeen]:
        """Put the system prompt and tools at `front`, which have become known, before calls that have `old` there."""
        for id_ in ids:
            answer, call = self._answers[id_], self.calls[id_]
            if answer.front != old:
                continue
            answer.context = under(self._tree, front, answer.context, old)
            answer.head = under(self._tree, front, answer.head, old)
            answer.front = front
            answer.version += 1
            self.calls[id_] = made = replace(
                call,
                raw_head=answer.context,
                sent_head=answer.context,
                response_head=answer.head,
                extra={**call.extra, FRONT_RECORDED: True},
            )
            yield CallSeen(made)

    def read_from(self, thread: ClaudeThread, asked: Point, usage: Usage | None) -> Point:
        """`asked`, unless the cache says otherwise: a call that only goes on with results, and read exactly what
        another recent call of the thread had read and written, goes on from that one. Two lines of work that run at
        the same time are written into one chain."""
        above = asked.anchor
        if usage is None or not isinstance(above, ApiResponse) or spoken_since(asked):
            return asked
        other = self._totals.get((thread.id, usage.cache_read))
        if other is None or other is above or other.unanswered or len(self.calls) - other.number > _RECENT:
            return asked
        before = self.calls[above.id].usage
        return asked if before is None or before.cache_read + before.cache_write == usage.cache_read else Point(other)

    def _say(self, answer: ApiResponse, said: ClaudeMessage) -> None:
        items = []
        for part in said.parts:
            if part.block.digest not in answer.digests:
                answer.digests.add(part.block.digest)
                items.append(Item(part.block, ASSISTANT))
                answer.unweighed.append(part.block)
                if part.makes and part.makes not in answer.answered:
                    answer.unanswered.add(part.makes)
                    self._owners.setdefault(part.makes, answer)
        if items:
            answer.head = append(self._tree, answer.head, items)
            answer.version += 1

    def answered(self, part: ContentPart, at: float | None, role: str) -> tuple[Anchor | None, bool]:
        """Put a result where the call it answers stands. Gives the answer that made the call, and whether the result
        is settled there: a second, different result of one call is not."""
        owner = self._owners.get(part.answers)
        if owner is None:
            return None, False
        known = owner.answered.get(part.answers)
        if known is None:
            owner.answered[part.answers] = part.block.digest
            owner.unanswered.discard(part.answers)
            owner.results.append(Item(part.block, Place("messages", role)))
            owner.latest = max((t for t in (owner.latest, at) if t is not None), default=None)
            owner.version += 1
        return owner, known is None or known == part.block.digest

    def replaced(self, call_id: str, text: str) -> None:
        """From now on the result of `call_id` reads `text`: the client keeps a large one out of its requests."""
        owner = self._owners.get(call_id)
        for n, item in enumerate(owner.results if owner else ()):
            if owner and item.block.digest == owner.answered.get(call_id):
                new = block.make("tool_result", {**item.block.value(), "content": text})
                owner.results[n] = Item(new, item.place)
                owner.version += 1


def began(asked: Point, at: float | None) -> float | None:
    """When a request at `asked`, answered at `at`, was sent: with the newest record in its context. A copied file may
    carry the copy's time on some records: nothing is asked after it was answered."""
    before = newest(asked)
    return before if before is None or at is None or before <= at else None


def later(old: Usage | None, new: Usage | None) -> Usage | None:
    """Of two reports of one answer the one that counts: the later one, but none from before the answer's end."""
    if new is None or (old is not None and old.output_final and not new.output_final):
        return old
    return new


def _with_least(extra: dict[str, Json], usage: Usage | None, answer: ApiResponse) -> dict[str, Json]:
    """`extra` with what the answer comes to at least, as long as nobody reported its end."""
    if usage is None or usage.output_final:
        return {key: value for key, value in extra.items() if key != ANSWER_LEAST} if ANSWER_LEAST in extra else extra
    answer.least += sum(map(least_tokens, answer.unweighed))
    answer.unweighed.clear()
    least = answer.least
    return {**extra, ANSWER_LEAST: least} if extra.get(ANSWER_LEAST, 0) != least else extra


def _known(sent: Sent) -> dict[str, Json]:
    """What the file says of a request; that system prompt and tools are on record, where the request itself is not."""
    if sent.fidelity == Fidelity.TRANSCRIPT and sent.front != ROOT and sent.front_whole:
        return {**sent.extra, FRONT_RECORDED: True}
    return sent.extra


def _shrunk(anchor: Anchor, thread: ClaudeThread) -> dict[str, Json]:
    """Who asked for the compaction that the context begins with, and at how many tokens."""
    if anchor.used or not anchor.trigger:
        return {}
    return {COMPACTED: {"trigger": anchor.trigger, "tokens": anchor.tokens_before or thread.input}}


def _client(record: ClaudeRecord) -> dict[str, Json]:
    """Which client made a request, and for whom: ``sdk-cli`` (``-p``) and the SDKs run it for programs."""
    found: dict[str, Json] = {CLIENT_VERSION: record.version} if record.version else {}
    return found | {UNATTENDED: True} if (record.entrypoint or "").startswith("sdk") else found


def _asked(said: float | None, before: float | None, at: float | None) -> dict[str, Json]:
    """When a person asked, where a copy gave other records its own time: nothing is answered in no time."""
    if said is None or before is None or at is None or at - before >= _NO_TIME or before - said < _NO_TIME:
        return {}
    return {"asked_at": said}


def extra_of(record: ClaudeRecord, said: ClaudeMessage, known: dict[str, Json]) -> dict[str, Json]:
    """What is `known` of a call beyond its report, with what a record of its answer says."""
    report = said.report.value
    reported = report if isinstance(report, dict) else {}
    found: Iterable[tuple[str, Json]] = [(key, reported.get(key)) for key in _EXTRA]
    facts = (("requestId", record.request_id), (ESTIMATED_INPUT, said.report.estimated), *found)
    return known | {key: value for key, value in facts if value}
