"""Fields that only a client's own file has leave a block; those of a dialect stay, as it takes them back."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES
from ctxtui.wire.registry import DIALECTS, encode
from ctxtui.wire.translate.client_fields import without_client_fields

BODIES: dict[str, dict[str, Any]] = {
    ANTHROPIC: {"messages": [{"role": "user", "content": [{"type": "text", "text": "hoi"}]}]},
    CHAT: {
        "messages": [
            {"role": "assistant", "content": "a", "reasoning_content": "r", "refusal": "no"},
            {"role": "tool", "tool_call_id": "1", "name": "f", "content": "x"},
        ]
    },
    OLLAMA: {
        "messages": [
            {"role": "user", "content": "hoi", "images": ["aGVsbG8="]},
            {"role": "assistant", "content": "a", "thinking": "t", "tool_calls": [{"function": {"name": "f"}}]},
            {"role": "tool", "tool_name": "f", "content": "x"},
        ]
    },
    RESPONSES: {
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "f"}]},
            {
                "type": "agent_message",
                "author": "a",
                "recipient": "b",
                "content": [{"type": "input_text", "text": "x"}],
            },
        ]
    },
    GOOGLE: {"contents": [{"role": "user", "parts": [{"text": "hoi"}]}, {"parts": [{"text": "a"}], "role": "model"}]},
}


@pytest.mark.parametrize("dialect", BODIES)
def test_what_a_dialect_knows_stays(dialect: str) -> None:
    body = canonical.dumps({"model": "m", **BODIES[dialect]})
    request = DIALECTS[dialect].decode_request(body)
    assert [without_client_fields(item) for item in request.items] == list(request.items)
    assert encode(request.with_items([without_client_fields(item) for item in request.items])) == body


def test_what_only_a_client_knows_goes() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "hoi", "own": 1}], "timestamp": "now"}
    request = DIALECTS[ANTHROPIC].decode_request(canonical.dumps({"model": "m", "messages": [message]}))
    cleaned = request.with_items([without_client_fields(item) for item in request.items])
    messages = canonical.loads(encode(cleaned))["messages"]
    assert messages == [{"role": "user", "content": [{"type": "text", "text": "hoi"}]}]
