"""A chat that ended in the middle is put together again so that its provider takes it."""

from __future__ import annotations

import pytest

from ctxtui.agent.conversation import ConversationStart, begin
from ctxtui.core.canonical import dumps
from ctxtui.core.tree import Tree
from ctxtui.curation.legality.legality import check
from ctxtui.services.chat.resume import STOPPED_RESULT, recover
from ctxtui.wire.registry import DIALECTS

CALL = {"id": "t", "type": "function", "function": {"name": "list_dir", "arguments": "{}"}}
ANSWERS = {
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "list_dir", "input": {}}],
    },
    "openai_chat": {"choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [CALL]}}]},
    "openai_responses": {
        "output": [{"type": "function_call", "call_id": "t", "name": "list_dir", "arguments": "{}"}],
    },
}


@pytest.mark.parametrize("dialect", ANSWERS)
def test_a_call_that_was_under_way_when_the_program_ended_gets_a_result_that_says_so(dialect: str) -> None:
    talk = begin(Tree(), ConversationStart(dialect, {"model": "m", "max_tokens": 9}))
    talk.add_user_message("what is here?")
    talk.add_answer(DIALECTS[dialect].decode_response(dumps(ANSWERS[dialect])))
    found = recover(talk, [], dialect, frozenset(), "own")
    assert [(one.id, one.text, one.is_error) for one in found.stopped] == [("t", STOPPED_RESULT, True)]
    talk.add_user_message("go on")
    body = talk.draft().body
    assert STOPPED_RESULT.encode() in body and check(dialect, body) == []
