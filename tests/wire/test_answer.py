"""Answers in one piece, of every dialect; what is none says so."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.core.errors import Malformed
from ctxtui.wire.registry import DIALECTS


def kinds(response: Any) -> list[str]:
    return [item.block.kind for item in response.items]


@pytest.mark.parametrize("name", sorted(DIALECTS))
@pytest.mark.parametrize("body", [b"", b"[1]", b"{}", b'"x"', b"{", b'{"choices":[3]}', b"[" * 50_000])
def test_what_is_no_answer_is_malformed(name: str, body: bytes) -> None:
    with pytest.raises(Malformed) as error:
        DIALECTS[name].decode_response(body)
    assert error.value.place.startswith("$")


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("anthropic", {"type": "error", "error": {"type": "rate_limit", "message": "slow"}}, "rate_limit: slow"),
        ("openai_chat", {"error": {"message": "no", "type": "invalid_request_error"}}, "invalid_request_error: no"),
        ("openai_chat", {"error": "plain words"}, "plain words"),
        ("openai_responses", {"error": {"code": "bad", "message": "no"}}, "bad: no"),
    ],
)  # fmt: skip
def test_an_error_is_an_answer_with_nothing_in_it(name: str, body: Any, words: str) -> None:
    found = DIALECTS[name].decode_response(canonical.dumps(body))
    assert (found.error, found.items) == (words, ())
    assert found.extra == body


def test_anthropic_keeps_what_it_does_not_know() -> None:
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "end_turn",
        "content": [{"type": "new_thing", "a": 1}, {"type": "text", "text": "hi", "citations": None}],
        "usage": {"input_tokens": 1, "output_tokens": 1}, "container": {"id": "c"}, "stop_sequence": None,
    }  # fmt: skip
    found = DIALECTS["anthropic"].decode_response(body)
    assert kinds(found) == ["header", "new_thing", "text"]
    assert found.items[2].block.value() == {"type": "text", "text": "hi", "citations": None}
    assert found.extra == {"container": {"id": "c"}}


def test_a_passes_sum_is_what_was_billed() -> None:
    report = {
        "input_tokens": 20,
        "output_tokens": 5,
        "iterations": [
            {"type": "compaction", "input_tokens": 900, "output_tokens": 80},
            {"type": "message", "input_tokens": 20, "output_tokens": 5},
        ],
    }
    found = DIALECTS["anthropic"].decode_response({"content": [], "usage": report})
    assert found.usage is not None and found.usage.input == 20
    assert found.billed is not None and (found.billed.input, found.billed.output) == (920, 85)
    assert found.extra["usage"] == report


def test_chat_puts_the_answer_as_a_client_sends_it_back() -> None:
    message = {
        "content": None, "role": "assistant", "annotations": [], "refusal": None, "x_trace": "t",
        "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }  # fmt: skip
    body = {"id": "c", "choices": [{"message": message, "finish_reason": "tool_calls"}, {"message": {"content": "b"}}]}
    found = DIALECTS["openai_chat"].decode_response(body)
    assert found.items[0].block.value() == {"role": "assistant", "content": None, "tool_calls": "list"}
    assert "index" not in found.items[1].block.value()
    assert found.extra["message"] == {"x_trace": "t"}
    assert found.extra["choices"] == [{"message": {"content": "b"}}]


def test_responses_tells_why_it_stopped() -> None:
    body = {"id": "r", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}
    assert DIALECTS["openai_responses"].decode_response(body).stop_reason == "max_output_tokens"
    queued = DIALECTS["openai_responses"].decode_response({"id": "r", "status": "queued", "output": []})
    assert not queued.complete
