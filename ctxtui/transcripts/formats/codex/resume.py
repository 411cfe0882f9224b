"""Writes rollouts that Codex resumes (facts §11, §13), its own or those of other tools.

A rollout is the file of one session. The client reads the items in the file's order. The session's id is in the first
record and ends the file's name.

The client's meter, and its decision to compact before the first prompt, use the last count in the file. Counts describe
the old context: they are removed where the context changed, and an estimate of the new size follows the last item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core import block, canonical
from ctxtui.core.block import HEADER, Item
from ctxtui.core.errors import CtxtuiError
from ctxtui.transcripts.formats.codex import items
from ctxtui.transcripts.formats.codex.items import EVENT, ITEM, SESSION_META, USAGE, decode
from ctxtui.transcripts.kit.fields import COPIED_LINES, ESTIMATED_BY
from ctxtui.transcripts.kit.records import RawRecord
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
    format_time,
    read_source,
    replace_members,
)
from ctxtui.wire.grammar import RESPONSES, join_item
from ctxtui.wire.parts import Piece
from ctxtui.wire.translate.turns import Losses

_COUNT: Final = "token_count"
_HISTORY_NOTES: Final = frozenset({"replacement_history_metadata", "retained_context", "latest_token_usage_record"})
"""The client's notes on the history in a compaction's record."""


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a rollout, so that a client that resumes it has the requested context.

    Raises `CtxtuiError` for a rollout of the very first format.
    """
    session_id = _make_session_id(next(order.ids), order.now)
    resumed = write_session(order, session_id)
    return replace(resumed, id=session_id, name=file_name(session_id, order.now), folder=_folder(order.now))


def write_session(order: ResumeOrder, session_id: str) -> ResumedFile:
    """Write the rollout of the session `session_id`, without a name and a folder for its file."""
    pieces, lost = read_source(order)
    lines: list[_RolloutLine] = []
    for raw, piece in pieces:
        line = _parse_line(raw, piece)
        if line.type == SESSION_META and any(other_line.type == SESSION_META for other_line in lines):
            # Forks repeat their parent's record; the first one counts.
            line.slots.clear()
        lines.append(line)
    owners = [n for n, line in enumerate(lines) for _ in line.slots]
    edits = apply_edits(order, [slot for line in lines for slot in line.slots], cut=order.end is not None)
    if order.drops_prompt and edits.last is not None:
        # The client displays these events.
        lines = [line for n, line in enumerate(lines) if n < owners[edits.last] or line.kind != _EVENTS["user"]]
    first = next((n for n, line in enumerate(lines) if line.is_changed), None)
    if edits.appended:
        first = len(lines) if first is None else first
        lines += [_make_item_line(lines[-1], value) for value in _to_items(chain(*edits.appended))]
    if first is not None:
        lines = _update_counts(lines, first, order)
    return ResumedFile(b"".join(_write_lines(lines, session_id)), count_losses([*lost, *edits.lost]))


def file_name(session_id: str, now: float) -> str:
    """Return the file name that the client requires of a rollout made at `now`."""
    return f"rollout-{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"


def _folder(now: float) -> str:
    return f"{datetime.fromtimestamp(now, UTC):%Y/%m/%d}"


def _make_session_id(random: str, now: float) -> str:
    """Make a UUID of version 7 of the time `now` (Unix seconds), with bits of the UUID `random`."""
    low = int(random.replace("-", ""), 16) & ((1 << 76) - 1) & ~(0b11 << 62)
    digits = f"{int(now * 1000) << 80 | 7 << 76 | 2 << 62 | low:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class Slot(ResumeEntry):
    """One item of a context in the file, as JSON `value`.

    `pieces` are its header and its parts, which edits may change or remove; empty for an item that is one block.
    """

    value: Any
    pieces: list[Piece] = field(default_factory=list)

    @property
    def new_value(self) -> Any:
        if not self.changes:
            return self.value
        if not self.pieces:
            new = self.changes[0]
            return new.value() if new is not None else None
        head, *parts = self.pieces
        role = str(head[1].get("role"))
        new_parts = {
            n: (new_part.kind, _to_responses_part(new_part.value(), role)) if new_part else None
            for n, new_part in self.changes.items()
        }
        remaining = [new_part for n, part in enumerate(parts) if (new_part := new_parts.get(n, part)) is not None]
        value = join_item([head, *remaining])
        notes = value.get(items.PASSTHROUGH)
        if not isinstance(notes, dict):
            return value
        # The client's notes on each part are removed with it (facts §13).
        stays = [new_parts.get(n, part) is not None for n, part in enumerate(parts)]
        of_parts = {
            key: [part_note for part_note, stays_in in zip(note, stays, strict=True) if stays_in]
            for key, note in notes.items()
            if key.startswith("content_item_") and isinstance(note, list) and len(note) == len(stays)
        }
        return {**value, items.PASSTHROUGH: {**notes, **of_parts}}


