"""Claude Code's files read for what their calls used alone: the same records, threads, times and reports as in the full
reading, without the contexts. What cannot be told without those is not guessed: `NeedsContexts`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.answer_least import least_tokens
from ctxtui.core.block import Block
from ctxtui.core.call import ANSWER_LEAST, Call
from ctxtui.core.session import CallSeen, Event
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.claude_code import message
from ctxtui.transcripts.formats.claude_code.answers import PROVIDER, Answers, began
from ctxtui.transcripts.formats.claude_code.call_so_far import Sent, extra_of, later
from ctxtui.transcripts.formats.claude_code.message import ClaudeMessage, ContentPart
from ctxtui.transcripts.formats.claude_code.message_chain import Anchor, ApiResponse, Point, newest, sendable
from ctxtui.transcripts.formats.claude_code.reader import ClaudeCodeReader, agent_of
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord, MessageFields
from ctxtui.transcripts.formats.claude_code.state import ClaudeState
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread
from ctxtui.transcripts.formats.claude_code.usage import report
from ctxtui.transcripts.formats.claude_code.written.files import is_body_name
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.timestamps import seconds
from ctxtui.transcripts.reader import NeedsContexts, Reader


def usage_reader(tree: Tree) -> Reader:
    """A reader of one session's files whose events tell of calls and what they used, and hold no context."""
    return ClaudeUsageReader(ClaudeState(tree, CallReports(tree), said=said, contexts=False))


class ClaudeUsageReader(ClaudeCodeReader):
    """As `ClaudeCodeReader`, with a state that keeps no contexts."""

    def __init__(self, state: ClaudeState, agent: str = "", name: str = "") -> None:
        super().__init__(state.tree, state, agent, name)

    def part(self, name: str) -> Reader:
        """The reader for the companion file `name`, a subagent's."""
        if is_body_name(name):
            raise NeedsContexts("bodies of requests")
        return ClaudeUsageReader(self._state, agent_of(name), name)

    def _is_legible(self, raw: bytes) -> bool:
        # What is no UTF-8 stands in texts: who looks into them finds it there.
        return True

    def settle(self) -> list[Event]:
        """As in the full reading; then what answers come to whose end was not reported."""
        events = super().settle()
        answers = self._state.answers
        assert isinstance(answers, CallReports)
        return [*events, *answers.in_part()]


class _Head(msgspec.Struct):
    type: str | None = None
    id: str | None = None


class _Said(msgspec.Struct):
    type: str | None = None
    id: str | None = None
    tool_use_id: str | None = None
    text: Raw = Raw(b"null")


_answered: Final = msgspec.json.Decoder(list[_Head] | str | None)
_spoken: Final = msgspec.json.Decoder(list[_Said] | str | None)
_CALL: Final = Block("", "tool_use", b"{}")
_RESULT: Final = Block("", "tool_result", b"{}")
_TEXT: Final = Block("", "text", b'{"type":"text","text":""}')
"""Of what a model said nothing is kept; of calls of tools and their results only which belongs to which."""


def said(record: ClaudeRecord, clean: bool | None) -> ClaudeMessage | None:
    """The message in `record` as the full reading has it, but of its blocks only what users and the client said in
    words, and which calls of tools are made and answered."""
    found = record.message
    if record.loose is not None and record.loose.get("message") is not None:
        raise NeedsContexts("a message of another shape")
    if found is None:
        return None
    role, content = found.role or record.type or "", bytes(found.content) or b"null"
    try:
        if record.type == role == "assistant":
            return _answer_of(found, _answered.decode(content))
        return _words_of(_spoken.decode(content), role)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise NeedsContexts("a message of another shape") from error


def _answer_of(found: MessageFields, content: list[_Head] | str | None) -> ClaudeMessage:
    heads = content if isinstance(content, list) else ()
    return ClaudeMessage(
        "assistant",
        [ContentPart(_CALL, makes=head.id or "") for head in heads if head.type == "tool_use"]
        or ([ContentPart(_TEXT)] if content else []),
        id=found.id or "",
        model=found.model or "",
        stop=found.stop_reason or "",
        report=report(bytes(found.usage), bool(found.stop_reason)),
    )


def _words_of(content: list[_Said] | str | None, role: str) -> ClaudeMessage:
    if role == "assistant":
        raise NeedsContexts("an answer in another record")
    if not isinstance(content, list):
        return ClaudeMessage(role, [ContentPart(block.text(content))] if content else [], string=content is not None)
    parts = []
    for part in content:
        kind = part.type or "text"
        if kind == "tool_result":
            parts.append(ContentPart(_RESULT, answers=part.tool_use_id or ""))
        elif kind == "tool_use":
            parts.append(ContentPart(_CALL, makes=part.id or ""))
        else:
            parts.append(ContentPart(Block("", kind, b'{"type":"text","text":' + bytes(part.text) + b"}")))
    return ClaudeMessage(role, parts)


class CallReports(Answers):
    """The API responses of a session and what they report, without their contexts."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self._unfinished: dict[str, list[ClaudeRecord]] = {}
        """The records of answers whose end is not reported so far."""

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
        """A new call of `thread`, whose request was sent after `parent`."""
        asked = sendable(parent)
        asked.anchor.used = True
        answer = ApiResponse(id=id_, asked=asked)
        self._answers[id_] = thread.last = answer
        self.calls[id_] = Call(
            id_,
            thread.id,
            provider=PROVIDER,
            model=said.model,
            started=began(newest(asked), seconds(record.timestamp)),
            usage=said.report.usage,
            stop_reason=said.stop,
            extra=extra_of(record, said, {}),
        )
        thread.call = id_
        return answer

    def extend(
        self,
        answer: ApiResponse,
        said: ClaudeMessage,
        record: ClaudeRecord,
        at: float | None,
        end: int,
    ) -> tuple[str, Usage | None]:
        """Take in what a record reports of `answer`, and the tools that it calls."""
        for part in said.parts:
            if part.makes:
                self._calls_tool(answer, part.makes)
        call = self.calls[answer.id]
        usage, known = later(call.usage, said.report.usage), call.extra
        told = known if usage and "requestId" in known and usage is call.usage else extra_of(record, said, known)
        stop, model = said.stop or call.stop_reason, said.model or call.model
        if usage is not call.usage or told is not known or (stop, model) != (call.stop_reason, call.model):
            call = replace(call, model=model, usage=usage, stop_reason=stop, extra=told)
            self.calls[answer.id] = call
        if usage is not None and usage.output_final:
            self._unfinished.pop(answer.id, None)
        else:
            self._unfinished.setdefault(answer.id, []).append(record)
        return call.model, usage

    def answered(self, part: ContentPart, at: float | None, role: str) -> tuple[Anchor | None, bool]:
        """As in the full reading. Whether two results of one call are the same is for that one to compare."""
        owner = self.owner(part.answers)
        if owner is not None and part.answers in self._results:
            raise NeedsContexts("two results of one call")
        return super().answered(part, at, role)

    def in_part(self) -> Iterator[CallSeen]:
        """The calls whose answers are reported in part, with what these come to at least."""
        for id_, records in self._unfinished.items():
            call = self.calls[id_]
            if call.usage is not None:
                blocks = {part.block.digest: part.block for record in records for part in _of_answer(record)}
                least = sum(map(least_tokens, blocks.values()))
                self.calls[id_] = call = replace(call, extra={**call.extra, ANSWER_LEAST: least})
                yield CallSeen(call)


def _of_answer(record: ClaudeRecord) -> list[ContentPart]:
    whole = message.said(record, None)
    return whole.parts if whole is not None else []
