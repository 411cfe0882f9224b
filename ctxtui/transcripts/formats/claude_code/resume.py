"""Writes sessions that Claude Code resumes (facts §11), its own or those of other tools.

The client rebuilds the context from the chain of records (`parentUuid`), so followers of removed records must point to
what was before them. Its token meter and its automatic compaction start from the last usage that is not all zeros; the
client counts what follows itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from msgspec import field

from ctxtui.core import block_content, canonical
from ctxtui.core.block import Block, Item, from_part
from ctxtui.core.call import MAKER
from ctxtui.core.json_values import as_str
from ctxtui.transcripts.formats.claude_code.attachments import attachment_items
from ctxtui.transcripts.formats.claude_code.message import SYNTHETIC, client_text, parse_message
from ctxtui.transcripts.formats.claude_code.records import decode
from ctxtui.transcripts.kit.fields import COPIED, ESTIMATED_BY
from ctxtui.transcripts.kit.resume import (
    ONLY_THERE,
    OWN,
    Body,
    ResumedFile,
    ResumeEntry,
    ResumeOrder,
    TranslatedOrder,
    Translation,
    add_member,
    apply_edits,
    count_losses,
    find_blocks,
    first_change,
    format_time,
    fresh_ids,
    is_answer,
    read_source,
    recorded_items,
    replace_members,
)
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.translate.turns import Losses

_COPIED_KEYS: Final = ("isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
_REQUEST: Final = "api-request"
"""Prefix of the types of request records; a resuming client does not use them."""
_REQUESTS: Final = frozenset({"api-request", "api-request-blob", "api-request-resumed"})
"""Request records to remove after a change; others (system and tools) hold no conversation and stay."""
_COST_STATE: Final = "cost-state"
"""The record of the money that the session has spent; a copy has spent nothing."""
# Records outside the chain that are removed with everything else after the session's new end.
_ABOUT_END: Final = _REQUESTS | {"last-prompt", "queue-operation", "file-history-snapshot", "file-history-delta"}
_CHAINED: Final = frozenset({"user", "assistant", "attachment", "system", "progress"})
_ZERO_USAGE: Final = {"input_tokens": 0, "output_tokens": 0}
_NEW_ID_DIGITS: Final = 12
"""Hex digits of a record's uuid in a new answer's id."""


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a session's main file, so that the client resumes it with the context of `order`."""
    records, lost = read_records(order)
    positions, beside = find_positions(records, order.path)
    # Marks records as `removed`, and sets their `changes` and the items to insert `before` them.
    edits = apply_edits(order, records, positions, beside, cut=order.end is not None)
    chain = ResumeChain(records)
    new = fresh_ids(order.ids, chain.used_ids)
    session_id = next(new)
    # Items appended after everything follow the last record of the path that stays.
    last = max((n for n, _ in positions.values() if not records[n].removed), default=None)
    for number, record in enumerate(records):
        for items in record.before:
            chain.insert(_make_item_record(records, number, items, next(new)), number)
    for items in edits.appended:
        chain.append(_make_item_record(records, last or 0, items, next(new)), last)
    _update_usage(records, order)
    return ResumedFile(
        b"".join(chain.lines(session_id)), count_losses([*lost, *edits.lost]), session_id, f"{session_id}.jsonl"
    )


class SourceRecord(ResumeEntry):
    """One record of the source.

    `usage`: its new report (None: unchanged). `new_members`: new values of other members (None: removed).
    """

    raw: bytes
    value: dict[str, Any]
    usage: dict[str, Any] | None = None
    new_members: dict[str, bytes | None] = field(default_factory=dict)

    @property
    def answer_id(self) -> str:
        """The id of the main agent's answer that it is a part of; "" if it is not part of one."""
        message = self.value.get("message")
        if self.value.get("type") != "assistant" or self.value.get("isSidechain") or not isinstance(message, dict):
            return ""
        return "" if message.get("model") == SYNTHETIC else str(message.get("id") or self.value.get("uuid") or "")

    @property
    def members(self) -> dict[str, bytes | None]:
        members: dict[str, bytes | None] = dict(self.new_members)
        changed: dict[str, Any] = {} if self.usage is None else {"usage": self.usage}
        if self.changes:
            parts = self.changed_parts(self.value["message"].get("content"), Block.value)
            changed["content"] = _spell_content(parts)
            if "toolUseResult" in self.value:
                # The client's own copy of the result.
                members["toolUseResult"] = canonical.dumps("\n".join(_part_text(part) for part in parts))
        if changed:
            members["message"] = canonical.dumps({**self.value["message"], **changed})
        return members


