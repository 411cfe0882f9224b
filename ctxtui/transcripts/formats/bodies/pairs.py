"""Finds requests and answers inside arbitrary JSON records, under any of many common names."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.transcripts.formats.bodies.values import JsonText, to_json_text, walk_value
from ctxtui.transcripts.kit.fields import as_time
from ctxtui.transcripts.kit.http_exchange.pair import parse_body as parsed
from ctxtui.transcripts.kit.http_exchange.shapes import BodyShape, classify, is_answer, is_count, is_message
from ctxtui.wire.codec import spans
from ctxtui.wire.sse import is_stream

_REQUEST_KEYS: Final = (
    "request", "req", "request_body", "requestBody", "raw_request", "llm_request", "input", "inputs", "prompt", "body",
    "json", "params", "payload", "data", "kwargs", "parsed_body",
)  # fmt: skip
"""Members that may hold a request, the likeliest first."""

_ANSWER_KEYS: Final = (
    "response", "res", "resp", "response_body", "responseBody", "raw_response", "llm_response", "output", "outputs",
    "completion", "result", "body", "json", "payload", "data", "message", "content", "text", "parsed_body",
)  # fmt: skip
"""Members that may hold an answer, the likeliest first."""

_TOP_ANSWER_KEYS: Final = _ANSWER_KEYS[: _ANSWER_KEYS.index("body")]
"""At the top of a record the names after them may also hold a request."""
_STARTED: Final = ("started_at", "start_time", "startTime", "startedDateTime", "timestamp", "time", "ts", "date",
                   "created_at", "recorded_at", "created")  # fmt: skip
_ENDED: Final = ("ended_at", "end_time", "endTime", "completed_at", "finished_at")
_MAX_DEPTH: Final = 4
"""Levels of a record that are searched."""


class Pair(Struct, frozen=True):
    """A call found in a record.

    - `request`: the body of the request; None if there is none. `sent`: exactly its members were sent.
    - `messages`: set instead of `request` if only the messages are known.
    - `answer`: a JSON value, or the text of an event stream.
    - `headers`, `path`: those of the request.
    - `started`, `ended`: Unix seconds; None: unknown.
    """

    request: JsonText | None = None
    sent: bool = False
    messages: list[Json] | None = None
    answer: Json = None
    headers: tuple[tuple[str, str], ...] = ()
    path: str = ""
    started: float | None = None
    ended: float | None = None


def find_pair(text: JsonText) -> Pair | None:
    """Find the request and the answer in a record; None without a request or a whole answer."""
    record = text.value()
    if not isinstance(record, dict):
        return None
    request = _find_request(record, text)
    answer = _find_answer(record, _TOP_ANSWER_KEYS, _MAX_DEPTH)
    if request is None and not (isinstance(answer, str) or is_answer(as_dict(answer))):
        return None
    pair = request or Pair()
    started, ended = _read_time(record, _STARTED), _read_time(record, _ENDED)
    path = as_str(record.get("path")) or as_str(record.get("url"))
    return replace(pair, answer=answer, headers=_read_headers(record), path=path, started=started, ended=ended)


def has_answer(request: Json) -> bool:
    """Whether a request's members are in one object with its answer."""
    return isinstance(request, dict) and _find_answer(request, _TOP_ANSWER_KEYS, _MAX_DEPTH) is not None


def _read_headers(record: dict[str, Json]) -> tuple[tuple[str, str], ...]:
    headers = record.get("request_headers") or as_dict(record.get("request")).get("headers") or record.get("headers")
    pairs = as_dict(headers).items() if isinstance(headers, dict) else (as_list(pair) for pair in as_list(headers))
    return tuple((as_str(pair[0]), as_str(pair[1])) for pair in pairs if len(pair) == 2)


def _read_time(record: dict[str, Json], names: tuple[str, ...]) -> float | None:
    for place in (
        record,
        as_dict(record.get("request")),
        as_dict(record.get("response")),
        as_dict(record.get("metadata")),
    ):
        for name in names:
            seconds = as_time(place.get(name))
            # Smaller numbers are durations or counts, not times.
            if seconds is not None and seconds > 1e9:
                return seconds
    return None


def _find_request(record: dict[str, Json], text: JsonText) -> Pair | None:
    if classify(record) == BodyShape.REQUEST:
        # The request's members are mixed with the answer's, so which were sent is not known.
        return Pair(to_json_text({key: item for key, item in record.items() if key not in _TOP_ANSWER_KEYS}))
    path = _find_path(record, _REQUEST_KEYS, _MAX_DEPTH)
    if path is None:
        return None
    value, keys = path
    if isinstance(value, list):
        return Pair(messages=value)
    if isinstance(value, str):
        return Pair(walk_value(value.strip()), sent=True)
    raw = _slice_text(text, keys)
    # Pretty-printed text was not sent in that form; only its members were.
    return Pair(to_json_text(value) if raw is None or "\n" in raw else walk_value(raw), sent=True)


def _find_path(value: dict[str, Json], names: tuple[str, ...], depth: int) -> tuple[Json, list[str]] | None:
    """The request inside `value`, and the keys to it unless the request is text."""
    for name in names:
        member = value.get(name)
        if isinstance(member, str) and member.lstrip()[:1] == "{" and classify(parsed(member)) == BodyShape.REQUEST:
            return member, []
        if classify(member) in (BodyShape.REQUEST, BodyShape.MESSAGES):
            return member, [name]
        if isinstance(member, dict) and depth > 1:
            inner = _find_path(member, names, depth - 1)
            if inner is not None:
                return inner[0], [name, *inner[1]]
    return None


def _slice_text(text: JsonText, keys: list[str]) -> str | None:
    """Text under `keys` of a record's text; the last of duplicate keys counts."""
    start, end = 0, len(text.text)
    try:
        for key in keys:
            matches = [m for m in spans.members(text.text, start) if m.key == key]
            start, end = matches[-1].start, matches[-1].end
    except (Malformed, IndexError):
        return None
    return text.text[start:end]


def _find_answer(value: dict[str, Json], names: tuple[str, ...], depth: int) -> Json:
    for name in names:
        member = value.get(name)
        if isinstance(member, str):
            member = member if is_stream(member) else parsed(member) if member.lstrip()[:1] == "{" else None
            if isinstance(member, str):
                return member
        if isinstance(member, list):
            member = _events_text(member) or (member[-1] if member and is_message(member[-1]) else None)
            if isinstance(member, str):
                return member
        if not isinstance(member, dict):
            continue
        if (
            is_answer(member)
            or is_count(member)
            or "error" in member
            or (is_message(member) and as_str(member.get("role")) == "assistant")
        ):
            return member
        inner = _find_answer(member, _ANSWER_KEYS, depth - 1) if depth > 1 else None
        if inner is not None:
            return inner
    return None


def _events_text(value: Json) -> str:
    """Join a list of stream events to the text of their stream; "" if it is not one."""
    items = as_list(value)
    events = [as_dict(item) for item in items]
    streamed = [
        as_str(item.get("object")) == "chat.completion.chunk" or "candidates" in item or _is_event(item)
        for item in events
    ]
    if not items or not all(streamed):
        return ""
    return "".join(f"data: {canonical.dump_text(item)}\n\n" for item in items)


def _is_event(item: dict[str, Json]) -> bool:
    kind = as_str(item.get("type"))
    return kind.startswith(("message_", "content_block_", "response.")) or kind in ("ping", "error")
