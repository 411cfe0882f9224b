"""OTLP's JSON as the bytes of its messages in protobuf, which every collector takes; `protobuf` reads them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.fields import obj, objects, word

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_WHOLE: Final = (1 << 64) - 1


def encoded(request: Json) -> bytes:
    """A request with spans."""
    return b"".join(_held(1, _resource(one)) for one in objects(obj(request).get("resourceSpans")))


def _resource(whole: dict[str, Json]) -> bytes:
    resource = _held(1, _pairs(1, obj(whole.get("resource")).get("attributes")))
    return resource + b"".join(_held(2, _scope(one)) for one in objects(whole.get("scopeSpans")))


def _scope(scoped: dict[str, Json]) -> bytes:
    scope = _held(1, _text(1, word(obj(scoped.get("scope")).get("name"))))
    return scope + b"".join(_held(2, _span(one)) for one in objects(scoped.get("spans")))


def _span(span: dict[str, Json]) -> bytes:
    made = _held(1, bytes.fromhex(word(span.get("traceId")))) + _held(2, bytes.fromhex(word(span.get("spanId"))))
    made += _text(5, word(span.get("name"))) + _number(6, span.get("kind"))
    made += _fixed(7, span.get("startTimeUnixNano")) + _fixed(8, span.get("endTimeUnixNano"))
    made += _pairs(9, span.get("attributes"))
    status = obj(span.get("status"))
    return made + (_held(15, _text(2, word(status.get("message"))) + _number(3, status.get("code"))) if status else b"")


def _pairs(field: int, pairs: Json) -> bytes:
    return b"".join(
        _held(field, _text(1, word(one.get("key"))) + _held(2, _any(one.get("value")))) for one in objects(pairs)
    )


def _any(value: Json) -> bytes:
    for kind, inner in obj(value).items():
        if kind == "stringValue":
            return _held(1, word(inner).encode("utf-8", "replace"))
        if kind == "boolValue":
            return _key(2, _VARINT) + _varint(int(inner is True))
        if kind == "intValue":
            return _key(3, _VARINT) + _varint(int(str(inner)) & _WHOLE)
        if kind == "doubleValue" and isinstance(inner, float):
            return _key(4, _FIXED64) + struct.pack("<d", inner)
        if kind == "arrayValue":
            return _held(5, b"".join(_held(1, _any(one)) for one in objects(obj(inner).get("values"))))
    return b""


def rejected(answer: bytes) -> tuple[int, str]:
    """What a collector's answer says: how many spans it did not take, and why."""
    count, why = 0, ""
    for number, value in _fields(answer):
        if number == 1 and isinstance(value, bytes):
            for inner, told in _fields(value):
                count = told if inner == 1 and isinstance(told, int) else count
                why = told.decode("utf-8", "replace") if inner == 2 and isinstance(told, bytes) else why
    return count, why


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _read(data, at)
        value, at = _read(data, at)
        if key & 7 == _BYTES:
            yield key >> 3, data[at : at + value]
            at += value
        elif key & 7 == _VARINT:
            yield key >> 3, value
        else:
            return  # nothing of this kind is in such an answer


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, at


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _held(field: int, data: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _held(field, text.encode("utf-8", "replace")) if text else b""


def _number(field: int, value: Json) -> bytes:
    return _key(field, _VARINT) + _varint(value) if isinstance(value, int) and value > 0 else b""


def _fixed(field: int, value: Json) -> bytes:
    return _key(field, _FIXED64) + struct.pack("<Q", int(str(value)) & _WHOLE)
