"""Converts OTLP's protobuf messages to OTLP's JSON, and back.

Input is one message, several concatenated, or each after its length, as the collector's file exporter writes them. A
cut message is read as far as possible, and so is text that is not UTF-8; protobuf's own library refuses both.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.core.session import Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.opentelemetry.reader import SpanCollector
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.readers import whole_reader
from ctxtui.transcripts.kit.records import RawRecord

_FIELDS: Final = {
    message: {int(number): (name, kind) for number, name, kind in (field.split() for field in fields.split(","))}
    for message, _, fields in (line.partition(":") for line in """\
Request: 1 resourceSpans ResourceSpans*
ResourceSpans: 1 resource Resource, 2 scopeSpans ScopeSpans*
Resource: 1 attributes KeyValue*
ScopeSpans: 1 scope Scope, 2 spans Span*
Scope: 1 name text
Span: 1 traceId hex, 2 spanId hex, 4 parentSpanId hex, 5 name text, 6 kind int, 7 startTimeUnixNano fixed,\
 8 endTimeUnixNano fixed, 9 attributes KeyValue*, 11 events Event*, 15 status Status
Event: 1 timeUnixNano fixed, 2 name text, 3 attributes KeyValue*
Status: 2 message text, 3 code int
LogRecord: 1 timeUnixNano fixed, 5 body AnyValue, 6 attributes KeyValue*, 9 traceId hex, 10 spanId hex,\
 11 observedTimeUnixNano fixed, 12 eventName text
KeyValue: 1 key text, 2 value AnyValue
AnyValue: 1 stringValue text, 2 boolValue bool, 3 intValue int, 4 doubleValue double, 5 arrayValue Array,\
 6 kvlistValue List
