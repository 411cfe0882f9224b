"""`ctxtui exec --fork SESSION:CALL`: the way to a call is answered from the record, what comes then is live."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head
from ctxtui.cli.agent.exec import prefer_own_recording
from ctxtui.core.call import EDITS
from ctxtui.offline import Provider, RunningProvider, Server, offline
from ctxtui.services.attach.forking.fork_gate import ForkGate
from ctxtui.services.attach.forking.recorded_answers import RecordedAnswer, RecordedAnswers, messages_in
from ctxtui.services.config.paths import attached_dir
from ctxtui.services.recordings.open import load
from tests.cli.conftest import Run
from tests.warm import warm_ctxtui, warm_python

AGENT = """\
import sys, anthropic
client = anthropic.Anthropic(max_retries=0, api_key="k")
messages = []
for words in sys.argv[1:]:
    messages.append({"role": "user", "content": words})
    asked = dict(model="claude-sonnet-4-5", max_tokens=300, system="you are " + sys.argv[-1])
    with client.messages.stream(messages=messages, **asked) as stream:
        answer = stream.get_final_message()
    messages.append({"role": "assistant", "content": [one.model_dump() for one in answer.content]})
    print(answer.id)
"""


@pytest.fixture
def providers() -> Iterator[tuple[RunningProvider, RunningProvider]]:
    with offline(Server(Provider())) as first, offline(Server(Provider(seed=7))) as second:
        yield first, second


def ran(
    provider: RunningProvider, *arguments: str, words: tuple[str, ...], agent: str = AGENT
) -> subprocess.CompletedProcess[str]:
    Path("agent.py").write_text(agent)
    command = [*warm_ctxtui(), "exec", *arguments, "--", *warm_python(), "agent.py", *words]
    env = {**os.environ, "ANTHROPIC_BASE_URL": provider.url, "OPENAI_BASE_URL": provider.openai_url}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=180, check=False)


def test_an_exact_name_of_a_recording_wins_over_longer_ones(home: Path) -> None:
    folder = attached_dir()
    folder.mkdir(parents=True)
    for name in ("talk-1", "talk-12", "other"):
        (folder / f"{name}.jsonl").touch()
    own = {name: prefer_own_recording(name) for name in ("talk-1", "talk", "oth", "", "last")}
    paths = {name: str(folder / f"{name}.jsonl") for name in ("talk-1", "other")}
    assert own == {"talk-1": paths["talk-1"], "talk": "talk", "oth": paths["other"], "": "", "last": "last"}


def recording() -> Path:
    folder = Path(os.environ["CTXTUI_HOME"]) / "attached"
    return max(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def test_the_way_to_the_fork_is_not_paid_again(
    home: Path, ctxtui: Run, providers: tuple[RunningProvider, RunningProvider]
) -> None:
    first, second = providers
    made = ran(first, words=("one", "two", "three", "four"))
    assert made.returncode == 0, made.stderr
    ids, path = made.stdout.split(), recording()
    # The fix is another system prompt (here the last word): the messages up to the fork are the same.
    forked = ran(second, "--fork", f"{path.stem}:2", words=("one", "two", "three", "fixed"))
    assert forked.returncode == 0, forked.stderr
    assert "2 requests were answered from the record" in forked.stderr
    again = forked.stdout.split()
    assert again[:2] == ids[:2] and not set(again[2:]) & set(ids)
    assert [b"three" in one.body for one in second.server.seen] == [True, True] and len(first.server.seen) == 4
    # On record: whole, and what was not asked of a model has no report and costs nothing.
    calls = load(recording()).session.thread_calls()
    assert [call.usage is None for call in calls] == [True, True, False, False]
    assert [call.extra.get(EDITS, {}).get("played") for call in calls] == [
        f"{path.name} call 1",
        f"{path.name} call 2",
        None,
        None,
    ]


def test_who_departs_before_the_fork_is_live_from_there_and_that_is_said(
    home: Path, ctxtui: Run, providers: tuple[RunningProvider, RunningProvider]
) -> None:
    first, second = providers
    assert ran(first, words=("one", "two", "three")).returncode == 0
    path = recording()
    forked = ran(second, "--fork", path.stem, "-q", words=("one", "other", "three"))
    assert forked.returncode == 0 and "differs from the recording" in forked.stderr
    assert [b"other" in one.body for one in second.server.seen] == [True, True]
    (told,) = [
        call.extra[EDITS]["done"]
        for call in load(recording()).session.thread_calls()
        if "done" in call.extra.get(EDITS, {})
    ]
    assert told[0].startswith("the program differs from the recording")


def test_a_colon_in_a_thread_stays_in_the_summary() -> None:
    class Live:
        def wants(self, head: Head) -> bool:
            return True

        async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
            return RequestVerdict()

    gate = ForkGate(Live(), RecordedAnswers("s", 2, "task:1"))
    asked = json.dumps({"model": "claude-x", "max_tokens": 300, "messages": [{"role": "user", "content": "hi"}]})
    head: Any = SimpleNamespace(last={})
    waiting = WaitingRequest(x="1", url="https://api.anthropic.com/v1/messages", head=head, body=asked.encode())
    verdict = asyncio.run(gate.decide(waiting))
    assert verdict.report["done"] == [
        "the program differs from the recording s before call 2 of task:1: live from here"
    ]
    assert gate.summary.endswith("differs from the recording s before call 2 of task:1, and was live from there")


SOCKET_AGENT = """\
import asyncio, json, os, sys, aiohttp

