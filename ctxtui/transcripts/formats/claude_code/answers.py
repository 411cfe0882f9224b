"""Records of assistant messages -> calls. One API response may be many records, in one file or several (design §2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Item, message_place
from ctxtui.core.call import FRONT_RECORDED, Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import CallSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.claude_code.call_so_far import CallSoFar, Sent, first_facts
from ctxtui.transcripts.formats.claude_code.message import ClaudeMessage, ContentPart
from ctxtui.transcripts.formats.claude_code.message_chain import (
    Anchor,
    ApiResponse,
    Point,
    append,
    context,
    later_time,
    newest,
    sendable,
    under,
)
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread
from ctxtui.transcripts.joined import with_exchange
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.timestamps import seconds
from ctxtui.transcripts.reader import NeedsContexts

PROVIDER: Final = "anthropic"
ASSISTANT: Final = message_place("assistant")


class Answers:
    """The API responses of a session and the calls they answer, by message id."""

    def __init__(self, tree: Tree, *, contexts: bool = True) -> None:
        self._tree = tree
        self.contexts = contexts
        """Whether contexts are kept; else what calls used is all that is told."""
        self._answers: dict[str, ApiResponse] = {}
        self._owners: dict[str, ApiResponse] = {}
        self._results: dict[str, str] = {}
        """Call of a tool -> digest of the result block that answered it."""
        self._so_far: CallSoFar | None = None
        """The call whose answer comes in."""
        self.calls: dict[str, Call] = {}
        """Every call as it was told last."""

    def owner(self, call_id: str) -> ApiResponse | None:
        """The answer that made the tool call `call_id`."""
        return self._owners.get(call_id)

    def of(self, said: ClaudeMessage, record: ClaudeRecord) -> tuple[str, ApiResponse | None]:
        """The call id of a record's message, and its answer where another record of it was seen.

        The message id names a response; gateways that give many responses one id are told apart by the request id.
        """
        id_ = said.id or record.request_id or record.uuid or f"line {len(self._answers) + 1}"
        known = self._answers.get(id_)
        if known is not None and record.request_id:
            request = self._extra(id_).get("requestId")
            if request and request != record.request_id:
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
        asked, head = sendable(parent), ROOT
        if sent.exchange is not None:
            head = sent.exchange.raw_head
        elif self.contexts:
            head = under(self._tree, sent.front, context(self._tree, asked), asked.anchor.front)
        process = (record.session_id or "", record.version or "")
        usage = said.report.usage
        at, before = seconds(record.timestamp), newest(asked)
        extra = first_facts(record, sent, asked, thread.input, (before, at))
        thread.epoch = thread.next_epoch(asked.anchor, said.model, process, usage.input if usage else 0)
        asked.anchor.used = True
        answer = ApiResponse(head, id=id_, asked=asked, context=head, front=sent.front)
        self._answers[id_] = thread.last = answer
        call = Call(
            id_,
            thread.id,
            head,
            head,
            head,
            provider=PROVIDER,
            model=said.model,
            started=began(before, at),
            epoch=thread.epoch,
            line=found.line,
            bytes_=(found.start, found.end),
            extra=extra,
        )
        if sent.exchange is not None:
            call = with_exchange(call, sent.exchange)
        self.calls[id_] = call
        self._so_far = CallSoFar(call, answer, set())
        if sent.front != ROOT and not sent.front_whole:
            thread.partial.append(id_)
        thread.call, thread.model, thread.process, thread.resumed = id_, said.model or thread.model, process, False
        return answer

    def extend(
        self,
        answer: ApiResponse,
        said: ClaudeMessage,
        record: ClaudeRecord,
        at: float | None,
        end: int,
    ) -> tuple[str, Usage | None]:
        """Add what a record of the time `at`, which ends at byte `end`, says to `answer`: new blocks in the order of
        the records, the latest usage. Gives the call's model and usage; the call is made when it is `told`."""
        so_far = self._so_far
        if so_far is None or so_far.answer is not answer or so_far.told is not self.calls[answer.id]:
            blocks = {one.digest for one in answer.blocks(self._tree)}
            so_far = self._so_far = CallSoFar(self.calls[answer.id], answer, blocks)
        self._say(so_far, said)
        so_far.take(said, record, at, end)
        return so_far.model, so_far.usage

    def told(self, answer: ApiResponse, thread: ClaudeThread) -> Call:
        """The call of `answer` of `thread`, with all that its records have said so far."""
        so_far = self._so_far
        if so_far is None or so_far.answer is not answer:
            return self.calls[answer.id]
        self.calls[answer.id] = call = so_far.made(self._tree)
        if thread.call == call.id:
            thread.epoch, thread.input = call.epoch, call.usage.input if call.usage else thread.input
        return call

    def _extra(self, id_: str) -> dict[str, Json]:
        so_far = self._so_far
        return so_far.extra if so_far is not None and so_far.answer.id == id_ else self.calls[id_].extra

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

    def _say(self, so_far: CallSoFar, said: ClaudeMessage) -> None:
        items, answer = [], so_far.answer
        for part in said.parts:
            if part.makes:
                self._calls_tool(answer, part.makes)
            if part.block.digest and part.block.digest not in so_far.blocks:
                so_far.blocks.add(part.block.digest)
                items.append(Item(part.block, ASSISTANT))
        if items:
            answer.head = append(self._tree, answer.head, items)
            answer.version += 1

    def _calls_tool(self, answer: ApiResponse, call_id: str) -> None:
        """Note that `answer` waits for the result of a call of a tool, unless that is known."""
        if self._owners.get(call_id) is not answer:
            # What another answer called before is answered there: this one waits for good.
            self._owners.setdefault(call_id, answer)
            answer.waiting += 1

    def answered(self, part: ContentPart, at: float | None, role: str) -> tuple[Anchor | None, bool]:
        """Put a result where the call it answers stands. Gives the answer that made the call, and whether the result
        is settled there: a second, different result of one call is not."""
        owner = self._owners.get(part.answers)
        if owner is None:
            return None, False
        known = self._results.get(part.answers)
        if known is not None and not self.contexts:
            raise NeedsContexts("two results of one call, of which only their content says whether they are the same")
        if known is None:
            self._results[part.answers] = part.block.digest
            owner.waiting -= 1
            owner.results += (Item(part.block, message_place(role)),)
            owner.latest = later_time(owner.latest, at)
            owner.version += 1
        return owner, known is None or known == part.block.digest

    def replaced(self, call_id: str, text: str) -> None:
        """From now on the result of `call_id` reads `text`: the client keeps a large one out of its requests."""
        owner, digest = self._owners.get(call_id), self._results.get(call_id)
        for n, item in enumerate(owner.results if owner else ()):
            if owner and item.block.digest == digest:
                new = block.make("tool_result", {**item.block.value(), "content": text})
                owner.results = (*owner.results[:n], Item(new, item.place), *owner.results[n + 1 :])
                owner.version += 1


def began(before: float | None, at: float | None) -> float | None:
    """When a request was sent that was answered at `at`: with the newest record in its context, of the time `before`. A
    copied file may carry the copy's time on some records: nothing is asked after it was answered."""
    return before if before is None or at is None or before <= at else None
