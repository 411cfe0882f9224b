"""Reads spans and log records from exporters' output: OTLP's JSON, and flat console dumps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path
from ctxtui.transcripts.kit.readers import decode_column

Attributes = dict[str, Json]
"""Values by their dotted names."""

_DEEPEST: Final = 60
"""Levels of values inside values that are converted; deeper ones stay as recorded."""
_PLAIN: Final = ("stringValue", "boolValue", "doubleValue", "bytesValue")
_WHOLE: Final = re.compile(r"-?\d{1,20}")


def _to_json(value: Json, depth: int = _DEEPEST) -> Json:
    """Convert OTLP's typed value to JSON; anything else is returned unchanged."""
    if not isinstance(value, dict) or len(value) != 1 or depth == 0:
        return value
    kind, inner = next(iter(value.items()))
    if kind in _PLAIN:
        return inner
    if kind == "intValue":
        return int(inner) if isinstance(inner, str) and _WHOLE.fullmatch(inner) else inner
    if kind == "arrayValue":
        return [_to_json(item, depth - 1) for item in as_list(as_dict(inner).get("values"))]
    if kind == "kvlistValue":
        return {
            as_str(pair.get("key")): _to_json(pair.get("value"), depth - 1)
            for pair in as_dicts(as_dict(inner).get("values"))
        }
    return value


def _read_attributes(value: Json) -> Attributes:
    """Read attributes by name, from an object or a list of pairs; nested objects are flattened."""
    if isinstance(value, list):
        pairs = [(as_str(pair.get("key")), _to_json(pair.get("value"))) for pair in as_dicts(value)]
    else:
        pairs = list(as_dict(value).items())
    attributes: Attributes = {}
    for name, pair_value in pairs:
        _flatten(attributes, name, pair_value, _DEEPEST)
    return attributes


def _flatten(attributes: Attributes, name: str, value: Json, depth: int) -> None:
    if isinstance(value, dict) and value and depth:
        for key, inner in value.items():
            _flatten(attributes, f"{name}.{key}" if name else key, inner, depth - 1)
    else:
        attributes[name] = value


def numbered_entries(attributes: Attributes, name: str) -> list[Attributes]:
    """List the entries of a list under `name`, or spelled by numbers (``NAME.0.role``)."""
    listed = decode_column(attributes.get(name))
    if isinstance(listed, list):
        return [_read_attributes(item) for item in as_dicts(listed)]
    start = name + "."
    entries: dict[int, Attributes] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            number, _, subkey = key[len(start) :].partition(".")
            if subkey and _WHOLE.fullmatch(number):
                entries.setdefault(int(number), {})[subkey] = value
    return [entries[number] for number in sorted(entries)]


def first_value(attributes: Attributes, *names: str) -> Json:
    """Return the first non-empty value of `names`; None if there is none."""
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)


def first_text(attributes: Attributes, *names: str) -> str:
    """Return the first non-empty text of `names`; the first one of a list."""
    values = (attributes.get(name) for name in names)
    texts = (as_str(value[0] if isinstance(value, list) and value else value) for value in values)
    return next(filter(None, texts), "")


def first_count(attributes: Attributes, *names: str) -> int | None:
    """Return the first number of tokens of `names`; None if there is none."""
    value = first_value(attributes, *names)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    return None if value is None or isinstance(value, str | list) else as_count(value)


_ERROR: Final = ("ERROR", "STATUS_CODE_ERROR", 2, "2", "Error")
# A time above `_NANO` and below `_LAST` is in nanoseconds, one above `_MICRO` in microseconds.
_NANO, _MICRO, _LAST = 1e17, 1e14, 1e20
_IDS: Final = ("trace_id", "traceId", "span_id", "spanId", "trace.id")


class SpanEvent(Struct, frozen=True):
    """An event in a span; `body` is a log record's content besides its attributes."""

    name: str
    attributes: Attributes
    body: dict[str, Json] = field(default_factory=dict)
    at: float | None = None


class OtelSpan(Struct):
    """One operation; `failed` and `message` are its status.

    `scope` is the library that recorded it, `resource` describes the program that ran it.
    """

    id: str
    trace: str = ""
    parent: str = ""
    name: str = ""
    scope: str = ""
    started: float | None = None
    ended: float | None = None
    failed: bool = False
    message: str = ""
    attributes: Attributes = field(default_factory=dict)
    resource: Attributes = field(default_factory=dict)
    events: list[SpanEvent] = field(default_factory=list)
    line: int = 0


