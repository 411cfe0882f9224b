"""Answers that were written beforehand: in their order, whatever the context holds; by what was said last."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ctxtui.core.errors import BadConfig
from ctxtui.offline import Provider, Server, offline
from ctxtui.offline.script import parse_script
from tests.offline.loop import CHAT_TOOLS, READ
from tests.offline.test_playback import command
from tests.pty_app import environment
from tests.warm import warm_ctxtui

LINES = [
    {"text": "First I read.", "calls": [{"name": "read_file", "input": {"path": "a.txt"}}]},
    {"calls": [{"name": "read_graph", "input": {}}]},
    {"thinking": "That was all.", "text": "done"},
]


def script(*lines: object) -> str:
    return "\n\n".join(json.dumps(line) for line in lines)


def asked(client: anthropic.Anthropic, words: str, tools: Any = (READ,)) -> list[Any]:
    told: Any = [{"role": "user", "content": words}]
    return client.messages.create(model="offline", max_tokens=900, tools=list(tools), messages=told).content


def test_one_after_the_other_whatever_the_context_holds() -> None:
    graph = {**READ, "name": "mcp__memory__read_graph"}
    server = Server(Provider(playback=parse_script(script(*LINES))))
    with offline(server) as running, anthropic.Anthropic(api_key="x", base_url=running.url) as client:
        # The context never grows: a window that slid took everything else.
        text, call = (block for block in asked(client, "go") if block.type != "thinking")
        assert (text.text, call.name, call.input) == ("First I read.", "read_file", {"path": "a.txt"})
        found = asked(client, "go", (READ, graph))[-1]
        assert found.name == "mcp__memory__read_graph", "by the end of the name that is offered"
        assert asked(client, "go")[-1].text == "done"
        assert "no model is running" in asked(client, "go")[-1].text, "after the last one its own"


@pytest.mark.parametrize("name", ["mcp__memory__read_graph", "memory_read_graph"])
def test_a_server_name_before_the_tool_as_each_client_writes_it(name: str) -> None:
    server = Server(Provider(playback=parse_script(script({"calls": [{"name": "read_graph"}]}))))
    with offline(server) as running, anthropic.Anthropic(api_key="x", base_url=running.url) as client:
        assert asked(client, "go", (READ, {**READ, "name": name}))[-1].name == name


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    server = Server(Provider(playback=parse_script('{"text": "a\u2028b"}\r\n')))
    with offline(server) as running, anthropic.Anthropic(api_key="x", base_url=running.url) as client:
        assert asked(client, "go", ())[-1].text == "a\u2028b"


def test_the_same_script_in_another_dialect() -> None:
    server = Server(Provider(playback=parse_script(script(*LINES))))
    with offline(server) as running, openai.OpenAI(api_key="x", base_url=running.openai_url) as client:
        told: Any = [{"role": "user", "content": "go"}]
        said = client.chat.completions.create(model="offline", tools=CHAT_TOOLS, messages=told).choices[0]
        assert said.finish_reason == "tool_calls" and said.message.content == "First I read."
        assert said.message.tool_calls and said.message.tool_calls[0].function.arguments == '{"path":"a.txt"}'  # type: ignore[union-attr]


def test_by_what_was_said_last() -> None:
    text = script(
        {"when": "child", "again": True, "text": "a program"}, {"text": "root"}, {"when": "no one", "text": "x"}
    )
    server = Server(Provider(playback=parse_script(text)))
    with offline(server) as running, anthropic.Anthropic(api_key="x", base_url=running.url) as client:
        said = [asked(client, words, ())[-1].text for words in ("a child", "the root", "another child")]
        assert said == ["a program", "root", "a program"]
        assert "no model is running" in asked(client, "once more", ())[-1].text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Expecting"),
        ("[1]", "not an object"),
        ('{"say": "x"}', "unknown member say"),
        ('{"when": "x"}', "neither text nor calls"),
        ('{"text": 3}', "text is not text"),
        ('{"calls": [{"input": {}}]}', "without the name"),
        ('{"text": "x", "calls": {"name": "read_file"}}', "calls is not a list"),
        ('{"text": "x", "again": "true"}', "again is not true or false"),
    ],
)
def test_what_is_no_script(line: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why) as found:
        parse_script(f'{{"text": "fine"}}\n{line}\n', "rounds.jsonl")
    assert found.value.place == "rounds.jsonl:2" and found.value.way_out


def test_nothing_is_no_script() -> None:
    with pytest.raises(BadConfig, match="has no answer"):
        parse_script("\n \n")


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "rounds.jsonl").write_text(script(*LINES))
    with (
        command(tmp_path / "home", "--script", str(tmp_path / "rounds.jsonl")) as (told, process),
        anthropic.Anthropic(api_key="x", base_url=told["url"]) as client,
    ):
        assert asked(client, "go")[-1].name == "read_file"
    assert process.returncode == 0
    (tmp_path / "bad.jsonl").write_text("nothing")
    for arguments, code, words in (
        (["--script", str(tmp_path / "bad.jsonl")], 2, "bad.jsonl:1"),
        (["--script", str(tmp_path / "rounds.jsonl"), "--play", "last"], 2, "exclude each other"),
    ):
        told_ = [*warm_ctxtui(), "offline", "--port", "0", *arguments]
        done = subprocess.run(told_, capture_output=True, text=True, env=environment(tmp_path), timeout=30)
        assert (done.returncode, words in done.stderr) == (code, True), done.stderr


def test_a_line_that_is_nested_too_deeply() -> None:
    with pytest.raises(BadConfig, match="not a scripted answer") as caught:
        parse_script('{"text": "a"}\n' + "[" * 100_000, "deep.jsonl")
    assert caught.value.place == "deep.jsonl:2"