class _RolloutLine(Struct, kw_only=True):
    """One line: its bytes, its type, the items that it holds, and its `kind` of event.

    `bare`: it is an item without the envelope of ``timestamp``, ``type`` and ``payload``.
    """

    raw: bytes
    type: str
    timestamp: str
    slots: list[Slot] = field(default_factory=list)
    bare: bool = False
    kind: str = ""

    @property
    def is_changed(self) -> bool:
        """Whether an edit changes the line or inserts something before it."""
        return any(slot.is_changed or slot.before for slot in self.slots)

    @property
    def payload(self) -> dict[str, Any]:
        value: dict[str, Any] = canonical.loads(self.raw)
        payload = value if self.bare else value.get("payload")
        return payload if isinstance(payload, dict) else {}

    def with_payload(self, value: Any) -> bytes:
        new = canonical.dumps(value)
        return new if self.bare else replace_members(self.raw, {"payload": new})


def _parse_line(raw: bytes, piece: RawRecord) -> _RolloutLine:
    """Parse a line; raises `CtxtuiError` if it holds a whole session (first rollouts)."""
    records = decode(piece.raw, False)
    if len(records) != 1:
        raise CtxtuiError(
            "a rollout of the first format, which no client resumes",
            place=f"line {piece.line}",
            way_out="export it as a request body instead",
        )
    (record,) = records
    payload = record.value()
    kind = payload.get("type") if record.type == EVENT else None
    return _RolloutLine(
        raw=raw,
        type=record.type,
        timestamp=record.timestamp,
        slots=list(_iter_slots(record.type, payload)),
        bare=record.payload == piece.raw,
        kind=kind if isinstance(kind, str) else "",
    )


def _iter_slots(type_: str, payload: dict[str, Any]) -> Iterator[Slot]:
    if type_ == ITEM:
        yield _make_slot(payload)
    elif type_ == "compacted":
        replacement = payload.get("replacement_history")
        if isinstance(replacement, list):
            yield from map(_make_slot, replacement)
        elif isinstance(payload.get("message"), str):
            yield _text_slot(payload["message"])
    elif type_ == SESSION_META:
        base = payload.get("base_instructions")
        text = base.get("text") if isinstance(base, dict) else base
        if isinstance(text, str) and text:
            yield _text_slot(text)


def _make_slot(value: Any) -> Slot:
    blocks = [item.block for item in items.item_from_value(value).items]
    digests = [block.digest for block in blocks if block.kind != HEADER]
    pieces = [(block.kind, block.value()) for block in blocks] if blocks and blocks[0].kind == HEADER else []
    return Slot(value=value, digests=digests, pieces=pieces, ends_with_session=bool(digests))


def _text_slot(text: str) -> Slot:
    return Slot(value=text, digests=[block.text(text).digest])


def _to_items(new: Iterable[Item]) -> list[Any]:
    """Convert new blocks to items: texts and images to messages, everything else unchanged."""
    values: list[Any] = []
    for item in new:
        value, role = item.block.value(), item.place.role
        if item.block.kind in ("text", "input_text", "output_text", "input_image", "image"):
            value = {"type": "message", "role": role, "content": [_to_responses_part(value, role)]}
        values.append(value)
    return values


def _to_responses_part(part: Any, role: str) -> Any:
    if isinstance(part, dict) and part.get("type") == "text":
        return {**part, "type": "output_text" if role == "assistant" else "input_text"}
    return part


