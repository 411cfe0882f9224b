"""Exchanges with providers as calls of threads."""

from __future__ import annotations

import json
from typing import Any

from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, Sender

PLAN = "A plan with more than forty characters, so that a text with it quotes it."


def exchange(session: str, asked: str, answered: dict[str, Any], **more: Any) -> Exchange:
    tools = [{"name": "compact", "input_schema": {"type": "object"}}]
    request = {"model": "claude-sonnet-4-5", "max_tokens": 9, "tools": tools, **more}
    request["messages"] = [{"role": "user", "content": asked}]
    answer = {"id": f"msg_{session}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    answer |= {"content": [answered], "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 2}}
    bodies = (json.dumps(body).encode() for body in (request, answer))
    return Exchange(*bodies, "https://api.anthropic.com/v1/messages", sender=Sender(session=session))


def test_a_session_that_quotes_another_does_not_continue_it() -> None:
    exchanges = Exchanges(Tree())
    call = {"type": "tool_use", "id": "toolu_0123456789", "name": "compact", "input": {"plan": PLAN}}
    forced = {"type": "tool", "name": "compact"}
    list(exchanges.add_exchange(exchange("one", "go", call, tool_choice=forced)))
    list(exchanges.add_exchange(exchange("two", f"Review: {PLAN}", {"type": "text", "text": "Good."})))
    assert [call.thread for call in exchanges.threads.calls.values()] == ["main", "two"]