async def main():
    headers = {"authorization": "Bearer k", "openai-beta": "responses_websockets=2026-02-06"}
    url, earlier = os.environ["OPENAI_BASE_URL"] + "/responses", ""
    async with aiohttp.ClientSession() as http, http.ws_connect(url, headers=headers) as socket:
        for words in ("", *sys.argv[1:]):
            items = [{"type": "message", "role": "user", "content": words}] if words else []
            asked = {"type": "response.create", "model": "gpt-5.6", "store": False, "stream": True, "input": items}
            asked |= {"previous_response_id": earlier} if earlier else {}
            asked |= {} if words else {"generate": False}
            await socket.send_str(json.dumps(asked | {"instructions": "you are " + sys.argv[-1]}))
            while (told := json.loads((await socket.receive()).data))["type"] != "response.completed":
                assert told["type"] != "error", told
            earlier = told["response"]["id"]
            if words:
                print(earlier)

asyncio.run(main())
"""


def frames(provider: RunningProvider) -> list[dict[str, Any]]:
    """What arrived over WebSockets, less warm-ups."""
    asked = [json.loads(one.body) for one in provider.server.seen if one.body]
    return [one for one in asked if one.get("generate") is not False]


def test_over_a_websocket_the_live_provider_gets_the_whole_conversation(
    home: Path, ctxtui: Run, providers: tuple[RunningProvider, RunningProvider]
) -> None:
    first, second = providers
    made = ran(first, words=("one", "two", "three"), agent=SOCKET_AGENT)
    assert made.returncode == 0, made.stderr
    ids, path = made.stdout.split(), recording()
    forked = ran(second, "--fork", f"{path.stem}:2", words=("one", "two", "three", "fixed"), agent=SOCKET_AGENT)
    assert forked.returncode == 0, forked.stderr
    assert "2 requests were answered from the record" in forked.stderr
    again = forked.stdout.split()
    assert again[:2] == ids[:2] and len(again) == 4 and not set(again[2:]) & set(ids)
    live = frames(second)
    assert len(live) == 2 and "previous_response_id" not in live[0]
    # The provider has never heard of what was answered from the record.
    assert [word in json.dumps(live[0]["input"]) for word in ("one", "two", "three")] == [True] * 3
    calls = load(recording()).session.thread_calls()
    assert [call.usage is None for call in calls] == [True, True, False, False]
    assert [call.extra.get(EDITS, {}).get("played") for call in calls][2:] == [None, None]


SUBAGENTS = """\
import sys, anthropic
client = anthropic.Anthropic(max_retries=0, api_key="k")
told = {"main": [], sys.argv[1]: []}
for line in sys.argv[2:]:
    thread, words = line.split("=")
    thread = thread if thread == "main" else sys.argv[1]
    headers = {"x-claude-code-session-id": "talk"} | ({} if thread == "main" else {"x-claude-code-agent-id": thread})
    told[thread].append({"role": "user", "content": words})
    asked = dict(model="claude-sonnet-4-5", max_tokens=300, messages=told[thread], extra_headers=headers)
    answer = client.messages.create(**asked)
    told[thread].append({"role": "assistant", "content": [one.model_dump() for one in answer.content]})
    print(answer.id)
