"""Write an OpenCode export that the client imports and resumes, with an edited context.

``opencode import`` ignores ids that it has, so the session, its messages and their parts get new ones. These begin like
the old ones, because OpenCode orders messages by time and id, parts by id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from msgspec import field

from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.call import MAKER
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.json_values import as_count, as_dict, as_number, as_str
from ctxtui.transcripts.formats.opencode import parts as opencode_parts
from ctxtui.transcripts.formats.opencode.database import messages_of, sessions_of
from ctxtui.transcripts.formats.opencode.export import assemble, messages_in
from ctxtui.transcripts.formats.opencode.parts import Part
from ctxtui.transcripts.formats.opencode.session_builder import OpenCodeMessage
from ctxtui.transcripts.kit.fields import get_path
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.kit.messages import make_parts
from ctxtui.transcripts.kit.readers import decode_column, parse_json, parse_rows, tables_in
from ctxtui.transcripts.kit.resume import (
    UNHELD,
    ResumedFile,
    ResumeEntry,
    ResumeOrder,
    apply_edits,
    count_losses,
    find_blocks,
    find_end,
    first_change,
    inserted_blocks,
    is_answer,
    name_losses,
    read_block_text,
)

_ID: Final = re.compile(r"(ses|msg|prt)_([0-9a-f]{12})(\w{14})")
_IMAGES: Final = "an image in a changed result"
_SAID: Final = "said"
_RESULT: Final = "result"
_RENAMED_COLUMNS: Final = {"project_id": "projectID", "workspace_id": "workspaceID"}
_COPIED_COLUMNS: Final = ("id", "slug", "directory", "path", "title", "version", "agent", "cost")
_JSON_COLUMNS: Final = ("model", "permission", "metadata")


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a copy of the session with the requested context, under a new id."""
    info, recorded, lost = _read_source(order)
    messages = [_ImportMessage.from_message(message) for message in recorded]
    positions = find_blocks(order.path, messages[: find_end(order.path, messages)])
    edits = apply_edits(order, messages, positions, cut=True)
    positions_inside = [edits.positions[index] for index in edits.positions if order.end is None or index < order.end]
    ends, last = max(positions_inside, default=(-1, 0))
    lost += [
        *edits.lost,
        *name_losses(inserted_blocks(messages, edits.appended), ()),
        *(loss for n, message in enumerate(messages) for loss in message.write(last if n == ends else None)),
    ]
    _update_usage(messages, order)
    written: list[_ImportMessage] = []
    for number, message in enumerate(messages):
        written += _make_messages(message.before, messages, number, lost)
        written += [] if message.removed else [message]
    written += _make_messages(edits.appended, messages, len(messages), lost)
    _relink_answers(written)
    id_ = _session_id(order.now, next(order.ids))
    export = {
        "info": _describe_session(info, written, id_, order.now),
        "messages": [message.value for message in written],
    }
    return ResumedFile(
        canonical.dumps(_with_new_ids(export, id_, order.ids)) + b"\n", count_losses(lost), id_, f"{id_}.json"
    )


def _block_digests(message: OpenCodeMessage, part: Part) -> list[tuple[str, str]]:
    value = opencode_parts.convert_answer_part(part) if message.is_answer else opencode_parts.convert_user_part(part)
    digests = [(item.block.digest, _SAID) for item in (make_parts("assistant", value) if value is not None else ())]
    result = opencode_parts.convert_result(part) if message.is_answer else None
    return digests + [
        (item.block.digest, _RESULT) for item in (make_parts("user", result) if result is not None else ())
    ]