def _write_lines(lines: Sequence[_RolloutLine], session_id: str) -> Iterator[bytes]:
    """Yield the lines of the new rollout, each with its line end.

    If the client numbers its lines (facts §13), they are renumbered: it refuses a file with a gap.
    """
    raw_lines = list(_iter_new_lines(lines, session_id))
    about = next((n for n, line in enumerate(raw_lines) if decode(line, False)[0].type == SESSION_META), None)
    if about is not None:
        raw_lines[about] = _set_copied_lines(raw_lines[about], len(raw_lines))
    first = _line_number(raw_lines[0]) if raw_lines else None
    for n, line in enumerate(raw_lines):
        yield line if first is None else _set_line_number(line, first + n)


def _set_copied_lines(line: bytes, lines: int) -> bytes:
    """Set the number of lines copied from another session in the session's own `line`."""
    record, count = decode(line, False)[0], str(lines).encode()
    own = record.payload
    payload = (
        replace_members(own, {COPIED_LINES: count})
        if COPIED_LINES in record.value()
        else add_member(own, COPIED_LINES, count)
    )
    return payload if own == line else replace_members(line, {"payload": payload})


class _Ordinal(msgspec.Struct):
    ordinal: int | None = None


_ordinal: Final = msgspec.json.Decoder(_Ordinal)


def _line_number(line: bytes) -> int | None:
    try:
        return _ordinal.decode(line).ordinal
    except msgspec.MsgspecError:
        return None


def _set_line_number(line: bytes, number: int) -> bytes:
    line_number = _line_number(line)
    if line_number == number:
        return line
    if line_number is not None:
        return replace_members(line, {"ordinal": str(number).encode()})
    value = canonical.loads(line)
    return canonical.dumps({"timestamp": value.pop("timestamp", ""), "ordinal": number, **value}) + b"\n"


def _iter_new_lines(lines: Sequence[_RolloutLine], session_id: str) -> Iterator[bytes]:
    old = next((line.payload.get("id") for line in lines if line.type == SESSION_META), None)
    is_named = False
    for line in lines:
        if line.type == ITEM:
            for slot in line.slots:
                yield from (_make_item_line(line, value).raw + b"\n" for value in _to_items(chain(*slot.before)))
                if not slot.removed:
                    yield (line.with_payload(slot.new_value) if slot.changes else line.raw) + b"\n"
        elif line.type == SESSION_META and (not is_named or line.payload.get("id") == old):
            # Since 0.137 the client repeats its own record with every turn.
            is_named = True
            yield _rewrite_meta(line, session_id) + b"\n"
        else:
            yield (_rewrite_compaction(line) if line.is_changed else line.raw) + b"\n"


def _make_item_line(near: _RolloutLine, value: Any) -> _RolloutLine:
    item = {"timestamp": near.timestamp, "type": ITEM, "payload": value}
    raw = canonical.dumps(value if near.bare else item)
    return _RolloutLine(raw=raw, type=ITEM, timestamp=near.timestamp, slots=[Slot(value=value)], bare=near.bare)


def _rewrite_meta(line: _RolloutLine, session_id: str) -> bytes:
    payload = line.payload
    new: dict[str, Any] = {key: session_id for key in ("id", "session_id") if isinstance(payload.get(key), str)}
    for slot in line.slots:
        if slot.is_changed:
            base, text = payload.get("base_instructions"), _text_of(slot.new_value)
            new["base_instructions"] = {**base, "text": text} if isinstance(base, dict) else text
    return line.with_payload({**payload, **new})


def _rewrite_compaction(line: _RolloutLine) -> bytes:
    # The client's notes on the history describe the old one (facts §13).
    payload = {key: value for key, value in line.payload.items() if key not in _HISTORY_NOTES}
    if not isinstance(payload.get("replacement_history"), list):
        return line.with_payload({**payload, "message": _text_of(line.slots[0].new_value)})
    history: list[Any] = []
    for slot in line.slots:
        history += [*_to_items(chain(*slot.before)), *([] if slot.removed else [slot.new_value])]
    return line.with_payload({**payload, "replacement_history": history})


def _text_of(value: Any) -> str:
    return str(value.get("text") or "") if isinstance(value, dict) else str(value or "")


