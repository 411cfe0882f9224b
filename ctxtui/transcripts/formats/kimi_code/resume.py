"""Writes a session folder that Kimi Code resumes, with an edited context.

The client replays the records of ``agents/main/wire.jsonl`` in order; ``state.json`` in the session's folder names the
session and its directory. The records of the context are written anew, message by message, so that no undo or
compaction has to be repeated; an unchanged block keeps the other members of its record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Item
from ctxtui.core.call import MAKER
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.transcripts.formats.kimi_code.session import (
    EVENT,
    FAILED,
    FAILED_EMPTY,
    LOOP,
    MESSAGE,
    convert_event,
    convert_message,
)
from ctxtui.transcripts.kit.fields import COPIED_LINES, ESTIMATED_BY
from ctxtui.transcripts.kit.messages import RESULT, make_parts
from ctxtui.transcripts.kit.resume import (
    OWN,
    UNANSWERED,
    Body,
    ResumedFile,
    ResumeOrder,
    SentBlock,
    add_member,
    count_losses,
    is_answer,
    read_source,
    replace_members,
)

_STATE: Final = "../../state.json"
_NO_STATE: Final = "state.json is not in the session's folder: without it the client does not find the copy"
_CONTEXT: Final = ("context.", "turn.", "prompt.", "usage.", "token_counting.", "llm.request", "agent.")
"""Beginnings of the types of records about the context and its requests.

All others are copied, except the program's events.
"""
_ORIGINS: Final = {"summary": "compaction_summary", "meta": "injection"}
"""The client's names for texts that no person wrote, by `Place.mark`."""
_STATUS: Final = re.compile(
    rf"(?:Wall time: (\d+)\.(\d{{3}}) seconds\n)?(?:{re.escape(FAILED)}|{re.escape(FAILED_EMPTY)})\n?"
)
"""The client's text before a failed result; the groups are seconds and milliseconds."""
_ANSWER: Final = "assistant"
_TEXTS: Final = ("input_text", "output_text")
"""Kinds of texts in the Responses API; an edit may insert one from another recording."""


def resume(order: ResumeOrder) -> ResumedFile:
    pieces, lost = read_source(order)
    source = _Source()
    for raw, piece in pieces:
        source.add(raw, canonical.loads(piece.raw))
    end = len(order.path) if order.end is None else order.end
    sent = [block for block in order.sent if block.at is None or block.at < end]
    if [item.block for item in order.path[:end] if _is_prompt_or_tool(item)] != [
        item.block for item, _ in sent if _is_prompt_or_tool(item)
    ]:
        lost.append(OWN)
    if order.drops_prompt:
        lost.append(UNANSWERED)
    writer = _Writer(source, order, sent, end)
    writer.write()
    lines = [*source.copied_lines, *map(canonical.dumps, writer.records)]
    lines[:1] = [_mark_copied(line, len(lines)) for line in lines[:1]]
    data = b"".join(line + b"\n" for line in lines)
    id_ = f"session_{next(order.ids)}"
    # Only the blobs that the records name.
    beside = {
        name: blob for name, blob in order.beside.items() if name != _STATE and name.rpartition("/")[2].encode() in data
    }
    if _STATE in order.beside:
        beside[_STATE] = _write_state(order.beside[_STATE], id_)
    else:
        lost.append(_NO_STATE)
    return ResumedFile(data, count_losses(lost), id_, f"{id_}/agents/main/wire.jsonl", beside=beside)


def _is_prompt_or_tool(item: Item) -> bool:
    return item.place.section != "messages"


class _Source(Struct):
    """The parts of the source that the copy uses.

    - `copied_lines`: the lines of records that are not about the context, such as settings and lists of tools.
    - `parts`: records of blocks, by the block's digest.
    - `results`: records of results, by the id of the call that they answer.
    - `ends`: records that end a step, by the step's uuid.
    - `request`: the last request, the pattern of all requests of the copy; {}: none.
    """

    copied_lines: list[bytes] = field(default_factory=list)
    parts: dict[str, Body] = field(default_factory=dict)
    results: dict[str, Body] = field(default_factory=dict)
    ends: dict[str, Body] = field(default_factory=dict)
    request: Body = field(default_factory=dict)

    def add(self, raw: bytes, record: Body) -> None:
        kind, event = as_str(record.get("type")), as_dict(record.get("event"))
        if kind == "llm.request" and record.get("kind") == LOOP:
            self.request = record
        elif kind == MESSAGE:
            self.parts |= {item.block.digest: record for item in convert_message(as_dict(record.get("message")))[1:]}
        elif kind == EVENT and event.get("type") == "tool.result":
            self.results[as_str(event.get("toolCallId"))] = record
        elif kind == EVENT and event.get("type") == "step.end":
            self.ends[as_str(event.get("uuid"))] = record
        elif kind == EVENT and event.get("type") in ("content.part", "tool.call"):
            self.parts |= {item.block.digest: record for item in make_parts(_ANSWER, convert_event(event))}
        elif not kind.startswith(_CONTEXT) and record.get("kind") != "event":
            self.copied_lines.append(raw)