def read_records(order: ResumeOrder) -> tuple[list[SourceRecord], list[str]]:
    """Read the records of the source; also returns what could not be read."""
    pieces, lost = read_source(order)
    records: list[SourceRecord] = []
    uuids: set[str] = set()
    for raw, piece in pieces:
        record = _make_source_record(raw, piece.raw)
        uuid = str(record.value.get("uuid") or "")
        if uuid in uuids:
            lost.append("a record that is in the file twice is written once")
            continue
        uuids |= {uuid} if uuid else set()
        records.append(record)
    return records, lost


def _make_source_record(raw: bytes, tidy: bytes) -> SourceRecord:
    value, typed = canonical.loads(tidy), decode(tidy)
    kind = as_str(value.get("type"))
    record = SourceRecord(
        raw=raw,
        value=value,
        is_atomic=not isinstance(value.get("message"), dict),
        ends_with_session=kind in _CHAINED or kind in _ABOUT_END,
    )
    if typed.is_sidechain or (typed.type or "").startswith(_REQUEST):
        return record
    message = parse_message(typed, None)
    if message is not None:
        record.digests = [part.block.digest for part in message.parts]
        record.answers = {n: part.answers for n, part in enumerate(message.parts) if part.answers}
    elif typed.type == "attachment":
        record.digests = [item.block.digest for item in attachment_items(typed.json("attachment"))]
    elif typed.subtype == "local_command":
        record.digests = [item.block.digest for item in client_text(typed.json("content"))]
    return record


def _make_item_record(records: Sequence[SourceRecord], near: int, items: Sequence[Item], uuid: str) -> dict[str, Any]:
    role = "assistant" if is_answer(items[0]) else "user"
    return make_record(records[near].value, role, [item.block.value() for item in items], uuid)


def make_record(template: dict[str, Any], role: str, parts: list[Any], uuid: str) -> dict[str, Any]:
    """Make a record with a message of `role`; session, client and time are those of `template`."""
    about: dict[str, Any] = {key: template[key] for key in _COPIED_KEYS if key in template}
    message: dict[str, Any] = {"role": role, "content": _spell_content(parts)}
    if role == "assistant":
        about |= {COPIED: MAKER}
        message_members = {"id": f"msg_{uuid.replace('-', '')[:_NEW_ID_DIGITS]}", "type": "message", "model": SYNTHETIC}
        end = {"stop_reason": "end_turn", "stop_sequence": None, "usage": _ZERO_USAGE}
        message = {**message_members, "role": role, "content": parts, **end}
    time = template.get("timestamp")
    return {"parentUuid": None, **about, "type": role, "message": message, "uuid": uuid, "timestamp": time}


def _spell_content(parts: list[Any]) -> Any:
    match parts:
        case [str() as words]:
            return words
        case [{"type": "text", "text": str() as words, **more}] if not more:
            return words
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]


def _part_text(part: Any) -> str:
    return part if isinstance(part, str) else block_content.read(from_part(part)).text


_OPEN: Final = "<system-reminder>"
_CLOSE: Final = "</system-reminder>"


