"""The lines of a Codex rollout: ``{timestamp, type, payload}``; bare items in the files of 2025 (facts §11)."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.fields import word

META: Final = "session_meta"
ITEM: Final = "response_item"
EVENT: Final = "event_msg"
USAGE: Final = "token_usage_record"
COPIED_LINES: Final = "copied_lines"
"""The member of a session's first record that says how many lines ctxtui copied from another session."""
UNSENT: Final = frozenset({"world_state", "inter_agent_communication_metadata"})
"""Records of what the client keeps for itself (facts §13): nothing of them stands before the model."""
TYPES: Final = frozenset({META, ITEM, "turn_context", EVENT, "compacted", USAGE}) | UNSENT
_OLD: Final = "old"


class CodexRecord(Struct):
    """One record. `payload` is its JSON text, canonical if `clean`; `timestamp` is ISO text ("" for none)."""

    type: str
    payload: bytes
    timestamp: str
    clean: bool

    def value(self) -> dict[str, Json]:
        """The payload as JSON object; empty if it is none."""
        found = canonical.loads(self.payload) if self.payload else {}
        return found if isinstance(found, dict) else {}


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
    """The records that the JSON object `raw` is; the first rollouts of all were one object with many."""
    try:
        line = _line.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return _leniently(canonical.loads(raw))
    payload = bytes(line.payload)
    if payload[:1] == b"{" and (line.type or "") != "":
        return [CodexRecord(line.type or "", payload, line.timestamp or "", clean)]
    if bytes(line.items)[:1] == b"[" and bytes(line.session)[:1] == b"{":
        return _leniently(canonical.loads(raw))
    return [CodexRecord(_bare_type(line.type, line.role, line.record_type), raw, line.timestamp or "", clean)]


def _leniently(value: dict[str, Json]) -> list[CodexRecord]:
    session, items = value.get("session"), value.get("items")
    if isinstance(session, dict) and isinstance(items, list):
        first = CodexRecord(META, canonical.dumps(session), word(session.get("timestamp")), True)
        return [first, *(record for item in items if isinstance(item, dict) for record in _leniently(item))]
    type_, stamp, payload = word(value.get("type")), word(value.get("timestamp")), value.get("payload")
    if isinstance(payload, dict) and type_:
        return [CodexRecord(type_, canonical.dumps(payload), stamp, False)]
    kind = _bare_type(type_, word(value.get("role")), word(value.get("record_type")))
    return [CodexRecord(kind, canonical.dumps(value), stamp, False)]


def _bare_type(type_: str | None, role: str | None, record_type: str | None) -> str:
    # A bare line is an item if it has an item's type (or a role), a state mark, or the first line: the session.
    if record_type:
        return record_type
    if type_ in TYPES:
        return f"{_OLD} {type_}"
    return ITEM if type_ or role else META
