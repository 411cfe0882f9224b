"""Parses the lines of a Codex rollout, and converts their items to blocks (facts §11).

A line is ``{timestamp, type, payload}``, or a bare item in the files of 2025.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Raw, Struct, field

from ctxtui.core import block_content, canonical
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_str
from ctxtui.transcripts.kit import raw_block
from ctxtui.wire.grammar import item_role, split_item
from ctxtui.wire.input_items import AGENT_ITEM, TOOLS_ITEM

SESSION_META: Final = "session_meta"
ITEM: Final = "response_item"
EVENT: Final = "event_msg"
USAGE: Final = "token_usage_record"
UNSENT: Final = frozenset({"world_state", "inter_agent_communication_metadata"})
"""Records of the client's own state, which is not sent to the model (facts §13)."""
TYPES: Final = frozenset({SESSION_META, ITEM, "turn_context", EVENT, "compacted", USAGE}) | UNSENT
_OLD: Final = "old"
"""Prefix for the type of a bare line that would need a payload in newer files; such lines are ignored."""


class CodexRecord(Struct):
    """One record.

    `payload` is its JSON text, canonical if `clean`; `timestamp` is ISO text ("" for none).
    """

    type: str
    payload: bytes
    timestamp: str
    clean: bool

    def value(self) -> dict[str, Json]:
        """Parse the payload; empty if it is not an object."""
        value = canonical.loads(self.payload) if self.payload else {}
        return value if isinstance(value, dict) else {}


class _Line(msgspec.Struct):
    type: str | None = None
    timestamp: str | None = None
    payload: Raw = Raw(b"")
    record_type: str | None = None
    role: str | None = None
    session: Raw = Raw(b"")
    items: Raw = Raw(b"")


_line: Final = msgspec.json.Decoder(_Line)


def decode(raw: bytes, clean: bool) -> list[CodexRecord]:
    """Parse the JSON object `raw` to records; the very first rollouts were one object with many."""
    try:
        line = _line.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return _decode_leniently(canonical.loads(raw))
    payload = bytes(line.payload)
    if payload[:1] == b"{" and (line.type or "") != "":
        return [CodexRecord(line.type or "", payload, line.timestamp or "", clean)]
    if bytes(line.items)[:1] == b"[" and bytes(line.session)[:1] == b"{":
        return _decode_leniently(canonical.loads(raw))
    return [CodexRecord(_bare_type(line.type, line.role, line.record_type), raw, line.timestamp or "", clean)]


def _decode_leniently(value: dict[str, Json]) -> list[CodexRecord]:
    session, items = value.get("session"), value.get("items")
    if isinstance(session, dict) and isinstance(items, list):
        first = CodexRecord(SESSION_META, canonical.dumps(session), as_str(session.get("timestamp")), True)
        return [first, *(record for item in items if isinstance(item, dict) for record in _decode_leniently(item))]
    type_, stamp, payload = as_str(value.get("type")), as_str(value.get("timestamp")), value.get("payload")
    if isinstance(payload, dict) and type_:
        return [CodexRecord(type_, canonical.dumps(payload), stamp, False)]
    kind = _bare_type(type_, as_str(value.get("role")), as_str(value.get("record_type")))
    return [CodexRecord(kind, canonical.dumps(value), stamp, False)]


def _bare_type(type_: str | None, role: str | None, record_type: str | None) -> str:
    # A bare line is a state mark (`record_type`), an item (a type or a role), or else the first line: the session.
    if record_type:
        return record_type
    if type_ in TYPES:
        return f"{_OLD} {type_}"
    return ITEM if type_ or role else SESSION_META


MEMORY, META, SUMMARY = "memory", "meta", "summary"

_UNSENT_ITEMS: Final = frozenset({"ghost_snapshot"})
PASSTHROUGH: Final = "internal_chat_message_metadata_passthrough"
BASE: Final = "model.base_instructions"
"""The client's kind for the text in ``base_instructions`` of `session_meta` (facts §13)."""
_SUMMARY_KIND: Final = "compaction.summary"
_MEMORY_KIND: Final = "agents_md."
_PERSON_KIND: Final = "user."
_UNKNOWN_KIND: Final = "unknown"
# Older clients do not record the kind of a part: their own messages are wrapped in one tag; the project's instructions
# have a headline.
_WRAPPED: Final = re.compile(r"\s*<([a-zA-Z_]+)(?:\s[^>]*)?>.*</\1>\s*\Z", re.DOTALL)
_MEMORIES: Final = ("# AGENTS.md instructions", "<user_instructions>")
_SUMMARIES: Final = ("Another language model started to solve this problem",)