def find_positions(
    records: Sequence[SourceRecord], path: Sequence[Item]
) -> tuple[dict[int, tuple[int, int]], dict[int, list[int]]]:
    """Map indexes of `path` to their record and part, and to further records.

    Request records have the client's reminders as they were sent, several in one item. In the transcript each is a
    record of its own (facts §13.1), found by its text.
    """
    positions, beside = find_blocks(path, records), {}
    used_positions = set(positions.values())
    words: dict[str, list[tuple[int, int]]] = {}
    for number, record in enumerate(records):
        for part, text in enumerate(_unwrapped_texts(record.value)):
            if text:
                words.setdefault(text, []).append((number, part))
    for index, item in recorded_items(enumerate(path)):
        if index in positions or item.place.section != "messages" or item.block.kind != "text":
            continue
        text = _strip_wrapper(item.block.member("text"))
        same = [place for place in words.get(text, ()) if place not in used_positions]
        matches = same[-1:] or [
            place
            for part, text_position in words.items()
            if part in text
            for place in text_position
            if place not in used_positions and records[place[0]].value.get("type") == "attachment"
        ]
        if matches:
            used_positions |= set(matches)
            positions[index] = min(matches)
            beside[index] = sorted({number for number, _ in matches} - {positions[index][0]})
    return positions, beside


def _unwrapped_texts(value: dict[str, Any]) -> list[str]:
    rendered, message = value.get("rendered"), value.get("message")
    if value.get("isSidechain"):
        return []
    if value.get("type") == "attachment" and isinstance(rendered, list):
        return [_strip_wrapper(message.get("content")) for message in rendered if isinstance(message, dict)]
    if value.get("type") == "user" and isinstance(message, dict):
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        return [_strip_wrapper(part.get("text") if isinstance(part, dict) else part) for part in parts]
    return []


def _strip_wrapper(text: Any) -> str:
    bare: str = text.strip() if isinstance(text, str) else ""
    if bare.startswith(_OPEN) and bare.endswith(_CLOSE):
        return bare[len(_OPEN) : -len(_CLOSE)].strip()
    return bare


def _update_usage(records: list[SourceRecord], order: ResumeOrder) -> None:
    """Set usage after the first change to zero, and remove requests there.

    The last answer, if it is after that or itself changed, gets the computed size, marked as an estimate. The record of
    the money spent, and the client's replacements of edited results, are removed in any case.
    """
    first = first_change(records)
    last = next((r.answer_id for r in reversed(records) if r.answer_id and not r.removed), "")
    rewritten = any(r.is_changed for r in records if r.answer_id == last)
    begins = {r.answer_id: n for n, r in reversed(list(enumerate(records)))}
    for number, record in enumerate(records):
        kind, answer = record.value.get("type"), record.answer_id
        if kind == _COST_STATE or (number > first and str(kind) in _REQUESTS):
            record.removed = True
        elif kind == "content-replacement":
            _drop_replacements(record, records)
        elif answer and not record.removed:
            stale = begins[answer] > first
            if stale and "requestRef" in record.value:
                record.new_members["requestRef"] = None
            usage = record.value["message"].get("usage")
            size = order.input_tokens if answer == last else None
            if isinstance(usage, dict) and size is not None and (stale or rewritten):
                output = order.answer_tokens if rewritten else usage.get("output_tokens")
                record.usage = {"input_tokens": size, "output_tokens": output, ESTIMATED_BY: "ctxtui"}
            elif isinstance(usage, dict) and stale:
                record.usage = _ZERO_USAGE


def _drop_replacements(record: SourceRecord, records: list[SourceRecord]) -> None:
    listed = record.value.get("replacements")
    if not isinstance(listed, list):
        return
    changed = {call for record in records if record.is_changed for call in record.answers.values()}
    remaining = [
        replacement
        for replacement in listed
        if not (isinstance(replacement, dict) and as_str(replacement.get("toolUseId")) in changed)
    ]
    if len(remaining) < len(listed):
        record.new_members["replacements"] = canonical.dumps(remaining)


_REFERENCES: Final = ("parentUuid", "logicalParentUuid", "leafUuid", "sourceToolAssistantUUID")


