"""Bedrock's streams in Amazon's binary framing, written after its documentation."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any


def message(payload: Any, **headers: str) -> bytes:
    """One message of the event stream."""
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + len(value.encode()).to_bytes(2, "big") + value.encode()
        for name, value in headers.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    whole = prelude + zlib.crc32(prelude).to_bytes(4, "big") + head + body
    return whole + zlib.crc32(whole).to_bytes(4, "big")


def event(name: str, payload: Any) -> bytes:
    """A message that tells an event."""
    kinds = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return message(payload, **kinds)


def exception(name: str, words: str) -> bytes:
    """A message that tells an error."""
    return message({"message": words}, **{":exception-type": name, ":message-type": "exception"})


def converse(words: Iterable[str]) -> list[bytes]:
    """An answer of ConverseStream: thinking, `words`, a call of a tool, its figures."""

    def delta(index: int, value: Any) -> bytes:
        return event("contentBlockDelta", {"contentBlockIndex": index, "delta": value, "p": "abcd"})

    usage = {
        "inputTokens": 4,
        "outputTokens": 9,
        "totalTokens": 21,
        "cacheReadInputTokens": 6,
        "cacheWriteInputTokens": 2,
    }
    return [
        event("messageStart", {"role": "assistant", "p": "ab"}),
        delta(0, {"reasoningContent": {"text": "I "}}),
        delta(0, {"reasoningContent": {"text": "think."}}),
        delta(0, {"reasoningContent": {"signature": "c2ln"}}),
        event("contentBlockStop", {"contentBlockIndex": 0}),
        *(delta(1, {"text": word}) for word in words),
        event("contentBlockStop", {"contentBlockIndex": 1}),
        event("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "read"}}}),
        delta(2, {"toolUse": {"input": '{"path":'}}),
        delta(2, {"toolUse": {"input": '"a.txt"}'}}),
        event("contentBlockStop", {"contentBlockIndex": 2}),
        event("messageStop", {"stopReason": "tool_use"}),
        event("metadata", {"usage": usage, "metrics": {"latencyMs": 9}}),
    ]


def invoke(events: Iterable[dict[str, Any]]) -> bytes:
    """An answer of InvokeModelWithResponseStream: a model's own `events`, wrapped."""
    packed = [base64.b64encode(json.dumps(one).encode()).decode() for one in events]
    return b"".join(event("chunk", {"bytes": one, "p": "abc"}) for one in packed)
