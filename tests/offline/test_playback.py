"""A recorded session's answers, played again; and the command that does it."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ctxtui.offline import Provider, Server, offline
from ctxtui.offline.answer import LENGTH
from ctxtui.offline.playback import Playback, RecordedCall
from ctxtui.wire.registry import DIALECTS
from tests.offline.loop import CHAT_TOOLS, READ, anthropic_loop
from tests.pty_app import environment, plant
from tests.warm import warm_ctxtui


def recorded(task: str) -> tuple[list[RecordedCall], list[str]]:
    """The calls of a session with the offline model, and what it said in each."""
    calls: list[RecordedCall] = []
    with offline() as running, anthropic.Anthropic(api_key="x", base_url=running.url) as client:
        _, answers = anthropic_loop(client, task)
        for seen, answer in zip(running.server.seen, answers, strict=True):
            request = DIALECTS["anthropic"].decode_request(seen.body, None)
            response = DIALECTS["anthropic"].decode_response(answer.to_dict())
            calls.append((request.items, response.items, response.stop_reason))
    texts = ["".join(block.text for block in answer.content if block.type == "text") for answer in answers]
    return calls, texts


def test_by_context_then_by_number() -> None:
    calls, texts = recorded("read a.txt then read b.txt")
    server = Server(Provider(playback=Playback(calls)))
    with offline(server) as running, anthropic.Anthropic(api_key="x", base_url=running.url) as client:
        _, again = anthropic_loop(client, "read a.txt then read b.txt")
        assert ["".join(b.text for b in a.content if b.type == "text") for a in again] == texts
        # Another question: the first answer all the same.
        other = client.messages.create(
            model="offline",
            max_tokens=900,
            tools=[READ],
            messages=[{"role": "user", "content": "something else"}],  # type: ignore[list-item]
        )
        assert other.content[-1].name == "read_file"  # type: ignore[union-attr]
        # More answers than were recorded: its own.
        talk: Any = [{"role": role, "content": role} for role in ("user", "assistant") * 5] + [
            {"role": "user", "content": "hello"}
        ]
        own = client.messages.create(model="offline", max_tokens=900, messages=talk)
        assert "no model is running" in own.content[-1].text  # type: ignore[union-attr]
    with offline(server) as running, openai.OpenAI(api_key="x", base_url=running.openai_url) as client_:
        said = client_.chat.completions.create(
            model="offline", tools=CHAT_TOOLS, messages=[{"role": "user", "content": "read a.txt then read b.txt"}]
        )
        calls_ = said.choices[0].message.tool_calls
        assert calls_ and [json.loads(c.function.arguments) for c in calls_ if c.type == "function"] == [
            {"path": "a.txt"}
        ]


def test_an_answer_that_thinks_twice_can_be_sent_again() -> None:
    content = [
        {"type": "thinking", "thinking": "A first thought.", "signature": "c2lnbmF0dXJl"},
        {"type": "text", "text": "One."},
        {"type": "thinking", "thinking": "A second thought.", "signature": "c2lnbmF0dXJl"},
        {"type": "text", "text": "Two."},
    ]
    response = DIALECTS["anthropic"].decode_response({"role": "assistant", "content": content, "usage": {}})
    server = Server(Provider(playback=Playback([((), response.items, "end_turn")])))
    asked: Any = [{"role": "user", "content": "think twice"}]
    with offline(server) as running, anthropic.Anthropic(api_key="x", base_url=running.url) as client:
        said = client.messages.create(model="offline", max_tokens=900, messages=asked)
        assert [block.type for block in said.content] == ["thinking", "text", "thinking", "text"]
        asked += [{"role": "assistant", "content": said.to_dict()["content"]}, {"role": "user", "content": "go on"}]
        assert client.messages.create(model="offline", max_tokens=900, messages=asked).stop_reason == "end_turn"


@contextmanager
def command(home: Path, *arguments: str) -> Iterator[tuple[dict[str, str], subprocess.Popen[str]]]:
    asked = [*warm_ctxtui(), "offline", "--port", "0", "--json", *arguments]
    with subprocess.Popen(
        asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(home)
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline()), process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=10)


def test_the_command(tmp_path: Path) -> None:
    path = plant(tmp_path / "home", tmp_path, messages=20)
    with command(tmp_path / "home", "--play", str(path), "--fault", "529;times=1", "--rpm", "3") as (told, process):
        assert set(told) == {"schema_version", "url", "openai_url", "model"}
        with anthropic.Anthropic(api_key="x", base_url=told["url"], max_retries=0) as client:
            asked: Any = {
                "model": "claude-opus-4-8",
                "max_tokens": 9000,
                "messages": [{"role": "user", "content": "hello"}],
            }
            with pytest.raises(anthropic.InternalServerError):
                client.messages.create(**asked)
            answer = client.messages.create(**asked)
            assert "no model" not in str(answer.content)
            client.messages.create(**asked)
            client.messages.create(**asked)
            with pytest.raises(anthropic.RateLimitError):
                client.messages.create(**asked)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--fault", "nothing"], 2, "no fault 'nothing'"),
        (["--play", "none.jsonl"], 5, "none.jsonl"),
        (["--window", "9999"], 2, "needs --as"),
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    asked = [*warm_ctxtui(), "offline", *arguments]
    done = subprocess.run(asked, capture_output=True, text=True, env=environment(tmp_path), timeout=30)
    assert (done.returncode, words in done.stderr) == (code, True)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with offline() as running:
        port = running.url.rpartition(":")[2]
        asked = [*warm_ctxtui(), "offline", "--port", port]
        done = subprocess.run(asked, capture_output=True, text=True, env=environment(tmp_path), timeout=30)
    assert done.returncode == 2
    assert f"port {port} cannot be opened" in done.stderr


@pytest.mark.parametrize("reason", ["max_tokens", "length", "max_output_tokens", "MAX_TOKENS"])
def test_an_answer_that_was_cut_ends_as_cut_again(reason: str) -> None:
    request = DIALECTS["anthropic"].decode_request(b'{"messages":[{"role":"user","content":"hi"}]}', None)
    answered = DIALECTS["anthropic"].decode_response({"content": [{"type": "text", "text": "I be"}]}).items
    answer = Playback([(request.items, answered, reason)]).answer(request)
    assert answer is not None and answer.ended == LENGTH


def test_ids_of_two_runs(tmp_path: Path) -> None:
    ids = []
    for options in [(), (), ("--seed", "7"), ("--seed", "7")]:
        with command(tmp_path, *options) as (told, _), anthropic.Anthropic(api_key="x", base_url=told["url"]) as client:
            hello: Any = [{"role": "user", "content": "hello"}]
            ids.append(client.messages.create(model="offline", max_tokens=99, messages=hello).id)
    assert ids[0] != ids[1] and ids[2] == ids[3]
