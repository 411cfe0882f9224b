"""OTLP's messages in protobuf as what they are in JSON: one message, several one after another, or each behind its
length, as the collector's file exporter writes them. Only the fields that are read are known here (OTLP 1.x)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.session import Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.opentelemetry.reader import SpanTaker
from ctxtui.transcripts.kit.readers import WholeReader
from ctxtui.transcripts.kit.records import FoundObject

_DEEPEST: Final = 60
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIRST: Final = b"\x0a"
_LENGTH: Final = struct.Struct(">L")
_TRACE_ID: Final = 16

_Field = tuple[int, int, bytes | int]


class _Cut(Exception):
    """The bytes end inside of a message; or they are none."""


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins messages of OTLP."""
    if head[:1] != _FIRST and not (head[:1] == b"\0" and head[4:5] == _FIRST):
        return 0.0
    found, _ = records(head)
    inner = [whole for record in found for listed in record.values() for whole in listed]
    return 0.9 if any(map(_is_told, inner)) else 0.0


def _is_told(whole: Json) -> bool:
    """Whether a resource's part shows what only OTLP has: attributes with names, or a span with a trace's id."""
    held = whole if isinstance(whole, dict) else {}
    resource = held.get("resource")
    pairs = resource.get("attributes") if isinstance(resource, dict) else None
    named = isinstance(pairs, list) and any(isinstance(p, dict) and p.get("key") and p.get("value") for p in pairs)
    spans = [s for scoped in _lists(held.get("scopeSpans")) for s in _lists(scoped.get("spans"))]
    return named or any(len(str(span.get("traceId"))) == 2 * _TRACE_ID for span in spans)


