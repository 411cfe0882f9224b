"""Writes a chat that Qwen Code resumes, with an edited context.

The client walks up from the session's last record (`parentUuid`); each record must name the session, whose id is the
file's name. Records with an `agentId` are a subagent's: copied under the new session's id. A compaction's history
replaces what precedes it. The client's meter uses the last answer's usage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.call import MAKER
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.transcripts.formats.qwen_code.session import RESPONSE_TEXTS, convert_parts, parts_of
from ctxtui.transcripts.kit.fields import COPIED, ESTIMATED_BY, get_path
from ctxtui.transcripts.kit.messages import RESULT
from ctxtui.transcripts.kit.resume import (
    Body,
    LinkedEntry,
    ResumedFile,
    ResumeOrder,
    active_chain,
    add_member,
    apply_edits,
    count_losses,
    find_call_name,
    format_time,
    fresh_ids,
    is_answer,
    link_entries,
    name_losses,
    new_blocks,
    outdated_reports,
    read_block_text,
    read_source,
    remove_left_branches,
    replace_members,
)

_LINKS: Final = {"id_key": "uuid", "parent_key": "parentUuid"}
_SESSION_SUBTYPES: Final = ("session_source", "parent_session", "session_sources_snapshot", "turn_result")
"""Subtypes of records about the old session itself, which are not written (as in the client's own forks)."""
_MESSAGE_TYPES: Final = ("user", "assistant", "tool_result")
_ENVELOPE: Final = ("cwd", "version", "gitBranch")


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a copy of the session with the requested context, under a new id."""
    pieces, lost = read_source(order)
    records = [_make_source_record(raw, canonical.loads(piece.raw)) for raw, piece in pieces]
    # The last record of the session itself.
    last = max((n for n, record in enumerate(records) if not record.is_subagent), default=0)
    chain = active_chain(records, last, **_LINKS)
    for number, record in enumerate(records):
        # A cut removes what follows the new end, except the title.
        record.ends_with_session = number in chain and record.value.get("subtype") != "custom_title"
        if number in chain:
            record.digests = [block.digest for content in record.contents for block in _blocks_of(content)]
    edits = apply_edits(order, records, cut=order.end is not None or bool(order.until))
    remove_left_branches(records, chain, _LINKS["parent_key"])
    lost += [*edits.lost, *name_losses(new_blocks(records, edits.appended), ("tool_use", "image"))]
    for number, size in outdated_reports(records, [n for n, r in enumerate(records) if r.is_reported_answer], order):
        records[number].update_usage(size, order.answer_tokens)
    for record in records:
        record.removed = record.removed or record.value.get("subtype") in _SESSION_SUBTYPES
    id_ = next(order.ids)
    new_ids = fresh_ids(order.ids, (as_str(record.value.get("uuid")) for record in records))

    def make(groups: Sequence[Sequence[Item]], near: QwenRecord) -> list[Body]:
        return [_make_record(group, near.value, next(new_ids), order) for group in groups]

    inserted = {n: make(record.before, record) for n, record in enumerate(records)}
    appended = make(edits.appended, records[-1]) if records else []
    lines = [
        canonical.dumps({**record, "sessionId": id_, "parentUuid": parent})
        if isinstance(record, dict)
        else record.line(id_, parent)
        for record, parent in link_entries(records, inserted, appended, **_LINKS)
    ]
    return ResumedFile(b"".join(line + b"\n" for line in lines), count_losses(lost), id_, f"{id_}.jsonl")


class QwenRecord(LinkedEntry):
    """One record.

    - `contents`: its message, or the messages of a compaction's history.
    - `usage`: the new one (None: as recorded; empty: unknown).
    """

    contents: list[Any]
    usage: dict[str, Any] | None = None

    @property
    def is_reported_answer(self) -> bool:
        is_answer_of_session = self.value.get("type") == "assistant" and not self.is_subagent
        return is_answer_of_session and bool(self.value.get("usageMetadata")) and not self.removed

    def change(self, part: int, block: Block | None) -> bool:
        """Replace its 0-based `part`, numbered over all `contents`, with `block` (None: remove it)."""
        changed = LinkedEntry.change(self, part, block)
        # A compaction's record stays even if it is empty: without it, what it replaced would come back.
        self.removed = self.removed and self.value.get("type") != "system"
        return changed

    def update_usage(self, size: int | None, answer_tokens: int) -> None:
        """Replace the report by an estimate of `size` input tokens, or by an empty one (None).

        `answer_tokens` is the output of a changed answer.
        """
        if size is None:
            self.usage = {}
            return
        report = as_dict(self.value.get("usageMetadata"))
        output = answer_tokens if self.changes else as_count(report.get("candidatesTokenCount"))
        counts = {"promptTokenCount": size, "candidatesTokenCount": output, "totalTokenCount": size + output}
        self.usage = {**counts, ESTIMATED_BY: MAKER}

    def line(self, session_id: str, parent: Any) -> bytes:
        members: dict[str, Any] = {"sessionId": session_id}
        if parent != self.value.get("parentUuid"):
            members["parentUuid"] = parent
        if self.usage is not None:
            members["usageMetadata"] = self.usage
        if self.changes:
            members |= self._changed_members()
        line = replace_members(self.raw, {key: canonical.dumps(value) for key, value in members.items()})
        copied = self.value.get("type") == "assistant" and COPIED not in self.value
        return add_member(line, COPIED, canonical.dumps(MAKER)) if copied else line

    def _changed_members(self) -> dict[str, Any]:
        contents, part = [], 0
        for content in self.contents:
            old_parts = _content_parts(content)
            new_parts = []
            for number, old in enumerate(old_parts, part):
                new = self.changes.get(number)
                new_parts += [old] if number not in self.changes else [_to_part(new, old)] if new is not None else []
            part += len(old_parts)
            if new_parts:
                contents.append({**content, "parts": new_parts} if isinstance(content, dict) else new_parts[0])
        if self.value.get("type") == "system":
            return {"systemPayload": {**as_dict(self.value.get("systemPayload")), "compressedHistory": contents}}
        members: dict[str, Any] = {"message": contents[0]}
        if isinstance(shown := self.value.get("toolCallResult"), dict):
            texts = [read_block_text(block) for block in self.changes.values() if block is not None]
            members["toolCallResult"] = {**shown, "resultDisplay": "\n".join(texts)}
        return members


def _make_source_record(raw: bytes, value: dict[str, Any]) -> QwenRecord:
    record = QwenRecord(raw=raw, value=value, contents=[], is_subagent=bool(value.get("agentId")))
    kind = value.get("type")
    if kind in _MESSAGE_TYPES and isinstance(value.get("message"), dict):
        record.contents = [value["message"]]
    elif kind == "system" and value.get("subtype") == "chat_compression":
        record.contents = as_list(get_path(value, "systemPayload", "compressedHistory"))
    return record


def _content_parts(content: Any) -> list[Any]:
    return parts_of(content.get("parts") if isinstance(content, dict) else content)


def _blocks_of(content: Any) -> list[Block]:
    converted = convert_parts(_content_parts(content))
    return [blocks.text(part) if isinstance(part, str) else blocks.from_part(part) for part in converted]


def _make_record(items: Sequence[Item], near: Body, uuid: str, order: ResumeOrder) -> Body:
    kinds = {item.block.kind for item in items}
    type_ = "assistant" if is_answer(items[0]) else "tool_result" if RESULT in kinds else "user"
    envelope: Body = {key: near[key] for key in _ENVELOPE if key in near}
    parts = [_to_part(item.block) for item in items]
    for response in (part["functionResponse"] for part in parts if "functionResponse" in part):
        response["name"] = response["name"] or find_call_name(order, response["id"])
    message = {"role": "model" if type_ == "assistant" else "user", "parts": parts}
    more: Body = {COPIED: MAKER} if type_ == "assistant" else {}
    return {"uuid": uuid, "timestamp": format_time(order.now), "type": type_, **envelope, "message": message, **more}


def _to_part(block: Block, old: Any = None) -> Any:
    """Convert a block to the client's part; a result keeps the further members of `old`."""
    value = as_dict(block.value())
    source = as_dict(value.get("source"))
    text = read_block_text(block)
    match value.get("type"):
        case "tool_use":
            return {"functionCall": {"id": value.get("id"), "name": value.get("name"), "args": value.get("input")}}
        case "tool_result":
            media = [_to_part(blocks.from_part(part)) for part in as_list(value.get("content"))]
            media = [part for part in media if "text" not in part]
            before = as_dict(as_dict(old).get("functionResponse"))
            named = {"id": value.get("tool_use_id"), "name": value.get("name") or before.get("name")}
            key = next((key for key in RESPONSE_TEXTS if key in as_dict(before.get("response"))), RESPONSE_TEXTS[0])
            answer = {**before, **named, "response": {key: text}, "parts": media}
            return {"functionResponse": {name: member for name, member in answer.items() if member or name != "parts"}}
        case "thinking":
            return {"text": text, "thought": True}
        case "image" if "data" in source:
            return {"inlineData": {"mimeType": source.get("media_type"), "data": source["data"]}}
    return {"text": text}