Array: 1 values AnyValue*
List: 1 values KeyValue*
Answer: 1 partialSuccess PartialSuccess
PartialSuccess: 1 rejectedSpans int, 2 errorMessage text""".splitlines())
}  # fmt: skip
"""Supported fields of OTLP 1.x: by message and number a field's JSON name and its kind, ``*`` for several."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_DOUBLE: Final = struct.Struct("<d")
_LENGTH: Final = struct.Struct(">L")
_WHOLE: Final = (1 << 64) - 1
_SCALARS: Final[dict[str, tuple[int, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "text": (_BYTES, lambda data: data.decode("utf-8", "replace"), lambda text: text.encode("utf-8", "replace")),
    "hex": (_BYTES, bytes.hex, bytes.fromhex),
    "int": (_VARINT, lambda value: value - (value >> 63 << 64), int),
    "bool": (_VARINT, bool, int),
    "fixed": (_FIXED64, int, int),
    "double": (
        _FIXED64,
        lambda value: _DOUBLE.unpack(value.to_bytes(8, "little"))[0],
        lambda value: int.from_bytes(_DOUBLE.pack(value), "little"),
    ),
}
"""Kind of a scalar -> its wire type, and functions that decode and encode its wire value (bytes or a whole number)."""
_STRICT: Final = ("Request", "ResourceSpans", "ScopeSpans")
"""Messages in which damage ends all reading; in others it ends only that message."""
_LOG: Final = (b"\x09", b"\x10", b"\x59")
"""Start of a log record, a time or a severity; a span begins with its trace id."""
_FIRST: Final = b"\x0a"
"""Start of a request: the key of its first field, ``resourceSpans``."""
_DEEPEST: Final = 60
"""Levels of values inside values; deeper ones are left out."""
_TRACE_ID: Final = 32


class _CutMessage(Exception):
    """The bytes end inside a message, or are not a message."""


def sniff(head: bytes, name: str) -> float:
    if head[:1] != _FIRST and not (head[:1] == b"\0" and head[4:5] == _FIRST):
        return 0.0
    requests, _ = _decode_requests(head)
    resource_parts = [part for request in requests for member in request.values() for part in as_dicts(member)]
    return 0.9 if any(map(_has_otlp_features, resource_parts)) else 0.0


def _has_otlp_features(resource_part: dict[str, Json]) -> bool:
    """Whether a resource's part has named attributes, or a span with a trace id."""
    named = any(
        pair.get("key") and pair.get("value")
        for pair in as_dicts(as_dict(resource_part.get("resource")).get("attributes"))
    )
    spans = [span for scoped in as_dicts(resource_part.get("scopeSpans")) for span in as_dicts(scoped.get("spans"))]
    return named or any(len(str(span.get("traceId"))) == _TRACE_ID for span in spans)


def _decode_requests(data: bytes) -> tuple[list[dict[str, Json]], Skipped | None]:
    """Convert messages to OTLP's JSON, one for each resource; report if they break off."""
    request: dict[str, Json] = {}
    tail = None
    try:
        for message in [data] if data[:1] == _FIRST else _split_messages(data):
            _read_message(message, "Request", request)
    except _CutMessage:
        tail = Skipped(1, "cut off: the messages of OTLP break off or are damaged")
    return [_wrap_request(resource_part) for resource_part in as_dicts(request.get("resourceSpans"))], tail


def _split_messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages, each after its length; the last one may be cut."""
    offset = 0
    while offset < len(data):
        if offset + _LENGTH.size > len(data):
            raise _CutMessage
        end = offset + _LENGTH.size + _LENGTH.unpack_from(data, offset)[0]
        yield data[offset + _LENGTH.size : end]
        if end > len(data):
            raise _CutMessage
        offset = end


def _wrap_request(resource_part: dict[str, Json]) -> dict[str, Json]:
    scoped = as_dicts(resource_part.get("scopeSpans"))
    if any("logRecords" in scope for scope in scoped):
        return {"resourceLogs": [{"resource": resource_part.get("resource"), "scopeLogs": scoped}]}
    return {"resourceSpans": [resource_part]}


def _read_message(data: bytes, message: str, decoded: dict[str, Json], depth: int = _DEEPEST) -> None:
    """Read a message into `decoded`; everything before damage is read.

    `depth`: levels of nested values that are still allowed. Raises `_CutMessage` if one of the `_STRICT` messages is
    damaged.
    """
    try:
        for number, wire, value in _iter_fields(data):
            name, kind = _FIELDS[message].get(number, ("", ""))
            if kind in _SCALARS:
                if wire == _SCALARS[kind][0]:
                    decoded[name] = _SCALARS[kind][1](value)
            elif kind and isinstance(value, bytes) and depth:
                if kind == "Span*" and value[:1] in _LOG:
                    name, kind = "logRecords", "LogRecord*"
                inner: dict[str, Json] = {}
                if kind.endswith("*"):
                    decoded.setdefault(name, []).append(inner)
                else:
                    decoded[name] = inner
                _read_message(value, kind.rstrip("*"), inner, depth - (message == "AnyValue"))
                if kind == "AnyValue" and not inner:
                    decoded[name] = None
    except _CutMessage:
        if message in _STRICT:
            raise


def _iter_fields(data: bytes) -> Iterator[tuple[int, int, bytes | int]]:
    """Yield the fields of a message: (number, wire type, value).

    Raises `_CutMessage` after the last one if it may be cut.
    """
    offset = 0
    while offset < len(data):
        key, offset = _read_varint(data, offset)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, offset = _read_varint(data, offset)
            yield number, wire, value
            continue
        if wire != _BYTES and wire not in _SIZES:
            raise _CutMessage
        size, offset = _read_varint(data, offset) if wire == _BYTES else (_SIZES[wire], offset)
        payload = data[offset : offset + size]
        offset += size
        if wire == _BYTES:
            yield number, wire, payload
        elif offset <= len(data):
            yield number, wire, int.from_bytes(payload, "little")
        if offset > len(data):
            raise _CutMessage


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while offset < len(data) and shift < 70:
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return value & _WHOLE, offset
    raise _CutMessage


def encode(request: dict[str, Json]) -> bytes:
    """Encode a request in OTLP's JSON form as protobuf."""
    return _encode_value("Request", request)


def _encode_value(kind: str, value: Json) -> bytes:
    if kind in _SCALARS:
        wire, _, to_wire = _SCALARS[kind]
        wire_value: bytes | int = to_wire(value)
        if isinstance(wire_value, bytes):
            return wire_value
        return _encode_varint(wire_value & _WHOLE) if wire == _VARINT else (wire_value & _WHOLE).to_bytes(8, "little")
    encoded = b""
    for number, (name, inner) in _FIELDS[kind].items():
        member = as_dict(value).get(name)
        for item in as_list(member) if inner.endswith("*") else [member]:
            if item is not None:
                wire = _SCALARS.get(inner, (_BYTES,))[0]
                data = _encode_value(inner.rstrip("*"), item)
                encoded += (
                    _encode_varint(number << 3 | wire) + (_encode_varint(len(data)) if wire == _BYTES else b"") + data
                )
    return encoded


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def parse_rejection(answer: bytes) -> tuple[int, str]:
    """Parse a collector's answer: the number of rejected spans, and the reason."""
    answer_fields: dict[str, Json] = {}
    _read_message(answer, "Answer", answer_fields)
    refused = as_dict(answer_fields.get("partialSuccess"))
    return refused.get("rejectedSpans", 0), refused.get("errorMessage", "")


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    collector = SpanCollector(tree)
    requests, tail = _decode_requests(data)
    for record in requests:
        list(collector.record(record, RawRecord(1, 0, len(data), b"", None)))
    return list(collector.state_events()), tail


reader = whole_reader(_parse)
