"""Codex's requests to models that it knows: tools as an item, scripts that call tools, agents, compaction."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest

from ctxtui.offline import RunningProvider
from ctxtui.offline.conversation import ToolOffer, tools_in
from tests.offline import talks
from tests.offline.test_client_traffic import CODEX, post

Body = dict[str, Any]


def answered(running: RunningProvider, body: Body) -> list[Body]:
    """The output items of the answer to `body`, thinking left out."""
    status, told = post(running, "/v1/responses", CODEX, json.dumps(body).encode())
    assert status == 200, told
    return [item for item in json.loads(told)["output"] if item["type"] != "reasoning"]


def loop(running: RunningProvider, body: Body, run: Callable[[Body], str]) -> tuple[list[Body], str]:
    """Until the model rests: its calls, and what it says then. `run` gives the result of a call."""
    calls: list[Body] = []
    for _ in range(10):
        output = answered(running, body)
        made = [item for item in output if "call_id" in item]
        calls += made
        if not made:
            return calls, output[-1]["content"][0]["text"]
        body = talks.codex_after(body, output, {call["call_id"]: run(call) for call in made})
    raise AssertionError("it never rests")


def test_a_command_is_a_script_that_codex_takes(running: RunningProvider) -> None:
    calls, said = loop(running, talks.codex("run `git status` then run `ls`"), lambda call: "clean")
    assert [(call["type"], call["namespace"], call["name"]) for call in calls] == [
        ("custom_tool_call", "functions", "exec")
    ] * 2
    assert calls[0]["input"] == 'const r = await tools.exec_command({"cmd": "git status"});\ntext(r?.output ?? r);\n'
    assert calls[0]["id"].startswith("ctc_")
    assert 'exec_command {"cmd": "ls"}: 1 line, `clean`' in said


@pytest.mark.parametrize(
    ("task", "script"),
    [
        ("read a.txt", 'tools.exec_command({"cmd": "cat a.txt"})'),
        ("find 'x y' in src", """tools.exec_command({"cmd": "grep -rn -e 'x y' src"})"""),
        ("list src", 'tools.exec_command({"cmd": "ls src"})'),
        ("call apply_patch `*** Begin Patch`", 'tools.apply_patch("*** Begin Patch")'),
        ('call apply_patch `{"patch":"*** Begin\\nPatch"}`', 'tools.apply_patch("*** Begin\\nPatch")'),
        ('call exec_command `{"cmd":"ls -la"}`', 'tools.exec_command({"cmd": "ls -la"})'),
        ("call update_goal", 'tools.update_goal({"status": "complete"})'),
    ],
)
def test_what_a_script_calls(task: str, script: str, running: RunningProvider) -> None:
    assert script in answered(running, talks.codex(task))[-1]["input"]


def test_a_script_of_the_person_is_sent_as_it_is(running: RunningProvider) -> None:
    assert answered(running, talks.codex("call exec `text(1)`"))[-1]["input"] == "text(1)"


def test_tools_in_namespaces_are_called_there(running: RunningProvider) -> None:
    task = 'call spawn_agent `{"task_name":"count","message":"run ls"}`'
    call = answered(running, talks.codex(task))[-1]
    assert (call["type"], call["namespace"], call["name"]) == ("function_call", "collaboration", "spawn_agent")
    assert json.loads(call["arguments"]) == {"task_name": "count", "message": "run ls"}


def agent_message(head: str, payload: str, kind: str = "encrypted_content") -> Body:
    key = "text" if kind == "input_text" else kind
    first = {"type": "input_text", "text": f"Message Type: {head}\nTask name: /root/count\nSender: /root\nPayload:\n"}
    content = [first, {"type": kind, key: payload}]
    return {"type": "agent_message", "author": "/root", "recipient": "/root/count", "content": content}


def test_a_message_from_another_agent_is_a_task(running: RunningProvider) -> None:
    body = talks.codex()
    body["input"][-1:] = [agent_message("NEW_TASK", 'run "wc -l data/orders.csv"')]
    calls, said = loop(running, body, lambda call: "621 data/orders.csv")
    assert len(calls) == 1
    assert '{"cmd": "wc -l data/orders.csv"}' in calls[0]["input"]
    assert "621" in said


def test_what_an_agent_found_is_no_task(running: RunningProvider) -> None:
    """It quotes commands, and to run those again would never end."""
    body = talks.codex("how many orders?")
    body["input"].append(agent_message("FINAL_ANSWER", "run `wc -l`: 621 orders", "input_text"))
    calls, said = loop(running, body, lambda call: "again")
    assert not calls
    assert "621 orders" in said


def test_compaction_is_one_item_that_keeps_what_was_said(running: RunningProvider) -> None:
    output = answered(running, talks.codex_compacting())
    assert [item["type"] for item in output] == ["compaction"]
    later = talks.codex_compacted(output[0]["encrypted_content"])
    assert "8080" in answered(running, later)[-1]["content"][0]["text"]
    status, told = post(running, "/v1/responses", CODEX, json.dumps(talks.codex_compacting(stream=True)).encode())
    events = [json.loads(line[6:]) for line in told.decode().splitlines() if line.startswith("data: ")]
    done = [event["item"]["type"] for event in events if event["type"] == "response.output_item.done"]
    assert (status, done, events[-1]["response"]["output"][0]["type"]) == (200, ["compaction"], "compaction")
    assert events[-1]["response"]["usage"]["output_tokens"] > 3


def test_a_tool_that_says_custom_and_has_a_schema_takes_an_object() -> None:
    """So Anthropic's own tools are called where a client (litellm) spells their type out."""
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    (tool,) = tools_in([{"type": "custom", "name": "bash", "description": "Run", "input_schema": schema}])
    assert isinstance(tool, ToolOffer) and not tool.free
    assert tool.schema == schema