class _ImportMessage(ResumeEntry):
    """A message of the new session: as `recorded`, and as it will be (`value`).

    `positions`: part and role of each of its blocks. `estimated`: its token counts are an estimate.
    """

    recorded: OpenCodeMessage
    value: dict[str, Any]
    positions: list[tuple[int, str]] = field(default_factory=list)
    estimated: bool = False

    @classmethod
    def from_message(cls, recorded: OpenCodeMessage) -> _ImportMessage:
        value = {"info": deepcopy(recorded.info), "parts": deepcopy(recorded.parts)}
        message = cls(recorded=recorded, value=value)
        for place, part in enumerate(recorded.parts):
            digests = _block_digests(recorded, part)
            if part.get("callID") and not any(kind == _RESULT for _, kind in digests):
                digests.append(("", _RESULT))
            for digest, kind in digests:
                if kind == _RESULT:
                    message.answers[len(message.positions)] = as_str(part.get("callID"))
                message.digests.append(digest)
                message.positions.append((place, kind))
        return message

    @property
    def dropped_parts(self) -> set[int]:
        return {
            self.positions[n][0] for n, block in self.changes.items() if block is None and self.positions[n][1] == _SAID
        }

    def change(self, part: int, block: Block | None) -> bool:
        self.changes[part] = block
        self.removed = {place for place, _ in self.positions} <= self.dropped_parts
        return True

    def write(self, last: int | None) -> Iterator[str]:
        """Apply the changes, remove everything after the block `last`, and yield losses.

        None removes nothing.
        """
        parts: list[Part | None] = list(self.value["parts"])
        dropped = self.dropped_parts
        for number, block in self.changes.items():
            place, kind = self.positions[number]
            if block is not None and place not in dropped:
                yield from self._rewrite(parts, place, kind, block)
            elif block is None and place not in dropped:
                yield UNHELD
        later_parts = {place for place, _ in self.positions if last is not None and place > self.positions[last][0]}
        removed_parts = dropped | later_parts
        self.value["parts"] = [part for n, part in enumerate(parts) if n not in removed_parts]
        self.removed = self.removed or (bool(removed_parts) and {place for place, _ in self.positions} <= removed_parts)

    def _rewrite(self, parts: list[Part | None], place: int, kind: str, block: Block) -> Iterator[str]:
        part, value = as_dict(parts[place]), block.value()
        if kind == _RESULT:
            state = as_dict(part.get("state"))
            content = value.get("content")
            if isinstance(content, list) and any(as_dict(part).get("type") not in ("text", None) for part in content):
                yield _IMAGES
            state.pop("attachments", None)
            as_dict(state.get("time")).pop("compacted", None)
            state["error" if state.get("status") == "error" else "output"] = read_block_text(block)
        elif part.get("type") == "tool":
            as_dict(part.get("state"))["input"] = value.get("input")
        elif part.get("type") in ("text", "reasoning"):
            part["text"] = read_block_text(block)
        else:
            ids: Part = {key: part[key] for key in ("id", "sessionID", "messageID") if key in part}
            parts[place] = {**ids, "type": "text", "text": read_block_text(block)}

    def set_tokens(self, input_tokens: int | None, answer_tokens: int) -> None:
        info = self.value["info"]
        tokens = _make_tokens(0, 0) if input_tokens is None else _make_tokens(input_tokens, max(1, answer_tokens))
        self.estimated = input_tokens is not None
        for record in (info, *(part for part in self.value["parts"] if part.get("type") == "step-finish")):
            if "tokens" in record:
                record |= {"tokens": tokens, "cost": 0}


def _make_messages(
    groups: Sequence[Sequence[Item]], messages: Sequence[_ImportMessage], number: int, lost: list[str]
) -> Iterator[_ImportMessage]:
    """Make messages from inserted items, before the message `number` (or at the end).

    Each copies members of the nearest message of its side; without one, the items are lost.
    """
    at_end = number == len(messages)
    for n, group in enumerate(groups):
        same = [k for k, message in enumerate(messages) if message.recorded.is_answer == is_answer(group[0])]
        if not same:
            lost.append(UNHELD)
            continue
        like = messages[min(same, key=lambda k: abs(k - number))].recorded
        neighbor = messages[-1 if at_end else number].recorded
        created = as_count(as_dict(neighbor.info.get("time")).get("created")) + at_end
        info: dict[str, Any] = {key: like.info[key] for key in ("role", "agent", "model") if key in like.info}
        if like.is_answer:
            info = {**like.info, "tokens": _make_tokens(0, 0), "cost": 0, "finish": "stop"}
        info |= {"id": _neighbor_id(neighbor.id, 1 + n if at_end else n - len(groups)), "time": {"created": created}}
        if like.is_answer:
            info["time"]["completed"] = created
        yield _ImportMessage.from_message(
            OpenCodeMessage(info, [{"type": "text", "text": read_block_text(item.block)} for item in group])
        )


def _update_usage(messages: Sequence[_ImportMessage], order: ResumeOrder) -> None:
    """Set usage reports that do not apply to the new context to zero.

    The last answer's is set to the computed size.
    """
    first = first_change(messages)
    answers = [n for n, message in enumerate(messages) if message.recorded.is_answer and not message.removed]
    for n in answers:
        message = messages[n]
        # Older versions kept several requests as one message.
        has_steps = [part.get("type") for part in message.recorded.parts].count("step-finish") > 1
        if n > first or (n == first and has_steps):
            message.set_tokens(order.input_tokens if n == answers[-1] else None, order.answer_tokens)


def _relink_answers(messages: Sequence[_ImportMessage]) -> None:
    question = next((message.recorded.id for message in messages if not message.recorded.is_answer), "")
    remaining_ids = {message.recorded.id for message in messages}
    for message in messages:
        if not message.recorded.is_answer:
            question = message.recorded.id
        elif question and as_str(message.value["info"].get("parentID")) not in remaining_ids:
            message.value["info"]["parentID"] = question


