"""Write calls as spans by the GenAI conventions, in OTLP's JSON, optionally with content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, answer_items
from ctxtui.core.canonical import Json
from ctxtui.core.category import category_of
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit.readers import decode_column

_SCOPE: Final = "ctxtui"
_CLIENT: Final = 3
"""Span kind of a call to another service."""
_FAILED: Final = 2
_NANO: Final = 1_000_000_000
Span = dict[str, Json]
Content = Callable[[Json], Json] | None
"""Masks content; None: content is left out."""


def call_span(session: Session, call: Call, *, name: str, usd: float | None = None, content: Content = None) -> Span:
    """Convert `call` to a span; the same call has the same ids each time.

    `usd` is its list price (None: not known). With `content`, a mask function, the span includes request and answer.
    """
    started = call.started or 0.0
    ended = max(call.ended or call.first_byte or started, started)
    span: Span = {
        "traceId": _make_id(name, 16),
        "spanId": _make_id(f"{name}\0{call.thread}\0{call.id}", 8),
        "name": f"chat {call.model}".strip(),
        "kind": _CLIENT,
        "startTimeUnixNano": str(round(started * _NANO)),
        "endTimeUnixNano": str(round(ended * _NANO)),
        "attributes": [
            _make_attribute(key, value)
            for key, value in _span_attributes(session, call, name, usd)
            if value is not None
        ],
    }
    attributes = span["attributes"]
    assert isinstance(attributes, list)
    if content is not None:
        event = (
            (key, canonical.dump_text(content(value)))
            for key, value in _content_attributes(session.tree, call)
            if value
        )
        attributes += [_make_attribute(key, value) for key, value in event]
    if call.error:
        # A provider's error may repeat the request.
        span["status"] = {"code": _FAILED, **({"message": str(content(call.error))} if content is not None else {})}
    return span


def wrap_spans(spans: Sequence[Span], client: str = "", version: str = "") -> dict[str, Json]:
    """Wrap spans in one request of OTLP; `client` is the program that called the model."""
    about = [("service.name", client or _SCOPE), ("service.version", version or None)]
    resource = {"attributes": [_make_attribute(key, value) for key, value in about if value is not None]}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": _SCOPE}, "spans": list(spans)}]}]
    }


def _span_attributes(session: Session, call: Call, name: str, usd: float | None) -> Iterable[tuple[str, Json]]:
    yield "gen_ai.operation.name", "chat"
    yield "gen_ai.provider.name", call.provider or None
    yield "gen_ai.request.model", call.model or None
    yield "gen_ai.response.model", call.model or None
    yield "gen_ai.response.id", call.id or None
    yield "gen_ai.response.finish_reasons", [call.stop_reason] if call.stop_reason else None
    yield "gen_ai.conversation.id", name
    yield "session.id", name
    if call.thread != MAIN:
        thread = session.threads.get(call.thread)
        yield "gen_ai.agent.id", call.thread
        yield "gen_ai.agent.name", (thread.label if thread is not None else "") or call.thread
    if call.started is not None and call.first_byte is not None:
        yield "gen_ai.response.time_to_first_chunk", max(0.0, call.first_byte - call.started)
    usage = call.usage
    if usage is not None:
        yield "gen_ai.usage.input_tokens", usage.input
        yield "gen_ai.usage.output_tokens", call.output
        yield "gen_ai.usage.reasoning.output_tokens", usage.reasoning or None
        if usage.has_cache:
            yield "gen_ai.usage.cache_read.input_tokens", usage.cache_read
            yield "gen_ai.usage.cache_creation.input_tokens", usage.cache_write
            yield "anthropic.usage.cache_creation.ephemeral_1h_input_tokens", usage.write_1h or None
    yield "ctxtui.list_price_usd", usd
    yield "ctxtui.fidelity", str(call.fidelity)
    yield "error.type", ("failed" if call.error else None)


def _content_attributes(tree: Tree, call: Call) -> Iterable[tuple[str, list[Json]]]:
    request_items = tree.items(call.sent_head)
    tools = [
        item.block.value() for item in request_items if item.place.section == "tools" and item.block.kind != HEADER
    ]
    system = [
        _convert_part(item) for item in request_items if item.place.section == "system" and item.block.kind != HEADER
    ]
    yield "gen_ai.tool.definitions", tools
    yield "gen_ai.system_instructions", system
    yield "gen_ai.input.messages", _convert_messages(request_items)
    yield "gen_ai.output.messages", _convert_messages(answer_items(tree, call), call.stop_reason)


def _convert_messages(items: Sequence[Item], finished: str = "") -> list[Json]:
    messages: list[Json] = []
    parts: list[Json] = []
    for item in items:
        if item.place.section != "messages":
            continue
        if item.block.kind == HEADER or not messages:
            parts = []
            ending: dict[str, Json] = {"finish_reason": finished} if finished else {}
            messages.append({"role": item.place.role or "user", "parts": parts, **ending})
        if item.block.kind != HEADER:
            parts.append(_convert_part(item))
    return messages


def _convert_part(item: Item) -> Json:
    reading, category = read(item.block), category_of(item.block, item.place)
    if category == "tool_call":
        return {
            "type": "tool_call",
            "id": reading.call_id,
            "name": reading.name,
            "arguments": decode_column(reading.arguments),
        }
    if category == "tool_result":
        return {"type": "tool_call_response", "id": reading.call_id, "response": reading.text}
    if category == "thinking":
        return {"type": "reasoning", "content": reading.text}
    if category in ("image", "document") and reading.media:
        medium = reading.media[0]
        if medium.url:
            return {"type": "uri", "modality": category, "mime_type": medium.media_type, "uri": medium.url}
        return {"type": "blob", "modality": category, "mime_type": medium.media_type, "content": medium.data}
    return {"type": "text", "content": reading.text}


def _make_attribute(key: str, value: Json) -> dict[str, Json]:
    return {"key": key, "value": _type_value(value)}


def _type_value(value: Json) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_type_value(item) for item in value]}}
    return {"stringValue": str(value)}


def _make_id(text: str, size: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * size]
