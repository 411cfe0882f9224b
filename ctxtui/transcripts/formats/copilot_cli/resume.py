"""Writes a Copilot CLI session that the client resumes, with an edited context.

The client reads the records of ``ID/events.jsonl`` in the file's order, and counts the context itself (tried with
1.0.102). Its usage is that of the usage records in the file, if no ``session.shutdown`` has sums.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.call import MAKER
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.transcripts.formats.copilot_cli.session import (
    CALLS,
    TEXT,
    THOUGHT,
    answer_parts,
    convert_result,
    input_text,
    summary_text,
)
from ctxtui.transcripts.kit.fields import COPIED, as_dicts, get_path
from ctxtui.transcripts.kit.messages import RESULT
from ctxtui.transcripts.kit.resume import (
    UNHELD,
    Body,
    LinkedEntry,
    ResumedFile,
    ResumeOrder,
    add_member,
    apply_edits,
    count_losses,
    first_change,
    format_time,
    fresh_ids,
    is_answer,
    link_entries,
    name_losses,
    new_blocks,
    read_block_text,
    read_source,
    replace_members,
)

_WORKSPACE: Final = "workspace.yaml"
_USAGE: Final = ("session.usage_record", "assistant.usage")
_REASONING: Final = (THOUGHT, "reasoningOpaque", "reasoningBlocks", "encryptedContent")


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a copy of the session with the requested context, under a new id."""
    pieces, lost = read_source(order)
    entries = [_make_source_entry(raw, as_dict(canonical.loads(piece.raw))) for raw, piece in pieces]
    edits = apply_edits(order, entries, cut=order.end is not None or bool(order.until))
    _remove_dependents(entries)
    id_ = next(order.ids)
    new_ids = fresh_ids(order.ids, (as_str(entry.value.get("id")) for entry in entries))
    inserted = {n: _make_records(entries, n, entry.before, new_ids, order) for n, entry in enumerate(entries)}
    appended = _make_records(entries, len(entries) - 1, edits.appended, new_ids, order)
    lines = [
        record.line(parent, id_)
        if isinstance(record, _CopilotEvent)
        else canonical.dumps({**record, "parentId": parent})
        for record, parent in link_entries(entries, inserted, appended, id_key="id", parent_key="parentId")
    ]
    new = new_blocks(entries, edits.appended)
    lost += [*edits.lost, *name_losses(new, ["tool_use"])]
    lost += [UNHELD for block in new if block.kind == "thinking"]
    name = f"{id_}/events.jsonl"
    return ResumedFile(
        b"".join(line + b"\n" for line in lines), count_losses(lost), id_, name, beside=_make_workspace(order, id_)
    )


class _CopilotEvent(LinkedEntry):
    @property
    def kind(self) -> str:
        return as_str(self.value.get("type"))

    @property
    def data(self) -> dict[str, Any]:
        return as_dict(self.value.get("data"))

    @property
    def dropped_calls(self) -> set[str]:
        if self.kind != "assistant.message" or not self.is_changed:
            return set()
        remaining = set() if self.removed else _call_ids(self._changed_data())
        return _call_ids(self.data) - remaining

    def line(self, parent: Any, session: str) -> bytes:
        """Write its line, in the new `session`, after the record `parent`."""
        changed: dict[str, Any] = {} if parent == self.value.get("parentId") else {"parentId": parent}
        if self.kind == "session.start":
            changed["data"] = {**self.data, "sessionId": session}
        elif self.changes:
            changed["data"] = self._changed_data()
        line = replace_members(self.raw, {key: canonical.dumps(value) for key, value in changed.items()})
        is_copy = self.kind in ("assistant.message", *_USAGE) and COPIED not in self.value
        return add_member(line, COPIED, canonical.dumps(MAKER)) if is_copy else line

    def _changed_data(self) -> dict[str, Any]:
        data = self.data
        if self.kind == "assistant.message":
            return self._changed_answer()
        text = "".join(read_block_text(block) for block in self.changes.values() if block is not None)
        match self.kind:
            case "session.compaction_complete":
                return {**data, "summaryContent" if data.get("summaryContent") else "summary": text}
            case "tool.execution_complete" if data.get("success") is False:
                return {**data, "error": {**as_dict(data.get("error")), "message": text}}
            case "tool.execution_complete":
                # The longer form for the screen would still show the old content.
                shown = {key: member for key, member in as_dict(data.get("result")).items() if key != "detailedContent"}
                return {**data, "result": {**shown, "content": text}}
        return {**data, "content": text, **({"transformedContent": text} if "transformedContent" in data else {})}

    def _changed_answer(self) -> dict[str, Any]:
        parts = list(answer_parts(self.data))
        requests = iter(as_dicts(self.data.get(CALLS)))
        texts, calls, thought = list[str](), list[Any](), False
        for n, (member, part) in enumerate(parts):
            request = next(requests) if member == CALLS else {}
            block = self.changes.get(n, blocks.from_part(part))
            if block is None:
                continue
            if member == THOUGHT:
                thought = True
            elif block.kind == "tool_use":
                calls.append(request if n not in self.changes else {**request, **_make_request(block)})
            else:
                texts.append(read_block_text(block))
        members = {key: member for key, member in self.data.items() if thought or key not in _REASONING}
        return {**members, TEXT: "\n\n".join(texts), CALLS: calls}