def _describe_session(info: dict[str, Any], messages: Sequence[_ImportMessage], id_: str, now: float) -> dict[str, Any]:
    answers = [message.value["info"] for message in messages if message.recorded.is_answer]
    tokens = [as_dict(answer.get("tokens")) for answer in answers]
    flat = {key: sum(as_count(usage.get(key)) for usage in tokens) for key in ("input", "output", "reasoning")}
    cache = {key: sum(as_count(get_path(usage, "cache", key)) for usage in tokens) for key in ("read", "write")}
    time = as_dict(info.get("time"))
    members = {key: value for key, value in info.items() if key not in ("parentID", "share", "revert", "summary")}
    return {
        **members,
        "id": id_,
        "title": f"{info.get('title') or 'session'} (curated)",
        "cost": sum(as_number(answer.get("cost")) or 0 for answer in answers),
        "tokens": {**flat, "cache": cache},
        "time": {"created": time.get("created") or round(now * 1000), "updated": round(now * 1000)},
        "metadata": {**as_dict(members.get("metadata")), MAKER: _copy_notes(messages)},
    }


def _copy_notes(messages: Sequence[_ImportMessage]) -> dict[str, Any]:
    answers = [message for message in messages if message.recorded.is_answer]
    estimated = [answer.recorded.id for answer in answers if answer.estimated]
    return {"copied": [answer.recorded.id for answer in answers], **({"estimated": estimated} if estimated else {})}


def _read_source(order: ResumeOrder) -> tuple[dict[str, Any], list[OpenCodeMessage], list[str]]:
    damage = None
    if tables_in(order.source[:HEAD_BYTES]):
        tables = parse_rows(order.source)
        info, messages = _row_info(sessions_of(tables).get(order.session, {})), messages_of(tables).get(order.session)
    else:
        value, damage = parse_json(order.source)
        export = assemble(value) if isinstance(value, list) else as_dict(value)
        info, messages = as_dict(export.get("info")), messages_in(export) if "messages" in export else None
    if messages is None:
        raise CtxtuiError("the session's messages are not in the recording", place=order.session)
    return info, messages, [f"line {damage.line}: {damage.reason}"] if damage is not None else []


def _row_info(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a database row to an export's ``info``; a row of older files is one already."""
    if "time" in row:
        return row
    members = {key: row[key] for key in _COPIED_COLUMNS if row.get(key) is not None}
    members |= {name: row[key] for key, name in _RENAMED_COLUMNS.items() if row.get(key) is not None}
    members |= {key: decode_column(row[key]) for key in _JSON_COLUMNS if row.get(key) is not None}
    return members | {"time": {"created": row.get("time_created"), "updated": row.get("time_updated")}}


def _make_tokens(input_: int, output: int) -> dict[str, Any]:
    zeros = {"reasoning": 0, "cache": {"read": 0, "write": 0}}
    return {"total": input_ + output, "input": input_, "output": output, **zeros}


def _neighbor_id(id_: str, step: int) -> str:
    """Make an id that sorts `step` ids after `id_`, or before it if negative.

    If `id_` has another form, they sort so after `_with_new_ids`.
    """
    match = _ID.fullmatch(id_)
    if match is None:
        # In ASCII, "-" is before "_" and "~" after it.
        return f"{id_}{'-' if step < 0 else '~'}{step % (1 << 48):012x}"
    return f"{match.group(1)}_{int(match.group(2), 16) + step:012x}{match.group(3)}"


def _session_id(now: float, random: str) -> str:
    return f"ses_{~(round(now * 1000) * 0x1000) & 0xFFFFFFFFFFFF:012x}{random.replace('-', '')[:14]}"


def _with_new_ids(value: Any, session: str, ids: Iterator[str]) -> Any:
    """Replace the ids of the session, its messages and parts by unique new ones.

    All references change with them.
    """
    names: dict[str, str] = {}
    for message in value["messages"]:
        info = message["info"]
        # A database has these in separate columns.
        info["sessionID"] = session
        for n, part in enumerate(message["parts"]):
            if not part.get("id"):
                part["id"] = _neighbor_id(as_str(info.get("id")).replace("msg_", "prt_"), n)
        for record in (info, *message["parts"]):
            old = as_str(record.get("id"))
            match = _ID.fullmatch(old)
            tail = next(ids).replace("-", "")[:14]
            record["id"] = names[old] = f"{match.group(1)}_{match.group(2)}{tail}" if match else f"{old}_{tail}"
        for part in message["parts"]:
            part |= {"sessionID": session, "messageID": info["id"]}
    names.pop("", None)
    return _with_names(value, names)


def _with_names(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_with_names(item, names) for item in value]
    return {key: _with_names(member, names) for key, member in value.items()} if isinstance(value, dict) else value
