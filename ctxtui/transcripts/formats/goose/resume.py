"""Write a Goose export with the requested context for ``goose session import``.

The client gives the session a new id and keeps its name (to resume by), the ids of its messages, and ``total_tokens``
(to compact by, and told to the model). Hidden messages are copied, for the user to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import field

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.json_values import as_count, as_dict, as_str
from ctxtui.transcripts.formats.goose.database import (
    COPY_PREFIX,
    ESTIMATED,
    EXTENSION,
    convert_part,
    session_title,
    sort_messages,
)
from ctxtui.transcripts.formats.goose.export import JSON_COLUMNS, MESSAGE_COLUMNS, to_tables
from ctxtui.transcripts.kit.fields import as_time
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.kit.readers import Row, decode_column, parse_json, parse_rows, tables_in
from ctxtui.transcripts.kit.resume import (
    ResumedFile,
    ResumeEntry,
    ResumeOrder,
    apply_edits,
    count_losses,
    find_blocks,
    find_end,
    first_change,
    format_time,
    is_answer,
    name_losses,
    new_blocks,
    read_block_text,
)

_ACCUMULATED: Final = ("total_tokens", "input_tokens", "output_tokens", "cost")
"""Columns of sums over all calls, after ``accumulated_``."""
_CURATED: Final = " (curated "
"""Begins the end of a written session's name; cut before a new one is added."""
_VISIBLE: Final = {"userVisible": True, "agentVisible": True}


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a file for ``goose session import``; its `id` is the new session's name."""
    row, rows, lost = _read_source(order)
    messages = [_GooseMessage.from_row(message_row) for message_row in rows]
    positions = find_blocks(order.path, messages[: find_end(order.path, messages)])
    edits = apply_edits(order, messages, positions, cut=True)
    lost += [*edits.lost, *name_losses(new_blocks(messages, edits.appended), ("tool_use", "image"))]
    for number, _ in positions.values():
        messages[number].is_read = True
    conversation: list[dict[str, Any]] = []
    for recorded in messages:
        conversation += [_make_message(group, recorded.value["created"], order.ids) for group in recorded.before]
        conversation += [] if recorded.removed else [recorded.write(order.ids)]
    conversation += [_make_message(group, 0, order.ids) for group in edits.appended]
    # The client orders messages by this time, and drops a call whose result seems to be before it.
    latest = 0
    for message in conversation:
        latest = message["created"] = max(latest, as_count(message["created"]))
    is_changed = bool(edits.appended) or first_change(messages) < len(messages)
    mark = next(order.ids)[:8]
    name = f"{(session_title(row) or 'session').partition(_CURATED)[0]}{_CURATED}{mark})"
    session = _describe_session(row, order, is_changed=is_changed)
    session |= {"name": name, "user_set_name": True, "conversation": conversation, "message_count": len(conversation)}
    return ResumedFile(canonical.dumps(session) + b"\n", count_losses(lost), name, f"goose-{mark}.json")


class _GooseMessage(ResumeEntry):
    """A message as an export has it.

    `places`: the index in `content` of each block. `is_read`: it is in the requested context.
    """

    value: dict[str, Any]
    content: list[Any]
    places: list[int] = field(default_factory=list)
    is_read: bool = False

    @classmethod
    def from_row(cls, row: Row) -> _GooseMessage:
        value = {member: decode_column(row.get(column)) for member, column in MESSAGE_COLUMNS.items()}
        content = value["content"] if isinstance(value["content"], list) else []
        message = cls(value=value, content=content)
        for n, part in enumerate(content):
            converted = convert_part(part) if isinstance(part, dict) else None
            if converted is None:
                continue
            if call_id := as_str(as_dict(converted).get("tool_use_id")):
                message.answers[len(message.places)] = call_id
            message.digests.append(blocks.from_part(converted).digest)
            message.places.append(n)
        return message

    def write(self, ids: Iterator[str]) -> dict[str, Any]:
        """Return the message with its changes, marked as a copy."""
        new = {self.places[n]: block for n, block in self.changes.items()}
        content = []
        for n, part in enumerate(self.content):
            block = new.get(n)
            if block is not None:
                content.append(_to_part(block, as_dict(part)))
            elif n not in new:
                content.append(part)
        metadata = {**_VISIBLE, **as_dict(self.value["metadata"])}
        if self.is_read:
            metadata["agentVisible"] = True
        id_ = as_str(self.value["id"]).removeprefix(COPY_PREFIX) or next(ids)
        return {**self.value, "id": COPY_PREFIX + id_, "content": content, "metadata": metadata}