def test_custom_tools_of_the_sdk(gpt: openai.OpenAI) -> None:
    """Free text goes in as it is, streamed or not; the SDK reads it."""
    tool: Any = {"type": "custom", "name": "run_code", "description": "Runs code"}
    with gpt.responses.stream(model="offline", input="call run_code `1 + 1`", tools=[tool]) as stream:
        events = [event.type for event in stream]
        final = stream.get_final_response()
    call = final.output[-1]
    assert call.type == "custom_tool_call" and call.input == "1 + 1"
    assert "response.custom_tool_call_input.delta" in events
    made: Any = [call.to_dict(), talks.result_of(call.call_id, "2")]
    answer = gpt.responses.create(
        model="offline", input=[{"role": "user", "content": "call run_code `1 + 1`"}, *made], tools=[tool]
    )
    assert "run_code 1 + 1: 1 line, `2`" in answer.output_text


@pytest.mark.parametrize(
    "description",
    [
        "",
        "```ts\n```",
        "```ts\ndeclare const tools: { a(",
        "```ts\ndeclare const tools: { a(args: {\n```\n",
        "### `a`\n```ts\ndeclare const other: { a(x: string): Promise<unknown>; };\n```",
        "```ts\ndeclare const tools: { a(args: {\n  b: string;\n" * 50,
        "`" * 10_000,
    ],
)
def test_descriptions_that_declare_nothing_whole(description: str) -> None:
    tools = list(tools_in([{"type": "custom", "name": "exec", "description": description}]))
    assert tools[-1].name == "exec"
    assert all(isinstance(tool, ToolOffer) for tool in tools)


def test_namespaces_in_namespaces_have_no_tools() -> None:
    deep: Body = {"type": "function", "name": "inner", "parameters": {"type": "object"}}
    for _ in range(200):
        deep = {"type": "namespace", "name": "more", "tools": [deep]}
    assert list(tools_in([deep])) == []
    assert [tool.name for tool in tools_in([{"type": "namespace"}, {"type": "namespace", "tools": 3}, None, "x"])] == []


def test_the_members_of_nested_types_are_no_arguments() -> None:
    told = """### `web__run`
Searches.

exec tool declaration:
```ts
declare const tools: { web__run(args: {
  // Opens { pages }.
  open?: Array<{
  ref_id: string;
  lineno?: number;
}>;
  query?: string;
}): Promise<unknown>; };
```
"""
    found = next(iter(tools_in([{"type": "custom", "name": "exec", "description": told}])))
    assert (found.name, found.description) == ("web__run", "Searches.")
    assert list(found.schema["properties"]) == ["open", "query"]
    assert found.schema["required"] == []
