"""Contexts: which blocks wait for an answer."""

from __future__ import annotations

import pytest

from ctxtui.curation.context import Context
from tests.curation.conversations import context_of

OWN_ANSWERS = ["web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "mcp_call"]


@pytest.mark.parametrize("kind", OWN_ANSWERS)
def test_a_call_that_holds_its_answer_waits_for_none(kind: str) -> None:
    call = {"type": kind, "id": "x_1", "status": "completed", "outputs": [{"type": "logs", "logs": "4"}]}
    asked = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    context, _ = context_of(
        {"model": "m", "input": [{"role": "user", "content": "2+2"}, call, asked]}, "openai_responses"
    )
    assert [context.items[p].block.kind for p in context.unanswered] == ["function_call"]


def test_a_result_of_chat_that_the_client_rewrote_is_found_by_the_id_of_its_call() -> None:
    def recorded(*results: str) -> Context:
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            for n, _ in enumerate(results)
        ]
        answers = [{"role": "tool", "tool_call_id": f"c{n}", "content": text} for n, text in enumerate(results)]
        messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": calls}, *answers]
        return context_of({"model": "m", "messages": messages}, "openai_chat")[0]

    before, after = recorded("a long text", "other"), recorded("a …", "other")
    position = next(p for p in range(len(before)) if before.reading(p).text == "a long text")
    target = before.target(position)
    assert target.id == "answer c0" and after.find(target) == position