class _Message(NamedTuple):
    """Blocks of one message of the context; `first` is the number of the first one, from 0."""

    speaker: str
    first: int
    blocks: list[SentBlock]


def _group_messages(sent: Iterable[SentBlock]) -> list[_Message]:
    messages: list[_Message] = []
    begins = True
    for number, block in enumerate(sent):
        kind = block.item.block.kind
        if _is_prompt_or_tool(block.item) or kind == HEADER:
            begins = True
            continue
        speaker = _ANSWER if is_answer(block.item) else RESULT if kind == RESULT else "user"
        if begins or messages[-1].speaker != speaker:
            messages.append(_Message(speaker, number, []))
        messages[-1].blocks.append(block)
        begins = False
    return messages


class _Writer:
    """Writes the records of the context `sent`.

    `length`: the number of blocks without edits.
    """

    def __init__(self, source: _Source, order: ResumeOrder, sent: Sequence[SentBlock], length: int) -> None:
        self._source = source
        self._order = order
        self._path = order.path[:length]
        self._messages = _group_messages(sent)
        self._last_answer = max((m.first for m in self._messages if m.speaker == _ANSWER), default=-1)
        numbered = enumerate(sent)
        self._first_change = next(
            (n for n, (item, at) in numbered if at != n or item.block != self._path[n].block), len(sent)
        )
        self._step_end: Body = {}
        """Record that ends the open step; {}: none is open."""
        self.records: list[Body] = []

    def write(self) -> None:
        turn, step, messages = 0, 0, 0
        for message in self._messages:
            if message.speaker == RESULT:
                self.records += map(self._make_result, message.blocks)
                messages += len(message.blocks)
                continue
            self._end_step()
            if message.speaker == _ANSWER:
                step += 1
                self._begin_step(message, {"turnId": str(turn), "step": step})
            else:
                turn, step = (turn + 1, 0) if step else (turn, 0)
                self.records.append(self._make_message(message.blocks))
            messages += 1
        self._end_step()
        if self._order.input_tokens is not None:
            tokens = self._order.input_tokens + self._order.answer_tokens
            self.records.append(self._make({"type": "token_counting.measured", "length": messages, "tokens": tokens}))

    def _end_step(self) -> None:
        self.records += [self._step_end] if self._step_end else []
        self._step_end = {}

    def _begin_step(self, message: _Message, number: Body) -> None:
        """Write an answer as the step `number`; its end follows the results."""
        origins = [self._origin(block, EVENT) for block in message.blocks]
        uuid = next(self._order.ids)
        begin = {"type": "step.begin", "uuid": uuid, **number}
        self.records.append(self._make({"type": EVENT, "event": begin}, {"time": origins[0].get("time")}))
        if request := self._source.request:
            step = {"turnStep": f"{number['turnId']}.{number['step']}", "time": self.records[-1]["time"]}
            self.records.append({**request, **step})
        for block, origin in zip(message.blocks, origins, strict=True):
            event = as_dict(origin.get("event"))
            if not event or self._is_changed(block):
                event = {**_to_event(block.item.block.value()), "uuid": next(self._order.ids)}
            self.records.append(self._make({"event": {**event, **number, "stepUuid": uuid}}, {"type": EVENT, **origin}))
        end = self._source.ends.get(as_str(as_dict(origins[0].get("event")).get("stepUuid")), {"type": EVENT})
        event = {"finishReason": "end_turn", **as_dict(end.get("event")), "type": "step.end", "uuid": uuid, **number}
        self._update_report(event, message)
        self._step_end = self._make({"event": event}, end)

    def _update_report(self, end: Body, message: _Message) -> None:
        """Remove the report of a step after the first change.

        The last answer gets an estimate instead, if known; also if it is what changed first.
        """
        size = self._order.input_tokens if message.first == self._last_answer else None
        stop = message.first + len(message.blocks)
        # An answer without its last blocks is changed, too.
        stop += any(is_answer(item) and item.block.kind != HEADER for item in self._path[stop : stop + 1])
        if message.first > self._first_change or (size is not None and stop > self._first_change):
            output = as_count(as_dict(end.pop("usage", None)).get("output"))
            if size is not None:
                counts = {"inputOther": size, "output": output, "inputCacheRead": 0, "inputCacheCreation": 0}
                end["usage"] = {**counts, ESTIMATED_BY: MAKER}

    def _make_message(self, blocks: Sequence[SentBlock]) -> Body:
        record = self._origin(blocks[0], MESSAGE)
        # Summaries and injections keep their own kind: the client joins neighbouring messages of kind `user`.
        origin = {"kind": _ORIGINS.get(blocks[0].item.place.mark, "user")}
        message = {"role": "user", "toolCalls": [], "origin": origin, **as_dict(record.get("message"))}
        message["content"] = [_to_part(block.item.block.value()) for block in blocks]
        return self._make({"type": MESSAGE, "message": message}, record)

    def _make_result(self, block: SentBlock) -> Body:
        value = as_dict(block.item.block.value())
        record = self._source.results.get(as_str(value.get("tool_use_id")), {"type": EVENT})
        event = {"type": "tool.result", "toolCallId": value.get("tool_use_id"), **as_dict(record.get("event"))}
        if "result" not in event or self._is_changed(block):
            event["result"] = _to_result(value)
        return self._make({"event": event}, record)

    def _make(self, members: Body, record: Body | None = None) -> Body:
        """Make a record with `members`; all others are those of `record`."""
        new: Body = {"agentId": "main", **(record or {}), **members}
        return new if new.get("time") is not None else {**new, "time": round(self._order.now * 1000)}

    def _origin(self, block: SentBlock, type_: str) -> Body:
        """The source's record of `type_` that held the block; {} for none."""
        record = self._source.parts.get(self._path[block.at].block.digest, {}) if block.at is not None else {}
        return record if record.get("type") == type_ else {}

    def _is_changed(self, block: SentBlock) -> bool:
        return block.at is None or block.item.block != self._path[block.at].block