"""


def test_from_a_call_of_a_subagent(home: Path, ctxtui: Run, providers: tuple[RunningProvider, RunningProvider]) -> None:
    first, second = providers
    lines = ("main=go", "sub=look", "sub=further", "main=on", "sub=at last")
    made = ran(first, words=("agent-1", *lines), agent=SUBAGENTS)
    assert made.returncode == 0, made.stderr
    ids = made.stdout.split()
    # Another run names its subagents anew.
    path = str(recording())
    forked = ran(second, "--fork", f"{path}:2", "--thread", "agent-1", words=("agent-2", *lines), agent=SUBAGENTS)
    assert forked.returncode == 0, forked.stderr
    again = forked.stdout.split()
    # What came behind the fork is live in every thread, and no departure.
    assert again[:3] == ids[:3] and not set(again[3:]) & set(ids)
    assert "3 requests were answered from the record" in forked.stderr and "depart" not in forked.stderr
    assert ctxtui("exec", "--thread", "agent-1", "--", "true").code == 125


def test_a_fork_that_is_not_reached_is_said(
    home: Path, ctxtui: Run, providers: tuple[RunningProvider, RunningProvider]
) -> None:
    assert ran(providers[0], words=("one", "two", "three")).returncode == 0
    forked = ran(providers[1], "--fork", f"{recording().stem}:3", words=("one",))
    assert "the program ended before call 3, the fork" in forked.stderr


def test_figures_of_results_may_differ_from_run_to_run() -> None:
    def asked(result: str, words: str = "go") -> bytes:
        said = [
            {"type": "message", "role": "user", "content": words},
            {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": result},
        ]
        return json.dumps({"model": "gpt-5.6", "input": said}).encode()

    url = "https://api.openai.com/v1/responses"
    known = RecordedAnswers("s", 2)
    results = ("Chunk ID: 4fa2c1\nWall time: 0.0512 s\nok", "Chunk ID: 0b1c22\nWall time: 1.5 s\nok")
    for number, result in enumerate(results, 1):
        known.add(messages_in(url, asked(result)), RecordedAnswer(b"", number))
    second = known.take_answer(url, asked(results[1]))
    assert second is not None and second.number == 2
    assert known.take_answer(url, asked(results[0].replace("ok", "failed"))) is None
    assert known.take_answer(url, asked(results[0], "go 2")) is None
    first = known.take_answer(url, asked("Chunk ID: 99ff00\nWall time: 3 s\nok"))
    assert first is not None and first.number == 1


def test_what_cannot_be_forked_is_said(home: Path, ctxtui: Run, tmp_path: Path) -> None:
    other = tmp_path / "body.json"
    other.write_text(
        '{"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hoi"}]}'
    )
    ran_ = ctxtui("exec", "--fork", f"{other}:1", "--", "true")
    assert ran_.code == 125 and "was not recorded by ctxtui exec" in ran_.err
    ran_ = ctxtui("exec", "--fork", "nothing-of-the-kind:3", "--", "true")
    assert ran_.code == 125 and "Traceback" not in ran_.err