def _read_source(order: ResumeOrder) -> tuple[Row, list[Row], list[str]]:
    """Read the row of the session, those of its messages, and what could not be read.

    Raises `CtxtuiError` if the source does not have the session.
    """
    damage = None
    if tables_in(order.source[:HEAD_BYTES]):
        tables = parse_rows(order.source)
    else:
        export, damage = parse_json(order.source)
        tables = to_tables(as_dict(export))
    row = next((row for row in tables.get("sessions", []) if as_str(row.get("id")) == order.session), None)
    if row is None:
        raise CtxtuiError("the session is not in the recording", place=order.session)
    rows = sort_messages(tables).get(order.session, [])
    return row, rows, [f"line {damage.line}: {damage.reason}"] if damage is not None else []


def _describe_session(row: Row, order: ResumeOrder, *, is_changed: bool) -> dict[str, Any]:
    """Describe the new session, without its messages; its own calls have cost nothing yet."""
    names = {column: member for member, column in JSON_COLUMNS.items()}
    members: dict[str, Any] = {names.get(column, column): decode_column(value) for column, value in row.items()}
    # The old name of `name`; an import refuses a session with both.
    members.pop("description", None)
    created = as_time(row.get("created_at")) or order.now
    members |= {f"accumulated_{name}": None for name in _ACCUMULATED}
    members |= {"schedule_id": None, "archived_at": None, "session_type": "user"}
    members |= {"created_at": _format_seconds(created), "updated_at": format_time(order.now)}
    extensions = {key: value for key, value in as_dict(members.get("extension_data")).items() if key != EXTENSION}
    if is_changed:
        # The recorded tokens are of the old context.
        size, answer = order.input_tokens, order.answer_tokens
        members |= {"input_tokens": size, "output_tokens": None if size is None else answer}
        members["total_tokens"] = None if size is None else size + answer
        extensions |= {EXTENSION: {ESTIMATED: True}} if size is not None else {}
    return {**members, "extension_data": extensions}


def _format_seconds(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _make_message(group: Sequence[Item], created: Json, ids: Iterator[str]) -> dict[str, Any]:
    content = [_to_part(item.block, {}) for item in group]
    role = "assistant" if is_answer(group[0]) else "user"
    id_ = COPY_PREFIX + next(ids)
    return {"id": id_, "role": role, "created": created, "content": content, "metadata": _VISIBLE}


def _to_part(block: Block, recorded: dict[str, Any]) -> dict[str, Any]:
    """Convert a block to Goose's spelling.

    Calls, results and thinking keep the other members of `recorded`, if it is of their kind.
    """
    value = as_dict(block.value())
    source = as_dict(value.get("source"))
    match value.get("type"):
        case "tool_use":
            request = recorded if recorded.get("type") in ("toolRequest", "frontendToolRequest") else {}
            recorded_call = as_dict(as_dict(request.get("toolCall")).get("value"))
            call = {**recorded_call, "name": value.get("name"), "arguments": value.get("input")}
            return {"type": "toolRequest", "id": value.get("id"), **request, "toolCall": _make_success(call)}
        case "tool_result":
            response = recorded if recorded.get("type") == "toolResponse" else {}
            content = value.get("content")
            parts = content if isinstance(content, list) else [{"type": "text", "text": as_str(content)}]
            result = {
                "content": [_to_part(blocks.from_part(part), {}) for part in parts],
                "isError": value.get("is_error") is True,
            }
            id_ = value.get("tool_use_id")
            return {"type": "toolResponse", "id": id_, **response, "toolResult": _make_success(result)}
        case "thinking" if recorded.get("type") == "thinking":
            return {**recorded, "thinking": read_block_text(block)}
        case "image" if "data" in source:
            return {"type": "image", "data": source["data"], "mimeType": source.get("media_type")}
    # Annotations have MCP's audience: a text for the user only is not sent to the model.
    annotations = as_dict(value.get("annotations"))
    more = {"annotations": annotations} if annotations else {}
    return {"type": "text", "text": read_block_text(block), **more}


def _make_success(value: dict[str, Any]) -> dict[str, Any]:
    return {"status": "success", "value": value}