class LogEvent(Struct, frozen=True):
    """A log record that belongs to a span."""

    span: str
    trace: str
    event: SpanEvent


def is_otlp(record: Mapping[str, Json]) -> bool:
    return any(isinstance(record.get(name), list) for name in ("resourceSpans", "resource_spans", "resourceLogs"))


def is_flat(record: Mapping[str, Json]) -> bool:
    """Whether `record` is a single span or log record, as printed by a console exporter."""
    ids = as_dict(record.get("context")).keys() | record.keys()
    named = "name" in record or "event_name" in record or "body" in record
    return named and "attributes" in record and any(name in ids for name in _IDS)


def spans_in(record: dict[str, Json], line: int) -> Iterator[OtelSpan | LogEvent]:
    """Yield the spans and log records of an OTLP request, or the one that `record` is."""
    if not is_otlp(record):
        if is_flat(record):
            yield _make_log(record) if _is_log(record) else _make_span(record, "", {}, line)
        return
    for resource_part in as_dicts(record.get("resourceSpans", record.get("resource_spans"))):
        resource = _read_attributes(get_path(resource_part, "resource", "attributes"))
        scoped = resource_part.get(
            "scopeSpans", resource_part.get("scope_spans", resource_part.get("instrumentationLibrarySpans"))
        )
        for part in as_dicts(scoped):
            scope = as_str(get_path(part, "scope", "name")) or as_str(get_path(part, "instrumentationLibrary", "name"))
            for span in as_dicts(part.get("spans")):
                yield _make_span(span, scope, resource, line)
    for resource_part in as_dicts(record.get("resourceLogs")):
        for part in as_dicts(resource_part.get("scopeLogs")):
            for log in as_dicts(part.get("logRecords")):
                yield _make_log(log)


def _make_span(record: dict[str, Json], scope: str, resource: Attributes, line: int) -> OtelSpan:
    context = as_dict(record.get("context"))
    status = record.get("status")
    code = status if isinstance(status, str) else _first_member(as_dict(status), "code", "status_code")
    code = code if code is not None else record.get("status_code")
    message = as_str(_first_member(as_dict(status), "message", "description")) or as_str(record.get("status_message"))
    return OtelSpan(
        _read_id(_first_member(record, "spanId", "span_id") or _first_member(context, "span_id", "spanId")),
        _read_id(_first_member(record, "traceId", "trace_id") or _first_member(context, "trace_id", "traceId")),
        _read_id(_first_member(record, "parentSpanId", "parent_id", "parent_span_id", "parentId")),
        name=as_str(record.get("name")),
        scope=scope
        or as_str(get_path(record, "scope", "name"))
        or as_str(get_path(record, "instrumentationScope", "name")),
        started=_parse_time(
            _first_member(record, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
        ),
        ended=_parse_time(_first_member(record, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")),
        failed=code in _ERROR,
        message=message,
        attributes=_read_attributes(record.get("attributes")),
        resource=resource or _read_attributes(get_path(record, "resource", "attributes")),
        events=[_make_event(event) for event in as_dicts(record.get("events"))],
        line=line,
    )


def _is_log(record: Mapping[str, Json]) -> bool:
    return "name" not in record or "body" in record or "severity_number" in record


def _make_log(record: dict[str, Json]) -> LogEvent:
    attributes = _read_attributes(record.get("attributes"))
    name = as_str(_first_member(record, "eventName", "event_name")) or as_str(attributes.get("event.name"))
    time = _parse_time(_first_member(record, "timeUnixNano", "observedTimeUnixNano", "timestamp", "observed_timestamp"))
    event = SpanEvent(name, attributes, as_dict(_to_json(record.get("body"))), time)
    span, trace = _first_member(record, "spanId", "span_id"), _first_member(record, "traceId", "trace_id")
    return LogEvent(_read_id(span), _read_id(trace), event)


def _make_event(record: dict[str, Json]) -> SpanEvent:
    attributes = _read_attributes(record.get("attributes"))
    time = _parse_time(_first_member(record, "timeUnixNano", "timestamp", "time"))
    return SpanEvent(as_str(record.get("name")), attributes, {}, time)


def _first_member(record: Mapping[str, Json], *names: str) -> Json:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _read_id(value: Json) -> str:
    return as_str(value).removeprefix("0x")


def _parse_time(value: Json) -> float | None:
    """Parse nanoseconds, microseconds, milliseconds, seconds, or ISO text to Unix seconds."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if _NANO < value < _LAST:
            return value / 1e9
        if _MICRO < value <= _NANO:
            return value / 1e6
    return as_time(value)
