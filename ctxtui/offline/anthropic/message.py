"""A message of the Messages API: its content and usage, whole or as the stream of events that builds it (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.core.block import make, of
from ctxtui.core.canonical import Json, text_of
from ctxtui.offline.answer import ModelAnswer, Thought, Words
from ctxtui.offline.anthropic.signature import signature
from ctxtui.offline.counting import output_tokens
from ctxtui.offline.exchange import ApiRequest, pieces
from ctxtui.offline.json_shape import members
from ctxtui.offline.provider import Provider


def content_of(provider: Provider, asked: ApiRequest, said: ModelAnswer, last: str) -> Iterator[dict[str, Json]]:
    """The blocks of an answer; `last` is the signature of the thinking before it."""
    shown = members(asked.body.get("thinking")).get("display") != "omitted"
    for part in said.parts:
        if isinstance(part, Thought):
            signed = signature(asked.body, part.text, last)
            yield {"type": "thinking", "thinking": part.text if shown else "", "signature": signed}
        elif isinstance(part, Words):
            yield {"type": "text", "text": part.text, "citations": None}
        else:
            id_ = provider.names.new("toolu_01")
            yield {"type": "tool_use", "id": id_, "name": part.name, "input": part.arguments}


def usage_of(asked: ApiRequest, outcome: CacheOutcome, content: list[dict[str, Json]]) -> dict[str, Json]:
    """The usage of an answer with this `content`, whose input the cache took apart as `outcome`."""
    writes = dict(outcome.writes)
    # Thinking counts as it was thought, however much of it is shown: its signature says how much that was.
    thoughts = [of(block) for block in content if block["type"] == "thinking"]
    thought = output_tokens(asked.model, thoughts) if thoughts else 0
    spoken = [make(b["type"], b) if b["type"] == "tool_use" else of(b) for b in content if b["type"] != "thinking"]
    output = 0 if asked.body["max_tokens"] == 0 else thought + (output_tokens(asked.model, spoken) if spoken else 0)
    return {
        "input_tokens": outcome.fresh,
        "cache_creation_input_tokens": outcome.written,
        "cache_read_input_tokens": outcome.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": writes.get(300.0, 0),
            "ephemeral_1h_input_tokens": writes.get(3600.0, 0),
        },
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": thought},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def events(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The events of `message`."""
    begun = {**message["usage"], "output_tokens": 1, "output_tokens_details": None}
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": begun}
    start.pop("context_management", None)
    start.pop("safeguard_results", None)
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": _opened(block)}
        if index == 0:
            yield {"type": "ping"}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    told = {key: value for key, value in message["usage"].items() if key not in ("cache_creation", "service_tier")}
    told.pop("inference_geo")
    delta = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    if "safeguard_results" in message:
        delta["safeguard_results"] = message["safeguard_results"]
    end = {"type": "message_delta", "delta": delta, "usage": told}
    if "context_management" in message:
        end["context_management"] = message["context_management"]
    yield end
    yield {"type": "message_stop"}


def _opened(block: dict[str, Json]) -> dict[str, Json]:
    empty: dict[str, dict[str, Json]] = {
        "thinking": {"thinking": "", "signature": ""},
        "text": {"text": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty[block["type"]]}


def _deltas(block: dict[str, Json]) -> Iterator[dict[str, Json]]:
    if block["type"] == "thinking":
        for piece in pieces(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        for piece in pieces(block["text"]):
            yield {"type": "text_delta", "text": piece}
    else:
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in pieces(text_of(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}
