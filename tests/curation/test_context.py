"""Contexts: which blocks wait for an answer."""

from __future__ import annotations

import pytest

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
