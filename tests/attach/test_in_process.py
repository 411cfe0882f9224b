"""`ctxtui.record` with the real SDKs: what is recorded is what the provider saw and said, and the program sees no
difference."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import ctxtui
from ctxtui.attach.recorder import Recorder
from ctxtui.core.call import Fidelity
from ctxtui.core.session import Session
from ctxtui.offline import Provider, RunningProvider, Server, offline
from ctxtui.services.recordings.open import load
from tests.warm import warm_python

MODEL: Any = "claude-sonnet-4-5"
SAID: Any = [{"role": "user", "content": "say grüezi"}]
ASKED: Any = {"model": MODEL, "max_tokens": 300, "messages": SAID}
KEY = "sk-ant-very-secret-0123456789"

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")


@pytest.fixture(scope="module")
def running() -> Iterator[RunningProvider]:
    with offline(Server(Provider())) as found:
        yield found


@pytest.fixture
def claude(running: RunningProvider) -> Iterator[anthropic.Anthropic]:
    running.server.seen.clear()
    with anthropic.Anthropic(api_key=KEY, base_url=running.url, max_retries=0) as client:
        yield client


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read(path: Path) -> Session:
    return load(path).session


def test_every_way_of_asking_is_recorded_as_it_went(
    running: RunningProvider, claude: anthropic.Anthropic, tmp_path: Path
) -> None:
    with ctxtui.record(session="ways", tags=["t"], folder=tmp_path) as run:
        plain = claude.messages.create(**ASKED)
        with claude.messages.stream(**ASKED) as stream:
            assert "".join(stream.text_stream) == plain.content[0].text
        assert [event.type for event in claude.messages.create(**ASKED, stream=True)][-1] == "message_stop"
        raw = claude.messages.with_raw_response.create(**ASKED)
        assert raw.headers["request-id"] and raw.parse().content[0].text == plain.content[0].text
        with claude.messages.with_streaming_response.create(**ASKED) as open_:
            assert b"".join(open_.iter_bytes())

        @anthropic.beta_tool
        def read(path: str) -> str:
            """Read a file.

            Args:
                path: Which.
            """
            return "cerulean"

        said: Any = [{"role": "user", "content": "read a.txt"}]
        runner = claude.beta.messages.tool_runner(model=MODEL, max_tokens=300, messages=said, tools=[read])
        assert len(list(runner)) >= 2
        claude.messages.count_tokens(model=MODEL, messages=SAID)
        with openai.OpenAI(api_key=KEY, base_url=running.openai_url, max_retries=0) as gpt:
            gpt.chat.completions.create(model="gpt-5.6", messages=SAID)
            gpt.responses.create(model="gpt-5.6", input="say hoi", store=False)
            assert list(gpt.responses.create(model="gpt-5.6", input="say hoi", store=False, stream=True))

        async def waits() -> None:
            async with anthropic.AsyncAnthropic(api_key=KEY, base_url=running.url, max_retries=0) as client:
                await asyncio.gather(*(client.messages.create(**ASKED) for _ in range(3)))
                async with client.messages.stream(**ASKED) as stream:
                    await stream.get_final_message()

        asyncio.run(waits())
    assert run.troubles == []
    told = lines(run.path)
    bodies = [line["asked"]["body"] for line in told if "asked" in line]
    assert sorted(one["size"] for one in bodies) == sorted(len(seen.body) for seen in running.server.seen)
    session = load(run.path).session
    assert len(session.calls) == len(bodies) == len(running.server.seen)
    assert {call.fidelity for call in session.calls.values()} == {Fidelity.WIRE}
    assert not [call.error for call in session.calls.values() if call.error]
    assert KEY not in run.path.read_text() and told[0]["tags"] == ["t"]


def test_refusals_and_broken_lines_reach_the_program_as_they_would(
    running: RunningProvider, claude: anthropic.Anthropic, tmp_path: Path
) -> None:
    with ctxtui.record(folder=tmp_path) as run:
        with pytest.raises(anthropic.BadRequestError):
            claude.messages.create(**{**ASKED, "max_tokens": -1})
        with pytest.raises(anthropic.APIConnectionError):
            anthropic.Anthropic(api_key=KEY, base_url="http://127.0.0.1:1", max_retries=0).messages.create(**ASKED)
    calls = list(read(run.path).calls.values())
    assert calls[0].extra["status"] == 400 and "ConnectError" in calls[1].error


def test_pieces_reach_the_program_as_they_come(tmp_path: Path) -> None:
    class Slow(httpx2.SyncByteStream):
        def __init__(self) -> None:
            self.sent = 0

        def __iter__(self) -> Iterator[bytes]:
            for n in range(3):
                self.sent += 1
                yield b"data: %d\n\n" % n

    slow = Slow()
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=slow))
    with (
        ctxtui.record(folder=tmp_path),
        httpx2.Client(transport=transport) as client,
        client.stream("POST", "http://x/v1/messages", json={}) as response,
    ):
        pieces = response.iter_raw()
        assert next(pieces) == b"data: 0\n\n" and slow.sent == 1
        assert next(pieces) == b"data: 1\n\n" and slow.sent == 2
    (path,) = tmp_path.iterdir()
    assert [line["data"] for line in lines(path) if "data" in line] == ["data: 0\n\n", "data: 1\n\n"]
    assert lines(path)[-1]["error"] == "the program read no further"


def test_what_asks_no_model_is_none_of_our_business(tmp_path: Path) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json={}))
    with ctxtui.record(folder=tmp_path), httpx2.Client(transport=transport) as client:
        client.post("http://x/v1/embeddings", json={})
        client.get("http://x/v1/messages")
        client.post("http://bank/transfer", json={"secret": 1})
    assert list(tmp_path.iterdir()) == []


def test_where_a_recording_counts(claude: anthropic.Anthropic, tmp_path: Path) -> None:
    @ctxtui.record(session="agent", folder=tmp_path)
    def agent() -> str:
        with ctxtui.record(thread="planner"):
            claude.messages.create(**ASKED)
        return claude.messages.create(**ASKED).stop_reason or ""

    @ctxtui.record
    async def nothing() -> int:
        return 3

    claude.messages.create(**ASKED)
    assert agent() == "end_turn" == agent() and asyncio.run(nothing()) == 3
    claude.messages.create(**ASKED)
    assert {path.name for path in tmp_path.iterdir()} == {"agent.jsonl"}
    session = read(tmp_path / "agent.jsonl")
    assert {name: len(session.thread_calls(name)) for name in session.order} == {"planner": 2, "main": 2}
    both = [ctxtui.record(session=name, folder=tmp_path) for name in ("outer", "inner")]

    def in_thread() -> None:
        claude.messages.create(**ASKED)

    with both[0]:
        worker = threading.Thread(target=in_thread)
        worker.start()
        worker.join()
        claude.messages.create(**ASKED)
    both[1].stop()
    # A thread without a recording of its own takes the newest; whoever is inside one takes that.
    assert len(read(tmp_path / "inner.jsonl").calls) == len(read(tmp_path / "outer.jsonl").calls) == 1


def test_a_recording_outlives_the_one_that_it_is_in(claude: anthropic.Anthropic, tmp_path: Path) -> None:
    outer = ctxtui.record(session="outer", folder=tmp_path)
    inner = ctxtui.record(thread="inner")
    outer.stop()
    claude.messages.create(**ASKED)
    inner.stop()
    assert [call.thread for call in read(outer.path).calls.values()] == ["inner"] and not inner.troubles
    with inner:
        claude.messages.create(**ASKED)
    assert len(read(outer.path).calls) == 2


def test_an_inner_recording_has_its_own_folder_and_tags(claude: anthropic.Anthropic, tmp_path: Path) -> None:
    with ctxtui.record(session="outer", folder=tmp_path / "a", tags=["t1"]) as outer:
        claude.messages.create(**ASKED)
        with ctxtui.record(folder=tmp_path / "b", tags=["t2"]) as inner:
            claude.messages.create(**ASKED)
    assert inner.session == "outer" and inner.path == tmp_path / "b" / "outer.jsonl"
    assert lines(inner.path)[0]["tags"] == ["t2"] and lines(outer.path)[0]["tags"] == ["t1"]
    assert len(read(inner.path).calls) == len(read(outer.path).calls) == 1


def test_an_inner_recording_may_have_only_its_own_folder_or_only_its_own_tags(tmp_path: Path) -> None:
    with ctxtui.record(session="outer", folder=tmp_path, tags=["t1"]) as outer:
        with ctxtui.record(folder=tmp_path / "b") as elsewhere, ctxtui.record(tags=["t2"]) as tagged:
            assert len({id(one.recorder) for one in (outer, elsewhere, tagged)}) == 3
        with ctxtui.record(thread="inner") as inner:
            assert inner.recorder is outer.recorder


def test_a_fault_of_an_inner_recording_is_printed(
    claude: anthropic.Anthropic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: object) -> str:
        raise RuntimeError("broken")

    with ctxtui.record(folder=tmp_path), ctxtui.record(thread="inner") as inner:
        monkeypatch.setattr(Recorder, "next_name", broken)
        assert claude.messages.create(**ASKED).stop_reason == "end_turn"
    assert "RuntimeError: broken" in inner.troubles[0]
    assert capsys.readouterr().err.count("RuntimeError: broken") == 1


def test_afterwards_everything_is_as_it_was(tmp_path: Path) -> None:
    before = httpx2.Client.send, httpx2.AsyncClient.send
    with ctxtui.record(folder=tmp_path):
        assert httpx2.Client.send is not before[0]
    assert (httpx2.Client.send, httpx2.AsyncClient.send) == before


def test_a_fault_of_ctxtui_raises_nothing_in_the_program(
    claude: anthropic.Anthropic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: object, news: object) -> None:
        raise RuntimeError("broken")

    with ctxtui.record(folder=tmp_path) as run:
        monkeypatch.setattr(Recorder, "put", broken)
        assert claude.messages.create(**ASKED).stop_reason == "end_turn"
        with claude.messages.stream(**ASKED) as stream:
            stream.until_done()
    assert "RuntimeError: broken" in run.troubles[0]
    assert "not everything was recorded" in capsys.readouterr().err


def test_a_body_that_the_program_streams_is_recorded_as_empty(tmp_path: Path) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=request.read()))
    with httpx2.Client(transport=transport) as client, ctxtui.record(folder=tmp_path) as run:
        answer = client.post("http://x/v1/messages", content=iter([b"{", b"}"]))
        assert run.flush(30)
    assert answer.content == b"{}" and run.troubles == []


def test_a_call_costs_the_program_next_to_nothing(tmp_path: Path) -> None:
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "x" * 20_000}]}).encode()
    answer = [b"data: {}\n\n"] * 20

    class Pieces(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from answer

    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=Pieces()))

    def asked(client: httpx2.Client) -> float:
        begun = time.thread_time()
        client.post("http://x/v1/messages", content=body, headers={"authorization": f"Bearer {KEY}"})
        return time.thread_time() - begun

    with httpx2.Client(transport=transport) as client:
        for _ in range(20):
            asked(client)
        bare = median(asked(client) for _ in range(200))
        with ctxtui.record(folder=tmp_path) as run:
            told = median(asked(client) for _ in range(200))
            assert run.flush(30)
    # The caller's own time on the processor: how busy the machine is does not count.
    assert told - bare <= 0.0003, f"{(told - bare) * 1000:.3f} ms"


def test_it_goes_on_in_a_fork_and_to_the_programs_end(running: RunningProvider, tmp_path: Path) -> None:
    script = f"""\
import os, threading, warnings, anthropic, ctxtui
warnings.simplefilter("ignore")
ctxtui.record(session="forked", folder={str(tmp_path)!r})
ctxtui.record()
def ask():
    # A connection each: one that two processes write to would be nobody's.
    with anthropic.Anthropic(api_key="x", base_url={running.url!r}, max_retries=0) as client:
        client.messages.create(model="{MODEL}", max_tokens=50, messages=[{{"role": "user", "content": "hoi"}}])
ask()
child = os.fork()
ask()
assert [thread.name for thread in threading.enumerate()].count("ctxtui recorder") == 1
if child:
    os.waitpid(child, 0)
"""
    ran = subprocess.run([*warm_python(), "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(read(tmp_path / "forked.jsonl").calls) == 3


def test_importing_ctxtui_loads_nothing() -> None:
    script = "import sys; before = set(sys.modules); import ctxtui; print(len(set(sys.modules) - before))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True, env=env)
    assert int(ran.stdout) <= 8
