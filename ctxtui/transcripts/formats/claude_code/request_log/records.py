"""The records in which Claude Code (2.1.300 and newer) writes down its requests, typed (facts §13.1)."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

SHAPE: Final = "api-request-shape"
BLOB: Final = "api-request-blob"
REQUEST: Final = "api-request"
KINDS: Final = frozenset({SHAPE, BLOB, REQUEST})


class RequestRecord(msgspec.Struct, rename="camel"):
    """A record of any of the three kinds. A shape has system texts and tools, a blob one message, a request the hashes
    of its messages: the first `keep` ones of the request `base`, then `tail`."""

    type: str
    id: str = ""
    hash: str = ""
    message: Raw = Raw(b"null")
    shape_hash: str = ""
    shape: Raw = Raw(b"null")
    base: str | None = None
    keep: int = 0
    tail: list[str] = []
    params: Raw = Raw(b"{}")
    withheld: Raw = Raw(b"null")
    cut: Raw = Raw(b"null")
    cache_control: Raw = Raw(b"[]")
    query_source: str | None = None
    request_digest: str | None = None
    timestamp: str | float | None = None


_decoder: Final = msgspec.json.Decoder(RequestRecord)


def decode_request(raw: bytes) -> RequestRecord:
    """The record in the JSON object `raw`. Raises `msgspec.MsgspecError` where a member has another type."""
    return _decoder.decode(raw)


class RecordedMarker(NamedTuple):
    """A cache marker: `path` from the body's top (``("messages", 1, "content", 0)``), and its value."""

    path: tuple[str | int, ...]
    value: Json


def recorded_markers(record: RequestRecord) -> list[RecordedMarker]:
    """The cache markers of a request record; what has another form has an empty path."""
    listed = canonical.loads(bytes(record.cache_control))
    found = []
    for one in listed if isinstance(listed, list) else [listed]:
        path = one.get("path") if isinstance(one, dict) else None
        steps = path if isinstance(path, list) else []
        plain = all(type(step) in (str, int) for step in steps)
        found.append(RecordedMarker(tuple(steps) if plain else (), one.get("value") if isinstance(one, dict) else one))
    return found