class ResumeChain:
    """The records of the new file: removed ones are skipped, inserted ones are linked in."""

    def __init__(self, records: list[SourceRecord]) -> None:
        self._records = records
        self._by_id = {str(record.value["uuid"]): record for record in reversed(records) if record.value.get("uuid")}
        self.used_ids = self._by_id.keys()
        self._numbers = {id(record): number for number, record in enumerate(records)}
        self._before: dict[int, list[dict[str, Any]]] = {}
        """Inserted records, by the number of the record that follows them."""
        self._last: list[dict[str, Any]] = []
        """Records appended at the end."""

    def insert(self, record: dict[str, Any], follower: int) -> None:
        waiting = self._before.setdefault(follower, [])
        parent = (
            waiting[-1]["uuid"] if waiting else self._nearest_remaining(self._records[follower].value.get("parentUuid"))
        )
        waiting.append({**record, "parentUuid": parent})

    def append(self, record: dict[str, Any], parent_number: int | None) -> None:
        parent = (
            None if parent_number is None else self._nearest_remaining(self._records[parent_number].value.get("uuid"))
        )
        self._last.append({**record, "parentUuid": self._last[-1]["uuid"] if self._last else parent})

    def lines(self, session_id: str) -> Iterator[bytes]:
        session_id_json = canonical.dumps(session_id)
        for number, record in enumerate(self._records):
            before = self._before.get(number, [])
            yield from (_encode_line({**inserted, "sessionId": session_id}) for inserted in before)
            if not record.removed and not self._belongs_to_removed(record):
                changes = record.members | self._update_references(record, before)
                if isinstance(record.value.get("sessionId"), str):
                    changes["sessionId"] = session_id_json
                line = replace_members(record.raw, changes)
                if record.value.get("type") == "assistant" and COPIED not in record.value:
                    line = add_member(line, COPIED, canonical.dumps(MAKER))
                yield line + b"\n"
        yield from (_encode_line({**inserted, "sessionId": session_id}) for inserted in self._last)

    def _nearest_remaining(self, uuid: Any) -> Any:
        """The uuid of the nearest record from `uuid` upwards that is not removed.

        None if there is none. An unknown `uuid` is returned as it is.
        """
        while isinstance(uuid, str) and uuid in self._by_id and self._by_id[uuid].removed:
            record = self._by_id[uuid].value
            uuid = record.get("parentUuid") or record.get("logicalParentUuid")
        return uuid

    def _update_references(self, record: SourceRecord, before: list[dict[str, Any]]) -> dict[str, bytes | None]:
        changes: dict[str, bytes | None] = {}
        for key in _REFERENCES:
            named = record.value.get(key)
            stays = before[-1]["uuid"] if before and key == "parentUuid" else self._nearest_remaining(named)
            if stays != named:
                changes[key] = canonical.dumps(stays)
        metadata = record.value.get("compactMetadata")
        if isinstance(metadata, dict) and (updated := self._update_compaction(metadata)) != metadata:
            changes["compactMetadata"] = canonical.dumps(updated)
        return changes

    def _update_compaction(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Update a compaction's references to the messages that it kept.

        The client drops all if one is missing.
        """
        updated = dict(metadata)
        segment, listed = updated.get("preservedSegment"), updated.get("preservedMessages")
        if isinstance(segment, dict):
            remaining_uuids = self._current_uuids(self._uuids_between(segment.get("headUuid"), segment.get("tailUuid")))
            if remaining_uuids:
                ends = {"headUuid": remaining_uuids[0], "tailUuid": remaining_uuids[-1]}
                updated["preservedSegment"] = {**segment, **self._update_anchor(segment), **ends}
            elif self._by_id.keys() >= {segment.get("headUuid"), segment.get("tailUuid")}:
                del updated["preservedSegment"]
        if isinstance(listed, dict):
            names = {key: self._current_uuids(value) for key, value in listed.items() if isinstance(value, list)}
            updated["preservedMessages"] = {**listed, **self._update_anchor(listed), **names}
            if names and not any(names.values()):
                del updated["preservedMessages"]
        return updated

    def _update_anchor(self, named: dict[str, Any]) -> dict[str, Any]:
        return {"anchorUuid": self._nearest_remaining(named["anchorUuid"])} if "anchorUuid" in named else {}

    def _uuids_between(self, head: Any, tail: Any) -> list[Any]:
        uuids: list[Any] = []
        uuid = tail
        while isinstance(uuid, str) and uuid in self._by_id and uuid not in uuids:
            uuids.append(uuid)
            if uuid == head:
                return uuids[::-1]
            uuid = self._by_id[uuid].value.get("parentUuid")
        return []

    def _current_uuids(self, uuids: list[Any]) -> list[Any]:
        current: list[Any] = []
        for uuid in uuids:
            record = self._by_id.get(uuid) if isinstance(uuid, str) else None
            if record is not None:
                current += [inserted["uuid"] for inserted in self._before.get(self._numbers[id(record)], [])]
            current += [] if record is not None and record.removed else [uuid]
        return current

    def _belongs_to_removed(self, record: SourceRecord) -> bool:
        owner = self._by_id.get(str(record.value.get("messageId")))
        return record.value.get("type") == "file-history-snapshot" and owner is not None and owner.removed


def _encode_line(record: Mapping[str, Any]) -> bytes:
    return canonical.dumps(record) + b"\n"


_VERSION: Final = "2.1.332"
"""Client version whose record format new sessions use."""
_TRANSLATED_KINDS: Final = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_IN_RESULT: Final = frozenset({"text", "image", "document"})
_POSITION_MEMBERS: Final = frozenset({"cache_control", "citations"})


def _to_translatable(body: Body, losses: Losses) -> Body:
    messages: list[Body] = []
    for message in body.get("messages", []):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else _typed_parts(content, losses)
        role = message["role"]
        if role == "system":
            losses.note("system messages became reminders of the user")
            parts = [{**part, "text": f"{_OPEN}\n{part.get('text', '')}\n{_CLOSE}"} for part in parts]
            role = "user"
        blocks = [block_ for part in parts if (block_ := _convert_block(part, _TRANSLATED_KINDS, losses)) is not None]
        if blocks and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    if body.get("system") or body.get("tools"):
        losses.note(OWN)
    return {"model": body["model"], "max_tokens": body.get("max_tokens", 1), "messages": messages}


def _typed_parts(content: Any, losses: Losses) -> list[Body]:
    """Parts of `content` with a type; a damaged recording may have others."""
    parts = content if isinstance(content, list) else [content]
    readable = [part for part in parts if isinstance(part, dict) and isinstance(part.get("type"), str)]
    if len(readable) < len(parts):
        losses.note("parts that could not be read")
    return readable


def _convert_block(part: Body, kinds: frozenset[str], losses: Losses) -> Body | None:
    if part["type"] not in kinds:
        losses.note(f"{part['type']}{ONLY_THERE}")
        return None
    copied = {key: value for key, value in part.items() if key not in _POSITION_MEMBERS}
    if isinstance(copied.get("content"), list) and part["type"] == "tool_result":
        inner = _typed_parts(copied["content"], losses)
        copied["content"] = [block for each in inner if (block := _convert_block(each, _IN_RESULT, losses)) is not None]
    return copied


def _is_reminder(part: Body) -> bool:
    text = part["text"].strip() if part["type"] == "text" and isinstance(part.get("text"), str) else ""
    return text.startswith(_OPEN) and text.endswith(_CLOSE)


def _write_translated(order: TranslatedOrder) -> ResumedFile:
    session_id, parent, lines = next(order.ids), None, []
    like = {"isSidechain": False, "userType": "external", **({"cwd": order.cwd} if order.cwd else {})}
    like |= {"sessionId": session_id, "version": _VERSION, "timestamp": format_time(order.now)}
    for message in order.body["messages"]:
        # The client shows no record with `isMeta` as typed by the user, and sends it joined with its neighbours.
        for is_reminder, parts in groupby(message["content"], _is_reminder):
            record = make_record(like, message["role"], list(parts), next(order.ids))
            meta = {"isMeta": True} if is_reminder and message["role"] == "user" else {}
            lines.append(_encode_line({**record, **meta, "parentUuid": parent}))
            parent = record["uuid"]
    return ResumedFile(b"".join(lines), (), session_id, f"{session_id}.jsonl")


TRANSLATION: Final = Translation(ANTHROPIC, _to_translatable, _write_translated)