_SPLIT: Final = frozenset({None, "message", AGENT_ITEM, TOOLS_ITEM})
"""Items that are more than one block."""


class _Head(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    id: str | None = None
    call_id: str | None = None


_head: Final = msgspec.json.Decoder(_Head)


class CodexMessage(Struct, kw_only=True):
    """One item: its blocks, and whether the model wrote it.

    - `id`: the provider's id of its call, else of the item; "" for none, and for one too short to be unique.
    - `answers`: it is the result of a tool call.
    - `words`: a person's text in it.
    - `asks`: it is to be answered.
    - `base`: it has the base instructions.
    """

    items: list[Item] = field(default_factory=list)
    by_model: bool = False
    answers: bool = False
    id: str = ""
    words: str = ""
    asks: bool = False
    base: bool = False


def parse_item(raw: bytes, clean: bool) -> CodexMessage:
    """Parse the item whose JSON text is `raw`, canonical if `clean`."""
    try:
        head = _head.decode(raw)
        is_single = head.type and head.type not in _SPLIT and head.type not in _UNSENT_ITEMS
        if clean and head.role is None and head.type and is_single:
            place = Place("messages", item_role(head.type, {}))
            return _single_block_message(Item(raw_block.from_part(raw, head.type, True), place), head.id, head.call_id)
    except msgspec.MsgspecError:
        pass
    return item_from_value(canonical.loads(raw))


def item_from_value(value: Json) -> CodexMessage:
    """Convert an item in decoded form; empty if the client does not send it."""
    kind = value.get("type", "message") if isinstance(value, dict) else ""
    if isinstance(kind, str) and kind in _UNSENT_ITEMS:
        return CodexMessage()
    items = [part.item for part in split_item(value, "$")]
    if not items or items[0].block.kind != HEADER:
        fields = value if isinstance(value, dict) else {}
        return _single_block_message(items[0], fields.get("id"), fields.get("call_id"))
    role = items[0].place.role
    kinds = _part_kinds(value, len(items) - 1)
    message = CodexMessage(
        items=[items[0]], by_model=role == "assistant", id=_provider_id(value.get("id")), base=BASE in kinds
    )
    for item, part_kind in zip(items[1:], kinds, strict=True):
        text = block_content.read(item.block).text if role == "user" else ""
        mark = _mark_of_kind(part_kind, text) if role == "user" else ""
        message.items.append(Item(item.block, item.place._replace(mark=mark)) if mark else item)
        if role == "user" and not mark:
            message.words, message.asks = message.words or text, True
    if kind == AGENT_ITEM:
        # Not a person's text, so it cannot be the title.
        message.words = ""
    return message


def _part_kinds(value: dict[str, Json], count: int) -> list[str]:
    """The client's kind of each of the `count` parts; "" if not recorded."""
    notes = value.get(PASSTHROUGH)
    kinds = notes.get("content_item_kinds") if isinstance(notes, dict) else None
    if not isinstance(kinds, list) or len(kinds) != count:
        return [""] * count
    return [kind if isinstance(kind, str) and kind != _UNKNOWN_KIND else "" for kind in kinds]


def _mark_of_kind(kind: str, text: str) -> str:
    if not kind:
        return text_mark(text)
    if kind.startswith(_PERSON_KIND):
        return ""
    return SUMMARY if kind == _SUMMARY_KIND else MEMORY if kind.startswith(_MEMORY_KIND) else META


def _single_block_message(item: Item, id_: Json, call_id: Json) -> CodexMessage:
    role = item.place.role
    return CodexMessage(
        items=[item],
        by_model=role == "assistant",
        answers=role == "tool",
        id=_provider_id(call_id) or _provider_id(id_),
    )


def _provider_id(value: Json) -> str:
    # A masked recording may have the same word for every id.
    return value if isinstance(value, str) and len(value) >= 16 else ""


def text_mark(text: str) -> str:
    """Return the mark of a user's text that the client inserted; "" for a person's text."""
    start = text.lstrip()
    if start.startswith(_MEMORIES):
        return MEMORY
    if start.startswith(_SUMMARIES):
        return SUMMARY
    return META if start.startswith("<") and _WRAPPED.match(text) else ""