def _to_part(value: Any) -> Any:
    if not isinstance(value, dict):
        return {"type": "text", "text": as_str(value)}
    if value.get("type") in _TEXTS:
        return {**value, "type": "text"}
    if value.get("type") != "thinking":
        return value
    signature = {"encrypted": value["signature"]} if value.get("signature") else {}
    return {"type": "think", "think": as_str(value.get("thinking")), **signature}


def _to_event(value: Any) -> Body:
    if as_dict(value).get("type") == "tool_use":
        return {
            "type": "tool.call",
            "toolCallId": value.get("id"),
            "name": value.get("name"),
            "args": value.get("input"),
        }
    return {"type": "content.part", "part": _to_part(value)}


def _to_result(value: Body) -> Body:
    """Convert a changed result.

    The client's text before a failed one becomes `isError` and `durationMs`.
    """
    content = value.get("content")
    output: Any = content if isinstance(content, str) else [_to_part(part) for part in as_list(content)]
    if value.get("is_error") is not True:
        return {"output": output}
    first = output if isinstance(output, str) else as_str(output[0].get("text")) if output else ""
    status = _STATUS.match(first)
    text = first[status.end() :] if status is not None else first
    duration = {"durationMs": int(status[1] + status[2])} if status is not None and status[1] else {}
    if isinstance(output, str):
        output = text
    elif status is not None:
        output = [*([{**output[0], "text": text}] if text else []), *output[1:]]
    return {"output": output, "isError": True, **duration}


def _mark_copied(line: bytes, lines: int) -> bytes:
    count = canonical.dumps(lines)
    if COPIED_LINES in canonical.loads(line):
        return replace_members(line, {COPIED_LINES: count})
    return add_member(line, COPIED_LINES, count)


def _write_state(data: bytes, id_: str) -> bytes:
    """Write the session's ``state.json`` for the session `id_`, which has no subagent.

    Raises `CtxtuiError` if `data` is damaged.
    """
    try:
        state = as_dict(canonical.loads(data))
    except (ValueError, RecursionError) as error:
        raise CtxtuiError(f"no JSON: {error}", place="state.json", way_out="restore that file") from None
    main = {key: value for key, value in as_dict(as_dict(state.get("agents")).get("main")).items() if key != "homedir"}
    return canonical.dumps({**state, "id": id_, "agents": {"main": {"type": "main", **main}}})