def _lists(value: Json) -> list[dict[str, Json]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def records(data: bytes) -> tuple[list[dict[str, Json]], Skipped | None]:
    """OTLP's JSON for the messages in `data`, and where they break off."""
    found: list[dict[str, Json]] = []
    at = 0
    try:
        if data[:1] == _FIRST:
            for whole, cut in _parts(data):
                found.append(_request(whole, cut))
            return found, None
        while at < len(data):
            if at + _LENGTH.size > len(data):
                raise _Cut
            (size,) = _LENGTH.unpack_from(data, at)
            message = data[at + _LENGTH.size : at + _LENGTH.size + size]
            found += [_request(whole, cut) for whole, cut in _parts(message)]
            if len(message) < size:
                raise _Cut
            at += _LENGTH.size + size
    except _Cut:
        return found, Skipped(1, "cut off: the messages of OTLP break off or are damaged")
    return found, None


def _parts(message: bytes) -> Iterator[tuple[bytes, bool]]:
    """The parts of a message, one a resource; a last one that is cut as far as it goes, and that it is."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key != _FIRST[0]:
            raise _Cut
        size, at = _varint(message, at)
        yield message[at : at + size], at + size > len(message)
        if at + size > len(message):
            raise _Cut
        at += size


def _request(whole: bytes, cut: bool) -> dict[str, Json]:
    """A resource with its spans or its log records."""
    resource: dict[str, Json] = {}
    scoped: list[dict[str, Json]] = []
    for number, wire, value in _fields(whole, cut):
        if wire == _BYTES and isinstance(value, bytes):
            if number == 1:
                resource = {"attributes": _pairs(value, 1)}
            elif number == 2:
                scoped.append(_scope(value, cut))
    logs = any("logRecords" in part for part in scoped)
    inner: dict[str, Json] = {"resource": resource, "scopeLogs" if logs else "scopeSpans": list(scoped)}
    return {"resourceLogs" if logs else "resourceSpans": [inner]}


def _scope(data: bytes, cut: bool) -> dict[str, Json]:
    made: dict[str, Json] = {}
    spans: list[Json] = []
    logs: list[Json] = []
    for number, wire, value in _fields(data, cut):
        if wire != _BYTES or not isinstance(value, bytes):
            continue
        if number == 1:
            made["scope"] = {"name": next((_text(v) for n, _, v in _fields(value, True) if n == 1), "")}
        elif number == 2:
            # A log record begins with its time, a span with its trace's id.
            first = next(_fields(value, True), (0, 0, 0))
            is_log = first[:2] in ((1, _FIXED64), (2, _VARINT), (11, _FIXED64))
            (logs if is_log else spans).append(_log(value) if is_log else _span(value))
    return {**made, **({"logRecords": logs} if logs else {"spans": spans})}


def _span(data: bytes) -> dict[str, Json]:
    made: dict[str, Json] = {"attributes": [], "events": []}
    for number, _, value in _fields(data, True):
        match number, value:
            case ((1 | 2 | 4), bytes()):
                made[{1: "traceId", 2: "spanId", 4: "parentSpanId"}[number]] = value.hex()
            case 5, bytes():
                made["name"] = _text(value)
            case ((7 | 8), int()):
                made["startTimeUnixNano" if number == 7 else "endTimeUnixNano"] = value
            case 9, bytes():
                made["attributes"] = [*_list(made["attributes"]), _pair(value, _DEEPEST)]
            case 11, bytes():
                made["events"] = [*_list(made["events"]), _event(value)]
            case 15, bytes():
                held = {n: v for n, _, v in _fields(value, True)}
                made["status"] = {"message": _text(held.get(2, b"")), "code": held.get(3, 0)}
    return made


def _event(data: bytes) -> dict[str, Json]:
    made: dict[str, Json] = {"attributes": _pairs(data, 3)}
    for number, _, value in _fields(data, True):
        if number == 1 and isinstance(value, int):
            made["timeUnixNano"] = value
        elif number == 2:
            made["name"] = _text(value)
    return made


def _log(data: bytes) -> dict[str, Json]:
    made: dict[str, Json] = {"attributes": _pairs(data, 6)}
    for number, _, value in _fields(data, True):
        match number, value:
            case ((1 | 11), int()):
                made["timeUnixNano" if number == 1 else "observedTimeUnixNano"] = value
            case 5, bytes():
                made["body"] = _any(value, _DEEPEST)
            case ((9 | 10), bytes()):
                made["traceId" if number == 9 else "spanId"] = value.hex()
            case 12, bytes():
                made["eventName"] = _text(value)
    return made


def _pairs(data: bytes, field: int, depth: int = _DEEPEST) -> list[Json]:
    return [_pair(v, depth) for n, _, v in _fields(data, True) if n == field and isinstance(v, bytes)]


def _pair(data: bytes, depth: int) -> dict[str, Json]:
    made: dict[str, Json] = {"key": "", "value": None}
    for number, _, value in _fields(data, True):
        if isinstance(value, bytes):
            made["key" if number == 1 else "value"] = _text(value) if number == 1 else _any(value, depth - 1)
    return made


def _any(data: bytes, depth: int) -> Json:
    for number, _, value in _fields(data, True):
        match number, value:
            case 1, bytes():
                return {"stringValue": _text(value)}
            case 2, int():
                return {"boolValue": bool(value)}
            case 3, int():
                return {"intValue": value - (1 << 64) if value >> 63 else value}
            case 4, int():
                return {"doubleValue": struct.unpack("<d", struct.pack("<Q", value))[0]}
            case 5, bytes() if depth > 0:
                inner = [_any(v, depth - 1) for n, _, v in _fields(value, True) if n == 1 and isinstance(v, bytes)]
                return {"arrayValue": {"values": inner}}
            case 6, bytes() if depth > 0:
                return {"kvlistValue": {"values": _pairs(value, 1, depth - 1)}}
    return None


def _fields(data: bytes, cut: bool) -> Iterator[_Field]:
    """The fields of a message: (number, wire type, value). With `cut` it may end anywhere."""
    at = 0
    try:
        while at < len(data):
            key, at = _varint(data, at)
            number, wire = key >> 3, key & 7
            if wire == _VARINT:
                value, at = _varint(data, at)
                yield number, wire, value
                continue
            size = 8 if wire == _FIXED64 else 4 if wire == _FIXED32 else -1
            if wire == _BYTES:
                size, at = _varint(data, at)
            if size < 0:
                raise _Cut
            held = data[at : at + size]
            if len(held) == size or wire == _BYTES:
                yield number, wire, held if wire == _BYTES else int.from_bytes(held, "little")
            if len(held) < size:
                raise _Cut
            at += size
    except _Cut:
        if not cut:
            raise


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise _Cut


def _text(value: bytes | int) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    taker = SpanTaker(tree)
    found, tail = records(data)
    for record in found:
        list(taker.record(record, FoundObject(1, 0, len(data), b"", None)))
    return list(taker.standing()), tail


def reader(tree: Tree) -> WholeReader:
    """A reader of OTLP's messages."""
    return WholeReader(tree, _parse)
