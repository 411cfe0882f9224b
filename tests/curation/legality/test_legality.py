"""What each provider refuses, named by its place."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.curation.legality.legality import check
from ctxtui.tokens.models import RequestLimits
from ctxtui.wire.registry import DIALECTS
from tests.cases.sessions import PNG

USE = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
SAY = {"type": "text", "text": "hi"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
CALL = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
SERVED = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
MCP = {"type": "mcp_tool_use", "id": "mcp", "name": "n", "server_name": "s", "input": {}}
MCP_RESULT = {"type": "mcp_tool_result", "tool_use_id": "mcp", "content": []}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}


def inside(*parts: Any) -> dict[str, Any]:
    return {**RESULT, "content": list(parts)}


def anthropic(*messages: Any, **more: Any) -> Any:
    return {"model": "m", "max_tokens": 1, "messages": [{"role": r, "content": c} for r, c in messages], **more}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (anthropic(("user", "hi")), []),
        (anthropic(("user", "hi"), ("assistant", [USE]), ("user", [RESULT, SAY])), []),
        (anthropic(("user", "hi"), ("assistant", [SAY]), ("assistant", [USE]), ("user", [RESULT])), []),
        (anthropic(("user", "a"), ("assistant", [USE]), ("user", [RESULT]), ("user", "b")), []),
        (anthropic(("assistant", [{"type": "compaction", "content": "x"}]), ("user", "b")), []),
        (anthropic(("user", "hi"), ("assistant", [USE])), ["$.messages[1].content[0]"]),
        (anthropic(("user", "hi"), ("assistant", [USE]), ("user", [SAY])), ["$.messages[1].content[0]"]),
        (anthropic(("user", "a"), ("assistant", [USE]), ("system", "s"), ("user", [RESULT])),
         ["$.messages[1].content[0]", "$.messages[3].content[0]", "$.messages[2]", "$.messages[2]"]),
        (anthropic(("user", "hi"), ("assistant", [USE]), ("user", [SAY, RESULT])), ["$.messages[2].content[1]"]),
        (anthropic(("user", [RESULT])), ["$.messages[0].content[0]"]),
        (anthropic(("user", "a"), ("assistant", [USE, USE]), ("user", [RESULT])), ["$.messages[1].content[1].id"]),
        (anthropic(("user", [USE])), ["$.messages[0].content[0]"]),
        (anthropic(("assistant", "hi")), ["$.messages[0].role"]),
        (anthropic(("tool", "hi")), ["$.messages[0].role", "$.messages[0].role"]),
        (anthropic(("user", " ")), ["$.messages[0].content"]),
        (anthropic(("user", [{"type": "text", "text": ""}])), ["$.messages[0].content[0].text"]),
        (anthropic(("user", [])), ["$.messages[0].content"]),
        (anthropic(("user", [3])), ["$.messages[0].content[0]"]),
        (anthropic(("user", "a"), ("assistant", [{**USE, "input": "x"}]), ("user", [RESULT])),
         ["$.messages[1].content[0].input"]),
        (anthropic(("user", "a"), ("assistant", [USE]), ("user", [RESULT, RESULT])), ["$.messages[2].content[1]"]),
        (anthropic(("user", "a"), ("assistant", [USE]), ("user", [inside({"type": "text", "text": " "}, SAY)])),
         ["$.messages[2].content[0].content"]),
        (anthropic(("user", "a"), ("assistant", [USE]), ("user", [inside(SAY, IMAGE)])), []),
        (anthropic(("user", "a"), ("assistant", [USE]), ("user", [{**inside(SAY, IMAGE), "is_error": True}])),
         ["$.messages[2].content[0].content"]),
        (anthropic(("user", "a"), ("assistant", [SERVED, FOUND, SAY])), []),
        (anthropic(("user", "a"), ("assistant", [SERVED])), []),
        (anthropic(("user", "a"), ("assistant", [SERVED, USE]), ("user", [RESULT])), []),
        (anthropic(("user", "a"), ("assistant", [SERVED, USE]), ("user", [RESULT, SAY])), ["$.messages[1].content[0]"]),
        (anthropic(("user", "a"), ("assistant", [SERVED]), ("user", "b")), ["$.messages[1].content[0]"]),
        (anthropic(("user", [SERVED, FOUND, SAY])), ["$.messages[0].content[0]", "$.messages[0].content[1]"]),
        (anthropic(("user", [MCP, MCP_RESULT, SAY])), ["$.messages[0].content[0]", "$.messages[0].content[1]"]),
        (anthropic(("user", "a"), ("assistant", [MCP, MCP_RESULT, SAY])), []),
        (anthropic(("user", "a"), ("assistant", [MCP, MCP, MCP_RESULT, SAY])), ["$.messages[1].content[1].id"]),
        (
            anthropic(("user", "a"), ("assistant", [SERVED, FOUND]), ("user", "b"), ("assistant", [SERVED, FOUND])),
            ["$.messages[3].content[0].id"],
        ),
        (anthropic(("user", "a"), ("assistant", [FOUND, SAY])), ["$.messages[1].content[0]"]),
        (anthropic(), ["$.messages"]),
        (anthropic(("user", "hi"), max_tokens=None), ["$.max_tokens"]),
        ({"messages": [3], "max_tokens": 1}, ["$.messages[0]"]),
        ([], ["$"]),
    ],
)  # fmt: skip
def test_anthropic(body: Any, paths: list[str]) -> None:
    assert [v.path for v in check("anthropic", canonical.dumps(body))] == paths


@pytest.mark.parametrize(
    ("end", "paths"),
    [
        ([SAY], ["$.messages[1]"]),
        ([SERVED, FOUND, SAY], ["$.messages[1]"]),
        ([SAY, SERVED], []),
        ([SERVED, FOUND], []),
        ([MCP, MCP_RESULT], []),
        ("It", ["$.messages[1]"]),
    ],
)
def test_only_a_paused_turn_ends_with_the_assistant_without_prefill(end: Any, paths: list[str]) -> None:
    body = anthropic(("user", "hi"), ("assistant", end))
    assert [v.path for v in check("anthropic", body, limits=RequestLimits(prefill=False))] == paths


@pytest.mark.parametrize(
    ("messages", "paths"),
    [
        ([{"role": "user", "content": "x"}, {"role": "user", "content": "y"}], []),
        ([{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c", "content": "x"}], []),
        ([{"role": "assistant", "tool_calls": [CALL]}], ["$.messages"]),
        ([{"role": "assistant", "tool_calls": [CALL]}, {"role": "user", "content": "x"}], ["$.messages[1]"]),
        ([{"role": "tool", "tool_call_id": "c", "content": "x"}], ["$.messages[0]"]),
        ([{"role": "user", "content": None}], ["$.messages[0].content"]),
        ([{"role": "assistant", "content": "x", "tool_calls": []}], ["$.messages[0].tool_calls"]),
        ([{"role": "assistant", "tool_calls": [CALL]},
          {"role": "tool", "tool_call_id": "c", "content": [SAY, PICTURE]}], ["$.messages[1].content[1]"]),
        ([{"role": "user", "content": [PICTURE]}], []),
        ([{"role": "boss", "content": "x"}], ["$.messages[0].role"]),
        ([], ["$.messages"]),
    ],
)  # fmt: skip
def test_chat(messages: Any, paths: list[str]) -> None:
    assert [v.path for v in check("openai_chat", {"messages": messages})] == paths


FC = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
OUT = {"type": "function_call_output", "call_id": "c", "output": "x"}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"input": "x"}, []),
        ({"input": [{"role": "user", "content": "x"}, FC, OUT]}, []),
        ({"input": [OUT], "previous_response_id": "r"}, []),
        ({"input": [FC]}, ["$.input[0]"]),
        ({"input": [OUT]}, ["$.input[0]"]),
        ({"input": [OUT, FC]}, ["$.input[0]", "$.input[1]"]),
        ({"input": [{**FC, "type": "custom_tool_call"}, OUT]}, ["$.input[1]", "$.input[0]"]),
        ({"input": [{"role": "tool", "content": "x"}]}, ["$.input[0].role"]),
        ({"input": [{"role": "user", "content": []}, 3]}, ["$.input[0].content", "$.input[1]"]),
        ({"input": [THOUGHT, FC, OUT, THOUGHT, FC | {"call_id": "d"}, OUT | {"call_id": "d"}]}, ["$.input[3]"]),
        ({"input": ""}, ["$.input"]),
    ],
)
def test_responses(body: Any, paths: list[str]) -> None:
    assert [v.path for v in check("openai_responses", body)] == paths


@pytest.mark.parametrize(("dialect", "key"), [("openai_chat", "messages"), ("openai_responses", "input")])
def test_a_breakpoint_of_the_assistant_is_named_by_its_place(dialect: str, key: str) -> None:
    kind = "output_text" if key == "input" else "text"
    answer = [{"type": kind, "text": "a", "prompt_cache_breakpoint": {}}]
    body = {"model": "m", key: [{"role": "user", "content": "hi"}, {"role": "assistant", "content": answer}]}
    assert f"$.{key}[1].content[0]" in [violation.path for violation in check(dialect, body)]


@pytest.mark.parametrize("role", [["user"], {"a": 1}, 3, True, "nobody"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_odd_role_is_named(dialect: str, role: Any) -> None:
    message = {"role": role, "content": "hi", "parts": [{"text": "hi"}]}
    body = {"model": "m", "max_tokens": 1, **{key: [message] for key in ("messages", "input", "contents")}}
    paths = [violation.path for violation in check(dialect, body)]
    assert dialect == "ollama_chat" or any(path.endswith("[0].role") for path in paths)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_body_that_is_nested_too_deeply_is_named(dialect: str) -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    for body in (b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", {"messages": value, "contents": value}):
        assert [violation.message for violation in check(dialect, body)] == ["the body is nested too deeply"]
