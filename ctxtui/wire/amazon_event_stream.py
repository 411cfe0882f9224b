"""Reads Amazon's event stream, as Bedrock streams answers.

A message is its length, the length of its headers, the CRC32 of these 8 bytes, headers, a JSON payload, and the CRC32
of everything before it. Numbers are big-endian (Amazon Transcribe, *event stream encoding*).
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.wire.sse import ServerEvent

_PRELUDE: Final = struct.Struct(">III")
"""The length of a message, the length of its headers, and the CRC32 of both."""
_CHECKSUM: Final = 4
_MAX_MESSAGE: Final = 24 << 20
"""More than the 16 MB of payload and 128 KB of headers that AWS documents."""
_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type. Type 6 or 7 (bytes, string) has its size in the two bytes before it."""
_NAMES: Final = (":event-type", ":exception-type", ":error-code")


def is_event_stream(data: bytes) -> bool:
    """Whether `data` begins with a prelude: plausible lengths, and their checksum."""
    if len(data) < _PRELUDE.size:
        return False
    length, headers, checksum = _PRELUDE.unpack_from(data)
    return bool(headers <= length <= _MAX_MESSAGE and zlib.crc32(data[:8]) == checksum)


def parse_event_stream(data: bytes) -> list[ServerEvent]:
    """Parse the events of a recorded stream, up to the first message that is cut off or damaged.

    A model's own event in a payload (``{"bytes": ...}``) is unwrapped, and named by its ``type``, if it has one.
    """
    return list(_read_messages(data))


def _read_messages(data: bytes) -> Iterator[ServerEvent]:
    offset = 0
    while is_event_stream(data[offset : offset + _PRELUDE.size]):
        length, size, _ = _PRELUDE.unpack_from(data, offset)
        message = data[offset : offset + length]
        if len(message) < length or length < _PRELUDE.size + size + _CHECKSUM:
            return
        if zlib.crc32(message[:-_CHECKSUM]) != int.from_bytes(message[-_CHECKSUM:], "big"):
            return
        start = _PRELUDE.size + size
        headers = _read_headers(message[_PRELUDE.size : start])
        name = next((headers[key] for key in _NAMES if key in headers), "")
        yield _unwrap(ServerEvent(name, message[start:-_CHECKSUM].decode("utf-8", "replace")))
        offset += length


def _read_headers(data: bytes) -> dict[str, str]:
    """The headers that are strings."""
    headers: dict[str, str] = {}
    offset = 0
    while offset < len(data):
        end = offset + 1 + data[offset]
        name, kind = data[offset + 1 : end].decode("utf-8", "replace"), data[end] if end < len(data) else -1
        offset = end + 1
        if kind in (6, 7):
            size = int.from_bytes(data[offset : offset + 2], "big")
            offset += 2
            if kind == 7:
                headers[name] = data[offset : offset + size].decode("utf-8", "replace")
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            return headers
        offset += size
    return headers


def _unwrap(event: ServerEvent) -> ServerEvent:
    value = event.value()
    inner = value.get("bytes") if isinstance(value, dict) else None
    if not isinstance(inner, str):
        return event
    try:
        data = base64.b64decode(inner, validate=True).decode("utf-8", "replace")
        payload = canonical.loads(data)
    except (binascii.Error, ValueError, RecursionError):
        return event
    kind = payload.get("type") if isinstance(payload, dict) else None
    return ServerEvent(kind if isinstance(kind, str) else event.name, data)
