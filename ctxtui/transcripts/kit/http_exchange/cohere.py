"""Cohere's v2 chat: requests as in OpenAI Chat, answers and streams of its own."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_count, as_dict, as_str
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.fields import get_path
from ctxtui.wire import openai_chat
from ctxtui.wire.request import Response
from ctxtui.wire.stream import merge_delta


def parse_usage(report: Json) -> Usage | None:
    """Convert the usage of one answer; ``billed_units`` is less than all input, and ignored."""
    tokens = as_dict(get_path(report, "tokens"))
    if not tokens:
        return None
    read = as_count(get_path(report, "cached_tokens"))
    return Usage(
        fresh=max(0, as_count(tokens.get("input_tokens")) - read),
        cache_read=read,
        output=as_count(tokens.get("output_tokens")),
        has_cache="cached_tokens" in report,
    )


def decode_answer(body: dict[str, Json]) -> Response:
    """Decode an answer; an error's text is under ``message``."""
    message = body.get("message")
    if not isinstance(message, dict):
        error = as_str(message) or as_str(body.get("error")) or "an answer without a message"
        return Response(error=error, extra=body)
    # A plan is the model's text before its calls.
    plan = as_str(message.get("tool_plan"))
    answer = {**message, "content": message.get("content") or plan or None}
    try:
        response = openai_chat.decode_response({"id": body.get("id"), "message": answer})
    except Malformed as error:
        return Response(error=str(error), extra=body)
    other_members = {key: item for key, item in body.items() if key not in ("id", "message", "finish_reason")}
    return replace(
        response,
        usage=parse_usage(body.get("usage")),
        stop_reason=as_str(body.get("finish_reason")),
        extra={**response.extra, **other_members},
    )


def decode_stream(events: Iterable[Json]) -> Response:
    message: dict[str, Json] = {"role": "assistant"}
    content: dict[int, dict[str, Json]] = {}
    calls: dict[int, dict[str, Json]] = {}
    whole: dict[str, Json] = {}
    for event in map(as_dict, events):
        kind, index = as_str(event.get("type")), as_count(event.get("index"))
        delta = as_dict(event.get("delta"))
        delta_message = as_dict(delta.get("message"))
        if kind == "message-start":
            whole["id"] = event.get("id")
        elif kind == "message-end":
            whole |= delta
        elif kind.startswith("content-"):
            merge_delta(content.setdefault(index, {}), as_dict(delta_message.get("content")))
        elif kind == "tool-plan-delta":
            message["tool_plan"] = as_str(message.get("tool_plan")) + as_str(delta_message.get("tool_plan"))
        elif kind.startswith("tool-call-"):
            merge_delta(calls.setdefault(index, {}), as_dict(delta_message.get("tool_calls")), skip=frozenset())
    message["content"] = [content[index] for index in sorted(content)]
    message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return replace(decode_answer({**whole, "message": message}), complete="finish_reason" in whole)
