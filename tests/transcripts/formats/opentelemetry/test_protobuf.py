"""OTLP in protobuf says what OTLP's JSON says, whole or cut, in one message or many."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from ctxtui.core.session import Session
from ctxtui.transcripts.registry import describe_file, detect
from tests.cases.otel import CONVENTIONS, otlp, semconv, span, talk
from tests.transcripts.reading import as_bytes, calls, form_of, law_2, read, read_with, survives_cuts

NAME = "traces.pb"


def varint(value: int) -> bytes:
    made = b""
    while value > 0x7F:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])


def held(number: int, data: bytes) -> bytes:
    """A field that holds bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed(number: int, value: int) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def any_value(value: dict[str, Any]) -> bytes:
    ((kind, inner),) = value.items()
    match kind:
        case "stringValue":
            return held(1, inner.encode())
        case "boolValue":
            return varint(2 << 3) + varint(int(inner))
        case "intValue":
            return varint(3 << 3) + varint(int(inner) & 0xFFFFFFFFFFFFFFFF)
        case "doubleValue":
            return varint(4 << 3 | 1) + struct.pack("<d", inner)
        case "arrayValue":
            return held(5, b"".join(held(1, any_value(one)) for one in inner["values"]))
    return held(6, b"".join(held(1, pair(one)) for one in inner["values"]))


def pair(value: dict[str, Any]) -> bytes:
    return held(1, value["key"].encode()) + held(2, any_value(value["value"]))


def span_bytes(one: dict[str, Any]) -> bytes:
    made = held(1, bytes.fromhex(one["traceId"])) + held(2, bytes.fromhex(one["spanId"])) + held(3, b"")
    made += held(4, bytes.fromhex(one["parentSpanId"])) + held(5, one["name"].encode()) + varint(6 << 3) + varint(3)
    made += fixed(7, int(one["startTimeUnixNano"])) + fixed(8, int(one["endTimeUnixNano"]))
    made += b"".join(held(9, pair(attribute)) for attribute in one["attributes"])
    for event in one["events"]:
        attributes = b"".join(held(3, pair(attribute)) for attribute in event["attributes"])
        made += held(11, fixed(1, int(event["timeUnixNano"])) + held(2, event["name"].encode()) + attributes)
    failed = held(2, one["status"].get("message", "").encode()) + varint(3 << 3) + varint(2)
    made += held(15, failed if one["status"] else b"")
    return made + varint(16 << 3 | 5) + struct.pack("<L", 256)


def encoded(value: dict[str, Any]) -> bytes:
    """OTLP's JSON as protobuf."""
    made = b""
    for whole in value["resourceSpans"]:
        resource = held(1, b"".join(held(1, pair(one)) for one in whole["resource"]["attributes"]))
        for part in whole["scopeSpans"]:
            spans = b"".join(held(2, span_bytes(one)) for one in part["spans"])
            resource += held(2, held(1, held(1, part["scope"]["name"].encode())) + spans)
        made += held(1, resource)
    return made


def log_bytes(one: dict[str, Any], name: str, body: dict[str, Any]) -> bytes:
    ids = held(9, bytes.fromhex(one["traceId"])) + held(10, bytes.fromhex(one["spanId"]))
    return fixed(1, 1_795_338_001_000_000_000) + held(5, any_value(body)) + ids + held(12, name.encode())


def three(convention: str) -> dict[str, Any]:
    return otlp([span(n, CONVENTIONS[convention](n)) for n in range(3)])


def same(one: Session, other: Session) -> bool:
    return [(c.id, c.usage, c.started, c.ended, c.error, c.model, c.raw_head) for c in one.calls.values()] == [
        (c.id, c.usage, c.started, c.ended, c.error, c.model, c.raw_head) for c in other.calls.values()
    ]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_protobuf_says_what_json_says(convention: str) -> None:
    value = three(convention)
    message = encoded(value)
    json = read(as_bytes(value), "traces.json")
    each = [encoded(otlp([span(n, CONVENTIONS[convention](n))])) for n in range(3)]
    behind_lengths = b"".join(struct.pack(">L", len(one)) + one for one in each)
    for data in (message, b"".join(each), behind_lengths):
        assert detect(data[:65536], NAME).name == "opentelemetry protobuf"  # type: ignore[union-attr]
        found = read(data, NAME)
        assert same(found, json) and found.about == json.about and not found.skipped


def test_events_errors_and_every_kind_of_value() -> None:
    asked, answered = talk()[0]
    bare = {name: value for name, value in semconv(0).items() if "messages" not in name}
    details = {
        "gen_ai.input.messages": asked,
        "gen_ai.output.messages": answered,
        "cold": True,
        "share": -0.5,
        "less": -7,
    }
    event = {"name": "gen_ai.client.inference.operation.details", "timestamp": "2026-11-22T09:00:00.600000Z",
             "attributes": details}  # fmt: skip
    failed = {"status_code": "ERROR", "description": "busy"}
    value = otlp([span(0, bare, events=[event], status=failed)])
    found = read(encoded(value), NAME)
    (call,) = calls(found)
    assert call.error == "busy" and same(found, read(as_bytes(value), "traces.json"))
    assert len(found.tree.items(call.response_head)) == 7


def test_log_records_join_their_spans() -> None:
    bare = {name: value for name, value in semconv(0).items() if "messages" not in name}
    value = otlp([span(0, bare)])
    (one,) = value["resourceSpans"][0]["scopeSpans"][0]["spans"]
    body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "Read a.txt"}}]}}
    logs = held(1, held(2, held(2, log_bytes(one, "gen_ai.user.message", body))))
    (call,) = calls(found := read(encoded(value) + logs, NAME))
    assert [i.block.kind for i in found.tree.items(call.raw_head)] == ["tool", "text", "header", "text"]


def test_a_trace_without_a_model_is_named() -> None:
    data = encoded(otlp([span(0, {"http.method": "GET"})]))
    assert describe_file(data, NAME) == "an OpenTelemetry trace in protobuf without any call of a model"


def test_laws() -> None:
    data = encoded(three("semconv"))
    law_2(data, NAME)
    survives_cuts(data, NAME)
    cut = read(data[: len(data) * 2 // 3], NAME)
    assert 1 <= len(cut.calls) < 4 and "cut off" in read_with(form_of(data, NAME), data[:-9])[2].tail.reason  # type: ignore[union-attr]


def test_changed_bytes_stop_no_reader() -> None:
    data = encoded(three("openinference"))
    form, chance = form_of(data, NAME), random.Random(1)
    for _ in range(300):
        odd = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            odd[chance.randrange(len(odd))] = chance.randrange(256)
        read_with(form, bytes(odd))


@pytest.mark.parametrize("data", [b"\n", b"\n\n\nhello\n", b"\n\x03abc", b"\x00\x00\x00\x05\n\x03abc", b"\n\x80\x80"])
def test_other_bytes_are_not_taken_for_it(data: bytes) -> None:
    form = detect(data, "x")
    assert form is None or form.name != "opentelemetry protobuf"
