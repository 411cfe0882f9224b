"""Cohere's v2 chat: requests as in OpenAI Chat, answers and streams of its own."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.fields import at, count, obj, word
from ctxtui.wire import openai_chat
from ctxtui.wire.request import Response
from ctxtui.wire.stream import merge_delta


def usage(report: Json) -> Usage | None:
    """Convert the usage of one answer: ``tokens`` is all that the model read, cached included; ``billed_units`` is
    less.
    """
    tokens = obj(at(report, "tokens"))
    if not tokens:
        return None
    read = count(at(report, "cached_tokens"))
    return Usage(
        fresh=max(0, count(tokens.get("input_tokens")) - read),
        cache_read=read,
        output=count(tokens.get("output_tokens")),
        has_cache="cached_tokens" in report,
    )


def answer(body: dict[str, Json]) -> Response:
    """Decode an answer; an error's text is under ``message``."""
    message = body.get("message")
    if not isinstance(message, dict):
        return Response(error=word(message) or word(body.get("error")), extra=body)
    # A plan is the model's text before its calls.
    plan = word(message.get("tool_plan"))
    said = {**message, "content": message.get("content") or plan or None}
    try:
        found = openai_chat.decode_response({"id": body.get("id"), "message": said})
    except Malformed as error:
        return Response(error=str(error), extra=body)
    extra = {key: item for key, item in body.items() if key not in ("id", "message", "finish_reason")}
    return replace(
        found,
        usage=usage(body.get("usage")),
        stop_reason=word(body.get("finish_reason")),
        extra={**found.extra, **extra},
    )


def stream(events: Iterable[Json]) -> Response:
    """Assemble the answer of a stream's events."""
    message: dict[str, Json] = {"role": "assistant"}
    content: dict[int, dict[str, Json]] = {}
    calls: dict[int, dict[str, Json]] = {}
    whole: dict[str, Json] = {}
    for event in map(obj, events):
        kind, index = word(event.get("type")), count(event.get("index"))
        delta = obj(event.get("delta"))
        told = obj(delta.get("message"))
        if kind == "message-start":
            whole["id"] = event.get("id")
        elif kind == "message-end":
            whole |= delta
        elif kind.startswith("content-"):
            merge_delta(content.setdefault(index, {}), obj(told.get("content")))
        elif kind == "tool-plan-delta":
            message["tool_plan"] = word(message.get("tool_plan")) + word(told.get("tool_plan"))
        elif kind.startswith("tool-call-"):
            merge_delta(calls.setdefault(index, {}), obj(told.get("tool_calls")), skip=frozenset())
    message["content"] = [content[index] for index in sorted(content)]
    message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return replace(answer({**whole, "message": message}), complete="finish_reason" in whole)
