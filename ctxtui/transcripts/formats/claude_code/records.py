"""The typed records of a Claude Code session file (facts §11).

The format changes between versions, so every field may be missing or of another type.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

_NOTHING: Final = Raw(b"")


_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_BEFORE_REQUESTS: Final = (2, 1, 280)
"""The newest version known not to record its requests (facts §13.1)."""


@lru_cache(maxsize=64)
def is_newer(version: str | None, than: tuple[int, int, int]) -> bool:
    """Whether a client of this version may be newer than another; True for an unknown version."""
    match = _VERSION.match(version or "")
    return match is None or tuple(map(int, match.groups())) > than


@lru_cache(maxsize=64)
def records_requests(version: str | None) -> bool:
    return is_newer(version, _BEFORE_REQUESTS)


class MessageFields(msgspec.Struct, gc=False):
    """The message in a record, with content and usage as JSON text."""

    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: Raw = _NOTHING
    usage: Raw = _NOTHING
    stop_reason: str | None = None


class ClaudeRecord(msgspec.Struct, rename="camel", gc=False):
    """One record. JSON that is rarely needed stays raw: read it with `json`."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | UnsetType | None = UNSET
    session_id: str | None = None
    agent_id: str | None = None
    timestamp: str | float | None = None
    cwd: str | None = None
    version: str | None = None
    entrypoint: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    request_id: str | None = None
    request_ref: str | None = None
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")
    message: MessageFields | None = None
    content: Raw = _NOTHING
    data: Raw = _NOTHING
    attachment: Raw = _NOTHING
    rendered: Raw = _NOTHING
    rendered_role: str | None = None
    error: Raw = _NOTHING
    tool_use_result: Raw = _NOTHING
    compact_metadata: Raw = _NOTHING
    microcompact_metadata: Raw = _NOTHING
    replacements: Raw = _NOTHING
    operation: str | None = None
    summary: str | None = None
    leaf_uuid: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    copied_by: str | None = None
    loose: dict[str, Any] | None = msgspec.field(default=None, name="(read leniently)")
    """The whole record as JSON value, if it had to be read leniently."""

    def json(self, key: str) -> Json:
        """Return the JSON value of a raw field, by its name in the file; None if it is missing."""
        if self.loose is not None:
            return self.loose.get(key)
        raw = bytes(getattr(self, _FIELD[key]))
        return canonical.loads(raw) if raw else None


_FIELDS: Final = {field.encode_name: field for field in msgspec.structs.fields(ClaudeRecord)}
_FIELD: Final = {name: field.name for name, field in _FIELDS.items()}
_decoder: Final = msgspec.json.Decoder(ClaudeRecord)


def decode_strictly(raw: bytes) -> ClaudeRecord:
    """Decode a JSON object; raises `msgspec.MsgspecError` for a field of an unexpected type."""
    return _decoder.decode(raw)


def decode(raw: bytes) -> ClaudeRecord:
    """Decode a JSON object; fields of an unexpected type are only in `json`."""
    try:
        return _decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return record_from_value(canonical.loads(raw))


def record_from_value(value: dict[str, Json]) -> ClaudeRecord:
    fields = {}
    for name, item in value.items():
        field = _FIELDS.get(name)
        if field is not None and field.type is not Raw and name != "message":
            try:
                fields[field.name] = msgspec.convert(item, field.type)
            except (msgspec.ValidationError, UnicodeError):
                continue
    return ClaudeRecord(**{**fields, "loose": value})