def _update_counts(lines: Sequence[_RolloutLine], first: int, order: ResumeOrder) -> list[_RolloutLine]:
    """Remove usage reports from the 0-based line `first` on, and add a new one, if known."""
    remaining = [*lines[:first], *(line for line in lines[first:] if line.type != USAGE and line.kind != _COUNT)]
    if order.input_tokens is None:
        return remaining
    position = max((n for n, piece in enumerate(remaining, 1) if piece.slots), default=len(remaining))
    last = {
        "input_tokens": order.input_tokens,
        "cached_input_tokens": 0,
        "output_tokens": order.answer_tokens,
        "reasoning_output_tokens": 0,
        "total_tokens": order.input_tokens + order.answer_tokens,
    }
    # The new session has used nothing yet.
    usage = {"total_token_usage": dict.fromkeys(last, 0), "last_token_usage": last}
    info = {**usage, "model_context_window": _last_window(lines), ESTIMATED_BY: "ctxtui"}
    timestamp = remaining[position - 1].timestamp
    payload = {"type": _COUNT, "info": info, "rate_limits": None}
    raw = canonical.dumps({"timestamp": timestamp, "type": EVENT, "payload": payload})
    return [
        *remaining[:position],
        _RolloutLine(raw=raw, type=EVENT, timestamp=timestamp, kind=_COUNT),
        *remaining[position:],
    ]


def _last_window(lines: Sequence[_RolloutLine]) -> int | None:
    for line in reversed(lines):
        if line.type == EVENT:
            info = line.payload.get("info")
            window = (info if isinstance(info, dict) else line.payload).get("model_context_window")
            if isinstance(window, int):
                return window
    return None


_VERSION: Final = "0.171.0"
"""Client version whose record format new sessions use (facts §13)."""
_ITEMS: Final[Mapping[str, tuple[str, ...]]] = {
    "message": ("type", "role", "content"),
    "function_call": ("type", "name", "namespace", "arguments", "call_id"),
    "function_call_output": ("type", "call_id", "output"),
    "custom_tool_call": ("type", "name", "namespace", "input", "call_id"),
    "custom_tool_call_output": ("type", "call_id", "output"),
}
"""Items that the client resumes with, and their members that are valid in another session."""
_EVENTS: Final = {"user": "user_message", "assistant": "agent_message"}


def _to_translatable(body: Body, losses: Losses) -> Body:
    remaining: list[Body] = []
    for item in body.get("input", []):
        members = _ITEMS.get(str(item.get("type", "message")))
        if members is None:
            losses.note(f"{item['type']}{ONLY_THERE}")
            continue
        copied = {"type": "message", **{key: item[key] for key in members if key in item}}
        if copied["type"] == "message" and isinstance(copied["content"], str):
            copied["content"] = [_to_responses_part({"type": "text", "text": copied["content"]}, copied["role"])]
        remaining.append(copied)
    if body.get("instructions") or body.get("tools"):
        losses.note(OWN)
    return {"model": body["model"], "input": remaining}


def _write_translated(order: TranslatedOrder) -> ResumedFile:
    session_id, time_text = _make_session_id(next(order.ids), order.now), format_time(order.now)
    meta: Body = {"id": session_id, "timestamp": time_text, "cwd": order.cwd or "/", "originator": "ctxtui"}
    meta |= {"cli_version": _VERSION, "source": "cli", "model_provider": "openai"}
    lines: list[tuple[str, Body]] = [(SESSION_META, meta)]
    for item in order.body["input"]:
        lines.append((ITEM, item))
        text = "\n".join(part["text"] for part in item.get("content", []) if part.get("text"))
        if item["type"] == "message" and item["role"] in _EVENTS and text:
            # The client displays these, and continues from the items.
            lines.append((EVENT, {"type": _EVENTS[item["role"]], "message": text}))
    meta[COPIED_LINES] = len(lines)
    data = b"".join(
        canonical.dumps({"timestamp": time_text, "type": type_, "payload": payload}) + b"\n" for type_, payload in lines
    )
    return ResumedFile(data, (), session_id, file_name(session_id, order.now), _folder(order.now))


TRANSLATION: Final = Translation(RESPONSES, _to_translatable, _write_translated)
