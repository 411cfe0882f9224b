"""A call while the records of its answer come in: what each of them adds, and the call that they make together."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.core.answer_least import least_tokens
from ctxtui.core.call import (
    ANSWER_LEAST,
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
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.claude_code.message import ClaudeMessage, raw_parts
from ctxtui.transcripts.formats.claude_code.message_chain import Anchor, ApiResponse, Point, said_at
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.kit.timestamps import completed

_NO_TIME: Final = 0.5
"""Seconds."""


class Sent(Struct, frozen=True):
    """What a file says of a request: its system prompt and tools, which end at `front` (`ROOT`: nothing of them;
    `front_whole`: both are known), and the request itself, None where it is not on record."""

    front: int = ROOT
    front_whole: bool = True
    exchange: Call | None = None


class CallSoFar:
    """A call as it was told last, and what records of its answer have said since."""

    def __init__(self, call: Call, answer: ApiResponse, blocks: set[str]) -> None:
        self.told = call
        self.answer = answer
        self.blocks = blocks
        """Digests of the answer's blocks: a record may say again what another one said."""
        self.model = call.model
        self.stop_reason = call.stop_reason
        self.usage = call.usage
        self.ended = call.ended
        self.epoch = call.epoch
        self.extra = dict(call.extra)
        self.extra.pop(ANSWER_LEAST, None)
        self._end = call.bytes_[1]

    def take(self, said: ClaudeMessage, record: ClaudeRecord, at: float | None, end: int) -> None:
        """Take in what `record`, of the time `at` and ending at byte `end`, says of the call."""
        self.model = said.model or self.model
        self.stop_reason = said.stop or self.stop_reason
        if at is not None and (self.ended is None or at > self.ended):
            self.ended = at
        self._end = max(self._end, end)
        if said.content:
            self.answer.contents += (said.content,)
        before, usage = self.usage, later(self.usage, said.report.usage)
        if not (usage and "requestId" in self.extra and usage is before):
            self.extra = extra_of(record, said, self.extra)
        if usage is None or usage is before:
            return
        self.usage = usage
        if self.epoch.detail:
            self.epoch = completed(self.epoch, usage.input)

    def made(self, tree: Tree) -> Call:
        """The call."""
        call, usage = self.told, self.usage
        # Built in full: this is done for every answer of a session, and `replace` takes several times as long.
        self.told = made = Call(
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
            extra=self.extra if usage is None or usage.output_final else _with_least(self.extra, self.answer, tree),
        )
        return made


def later(old: Usage | None, new: Usage | None) -> Usage | None:
    """Of two reports of one answer the one that counts: the later one, but none from before the answer's end."""
    if new is None or (old is not None and old.output_final and not new.output_final):
        return old
    return new


def _with_least(extra: dict[str, Json], answer: ApiResponse, tree: Tree) -> dict[str, Json]:
    """`extra` with what the answer, whose end nobody reported so far, comes to at least."""
    if answer.contents:
        blocks = {part.block.digest: part.block for raw in answer.contents for part in raw_parts(raw, None)}
        answer.least = sum(map(least_tokens, blocks.values()))
    else:
        new = answer.blocks(tree, answer.weighed)
        answer.least += sum(map(least_tokens, new))
        answer.weighed += len(new)
    return {**extra, ANSWER_LEAST: answer.least} if answer.least else extra


def first_facts(
    record: ClaudeRecord, sent: Sent, asked: Point, input_before: int, times: tuple[float | None, float | None]
) -> dict[str, Json]:
    """What is known of a call, beyond its report, when its first `record` comes. It was sent after `asked`, the last
    call of its thread had `input_before` tokens of input; `times`: of the newest record before it, and its own."""
    exchange = sent.exchange
    exact = exchange is not None and exchange.fidelity == Fidelity.WIRE
    known: dict[str, Json] = {FRONT_RECORDED: True} if sent.front != ROOT and sent.front_whole and not exact else {}
    if exchange is None and not known:
        known = _asked(said_at(asked), *times)
    return _client(record) | known | _shrunk(asked.anchor, input_before)


def _shrunk(anchor: Anchor, input_before: int) -> dict[str, Json]:
    """Who asked for the compaction that the context begins with, and at how many tokens."""
    if anchor.used or not anchor.trigger:
        return {}
    return {COMPACTED: {"trigger": anchor.trigger, "tokens": anchor.tokens_before or input_before}}


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
    found = dict(known)
    if record.copied_by:
        found[COPIED_BY] = record.copied_by
    if record.request_id:
        found["requestId"] = record.request_id
    if said.report.estimated:
        found[ESTIMATED_INPUT] = said.report.estimated
    found.update(said.report.extra)
    return found