def _make_source_entry(raw: bytes, value: dict[str, Any]) -> _CopilotEvent:
    # A title belongs to the session, not to its end.
    entry = _CopilotEvent(raw=raw, value=value, ends_with_session=value.get("type") != "session.title_changed")
    data = entry.data
    # A subagent's messages are in no request of the session.
    match entry.kind if not data.get("parentToolCallId") else "":
        case "user.message" | "system.notification":
            entry.digests = [blocks.text(input_text(data)).digest]
        case "assistant.message":
            entry.digests = [blocks.from_part(part).digest for _, part in answer_parts(data)]
        case "tool.execution_complete":
            entry.digests = [blocks.from_part(convert_result(data)).digest]
            entry.answers = {0: as_str(data.get("toolCallId"))}
        case "session.compaction_complete":
            entry.digests = [blocks.text(summary_text(data)).digest]
    return entry


def _remove_dependents(entries: Sequence[_CopilotEvent]) -> None:
    """Remove the records that belong to removed ones, and usage that is no longer true.

    - Those of a dropped call: its start, its permission, its subagent.
    - What a dropped summary replaced: it would come back.
    - Usage of requests after the first change, and all sums.
    """
    first = first_change(entries)
    for number, entry in enumerate(entries):
        if entry.kind == "session.compaction_complete" and None in entry.changes.values():
            for earlier in entries[:number]:
                earlier.removed = earlier.removed or bool(earlier.digests)
    calls = {id_ for entry in entries for id_ in entry.dropped_calls}
    answers = {as_str(entry.data.get("apiCallId")) for entry in entries if entry.removed and entry.digests} - {""}
    for number, entry in enumerate(entries):
        data, is_usage = entry.data, entry.kind in _USAGE
        of_call = as_str(data.get("toolCallId")), as_str(data.get("parentToolCallId"))
        of_answer = as_str(get_path(data, "usage", "apiCallId")) or as_str(data.get("apiCallId"))
        entry.removed = (
            entry.removed
            or entry.kind == "session.shutdown"
            or (is_usage and (number > first or of_answer in answers))
            or (not entry.digests and not calls.isdisjoint(of_call))
        )


def _make_records(
    entries: Sequence[_CopilotEvent],
    near: int,
    groups: Sequence[Sequence[Item]],
    ids: Iterator[str],
    order: ResumeOrder,
) -> list[Body]:
    """Make records of inserted items, at the time of the entry `near` (its 0-based number)."""
    time = as_str(entries[near].value.get("timestamp")) if entries else format_time(order.now)
    model = next((entry.data["model"] for entry in reversed(entries) if entry.data.get("model")), None)
    records: list[Body] = []
    for group in groups:
        if is_answer(group[0]):
            texts = [read_block_text(item.block) for item in group if item.block.kind != "tool_use"]
            calls = [_make_request(item.block) for item in group if item.block.kind == "tool_use"]
            about = {"messageId": next(ids), **({"model": model} if model else {})}
            data = {**about, TEXT: "\n\n".join(texts), CALLS: calls}
            records.append({"type": "assistant.message", "data": data, COPIED: MAKER})
            continue
        for item in group:
            text = read_block_text(item.block)
            if item.block.kind == RESULT:
                value = as_dict(item.block.value())
                failed = value.get("is_error") is True
                outcome = {"error": {"message": text}} if failed else {"result": {"content": text}}
                data = {"toolCallId": value.get("tool_use_id"), "success": not failed, **outcome}
                records.append({"type": "tool.execution_complete", "data": data})
            else:
                records.append({"type": "user.message", "data": {"content": text, "transformedContent": text}})
    return [{**record, "id": next(ids), "timestamp": time} for record in records]


def _make_request(block: Block) -> dict[str, Any]:
    value = as_dict(block.value())
    call = {"toolCallId": value.get("id"), "name": value.get("name"), "arguments": value.get("input")}
    return {**call, "type": "function"}


def _call_ids(data: dict[str, Any]) -> set[str]:
    return {as_str(request.get("toolCallId")) for request in as_dicts(data.get(CALLS))}


def _make_workspace(order: ResumeOrder, id_: str) -> dict[str, bytes]:
    """Describe the session `id_` as the recorded one is; {} if that has no readable description.

    The client then makes its own, with the next prompt as title.
    """
    text = order.beside.get(_WORKSPACE, b"").decode("utf-8", "replace")
    title = f"{_read_workspace(text).get('name') or 'session'} (curated)"
    new_lines = {"id": f"id: {id_}", "name": f"name: {json.dumps(title)}"}
    text = "".join(f"{new_lines.get(line.partition(':')[0], line)}\n" for line in text.splitlines())
    written = _read_workspace(text)
    return {_WORKSPACE: text.encode()} if (written.get("id"), written.get("name")) == (id_, title) else {}


def _read_workspace(text: str) -> dict[str, Any]:
    try:
        return as_dict(yaml.load(text, yaml.BaseLoader))
    except (yaml.YAMLError, RecursionError):
        return {}
