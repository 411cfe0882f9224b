"""Whatever is sent: an answer or a refusal, never a fault of the server's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.offline.anthropic import validate
from ctxtui.offline.exchange import NotJson, Refusal, Reply, StoredResponse, parse
from ctxtui.offline.http.routes import ROUTES, serve
from ctxtui.offline.openai import validate_chat, validate_responses
from ctxtui.offline.provider import Provider, SetClock
from tests.offline.signing import sign_all
from tests.offline.talks import Body, anthropic, chat, claude_code_compacted, codex, codex_compacted, responses
from tests.wire.hostile import JSONS, spelled

HEADERS = {"authorization": "Bearer x", "anthropic-version": "2026-10-21", "anthropic-beta": "compact-2026-01-12"}
PATHS = {"/v1/messages": "anthropic", "/v1/chat/completions": "openai_chat", "/v1/responses": "openai_responses"}
LEGAL = [
    ("/v1/messages", anthropic),
    ("/v1/messages", claude_code_compacted),
    ("/v1/chat/completions", chat),
    ("/v1/responses", responses),
    ("/v1/responses", codex),
    ("/v1/responses", codex_compacted),
]
THREADS = {
    **HEADERS,
    "anthropic-beta": "message-threads-2026-08-12,dangerous-tool-use-2026-09-03,context-management-2025-06-27",
}


@pytest.mark.parametrize("path", PATHS)
@given(data=st.data())
def test_any_body(path: str, data: st.DataObject) -> None:
    raw = data.draw(spelled(PATHS[path]))
    try:
        body = parse(raw) | {"model": "offline", "max_tokens": 100} if data.draw(st.booleans()) else None
    except NotJson:
        body = None
    sent = raw if body is None else json.dumps(body).encode()
    got = serve(ROUTES[path], Provider(clock=SetClock()), sent, HEADERS)
    assert isinstance(got, Refusal) or got.status == 200


@pytest.mark.parametrize(("path", "legal"), LEGAL)
@given(data=st.data())
def test_a_legal_body_with_something_odd_in_it(path: str, legal: Callable[..., Body], data: st.DataObject) -> None:
    body = legal(model="offline")
    inner: Any = body
    # Down to a random place.
    for _ in range(data.draw(st.integers(0, 5))):
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner))) if isinstance(inner, list) else []
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(inner[key], (dict, list)):
            break
        inner = inner[key]
    odd = json.loads(json.dumps(data.draw(JSONS), default=str))
    if isinstance(inner, dict):
        inner[data.draw(st.sampled_from([*inner, "type", "content", "id"]))] = odd
    elif inner:
        inner[data.draw(st.integers(0, len(inner) - 1))] = odd
    got = serve(ROUTES[path], Provider(clock=SetClock()), json.dumps(body).encode(), HEADERS)
    assert isinstance(got, (Refusal, Reply))


TASKS = st.lists(
    st.sampled_from(["read a.txt", "find x in y", "then list z", "hello", "say 3 words", "run `ls`", "which port?"]),
    min_size=1,
    max_size=4,
)


@given(
    tasks=TASKS,
    results=st.lists(st.text(max_size=20), min_size=1, max_size=3),
    model=st.sampled_from(["offline", "claude-opus-4-8", "claude-sonnet-4-5"]),
)
def test_what_it_answers_it_takes_back(tasks: list[str], results: list[str], model: tuple[str, str]) -> None:
    """Conversations that only grow are never refused, thinking and all."""
    provider = Provider(clock=SetClock())
    body = anthropic(
        model=model,
        messages=[],
        thinking={"type": "adaptive"} if model != "claude-sonnet-4-5" else {"type": "disabled"},
    )
    for task in tasks:
        body["messages"].append({"role": "user", "content": task})
        for _ in range(6):
            got = serve(ROUTES["/v1/messages"], provider, json.dumps(body).encode(), HEADERS)
            assert isinstance(got, Reply), got
            body["messages"].append({"role": "assistant", "content": got.body["content"]})
            calls = [block for block in got.body["content"] if block["type"] == "tool_use"]
            if not calls:
                break
            told = [
                {"type": "tool_result", "tool_use_id": c["id"], "content": results[n % len(results)]}
                for n, c in enumerate(calls)
            ]
            body["messages"].append({"role": "user", "content": told})
    assert validate.refusals(sign_all(body | {"messages": body["messages"][:-1]})) == []


@given(data=st.data())
def test_a_frame_with_something_odd_in_it(data: st.DataObject) -> None:
    frame = {"type": "response.create", **codex(model="offline")}
    frame[data.draw(st.sampled_from([*frame, "generate", "stream_id", "previous_response_id"]))] = data.draw(JSONS)
    held: dict[str, StoredResponse] = {}
    raw = json.dumps(frame, default=str).encode()
    got = serve(ROUTES["/v1/responses"], Provider(clock=SetClock()), raw, HEADERS, held)
    assert isinstance(got, (Refusal, Reply))


@given(thread=JSONS, messages=JSONS)
def test_any_thread(thread: Any, messages: Any) -> None:
    provider = Provider(clock=SetClock())
    begun = serve(ROUTES["/v1/messages"], provider, json.dumps(anthropic(thread={"type": "create"})).encode(), THREADS)
    assert isinstance(begun, Reply)
    going = {"type": "continue", "previous_message_id": begun.body["id"]}
    for odd in ({"thread": thread}, {"thread": going, "messages": messages}, {"safeguards": messages}):
        body = json.dumps(anthropic(**odd), default=str).encode()
        assert isinstance(serve(ROUTES["/v1/messages"], provider, body, THREADS), (Refusal, Reply))


@given(description=st.text(), members=st.lists(st.text(max_size=20), max_size=5))
def test_any_description_of_a_tool_that_takes_code(description: str, members: list[str]) -> None:
    declared = "declare const tools: { a(args: {\n" + "\n".join(members) + "\n}): Promise<unknown>; };"
    told = f"{description}\n```ts\n{declared}\n```\n{description}"
    tools = [{"type": "custom", "name": "exec", "description": told}]
    body = codex("run `ls` then call a", model="offline", tools=tools)
    got = serve(ROUTES["/v1/responses"], Provider(clock=SetClock()), json.dumps(body).encode(), HEADERS)
    assert isinstance(got, Reply), got


@given(schema=JSONS, inner=JSONS)
def test_any_schema_of_a_tool(schema: Any, inner: Any) -> None:
    made = json.loads(json.dumps({"type": "object", "properties": {"path": schema}, "required": inner}, default=str))
    tool = {"name": "read_file", "input_schema": made}
    body = anthropic(model="offline", tools=[tool], tool_choice={"type": "any"}, thinking={"type": "disabled"})
    got = serve(ROUTES["/v1/messages"], Provider(clock=SetClock()), json.dumps(body).encode(), HEADERS)
    assert isinstance(got, (Refusal, Reply))


def test_every_validator_takes_anything() -> None:
    for odd in (None, 3, [], "x", {}, {"model": 3}, {"model": "offline", "messages": 3, "input": 3}):
        assert validate.refusals(odd)
        assert validate_chat.refusals(odd)
        assert validate_responses.refusals(odd)
