"""A message as the stream of named events that builds it (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.canonical import Json, text_of
from ctxtui.offline.pieces import pieces


def events(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The events of `message`."""
    begun = {**message["usage"], "output_tokens": 1, "output_tokens_details": None}
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": begun}
    start.pop("context_management", None)
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
