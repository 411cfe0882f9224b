"""The Responses API by WebSocket, as Codex speaks it: a warm-up, then only what is new, on one connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ctxtui.offline import Provider, RunningProvider, Server, SetClock
from ctxtui.offline.faults import parse
from ctxtui.offline.http.exchange_log import ExchangeLog
from ctxtui.offline.http.hosting import serving
from tests.corpus import corpus_params, need_corpus
from tests.offline import talks
from tests.transcripts.reading import calls, read

Body = dict[str, Any]
HEADERS = {"authorization": "Bearer any", "openai-beta": "responses_websockets=2026-02-06"}
Ask = Callable[[Body | str], Awaitable[list[Body]]]
LAST = ("response.completed", "response.incomplete", "response.failed", "error")


def frame(body: Body, **more: Any) -> Body:
    return {"type": "response.create", **body, "stream": True, **more}


@asynccontextmanager
async def connected(
    server: Server,
) -> AsyncIterator[tuple[RunningProvider, Callable[[Body | str], Awaitable[list[Body]]]]]:
    """A client on a connection of `server`: it sends a frame and gives the events that come back."""
    async with (
        serving(server) as running,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{running.url}/v1/responses", headers=HEADERS, compress=15) as socket,
    ):

        async def ask(body: Body | str) -> list[Body]:
            await socket.send_str(body if isinstance(body, str) else json.dumps(body))
            events: list[Body] = []
            while not events or events[-1]["type"] not in LAST:
                events.append(await socket.receive_json(timeout=20))
            return events

        yield running, ask


def server(**more: Any) -> Server:
    return Server(Provider(clock=SetClock()), **more)


def run(scene: Callable[[], Any]) -> None:
    asyncio.run(scene())


def test_only_what_is_new_is_sent() -> None:
    async def scene() -> None:
        async with connected(server()) as (running, ask):
            whole = talks.codex("run `git status`")
            warm = await ask(frame(whole, input=[], generate=False))
            assert [event["type"] for event in warm] == [
                "response.created",
                "response.in_progress",
                "response.completed",
            ]
            assert (warm[-1]["response"]["output"], warm[-1]["response"]["usage"]["total_tokens"]) == ([], 0)
            first = (await ask(frame(whole, previous_response_id=warm[-1]["response"]["id"])))[-1]["response"]
            call = first["output"][-1]
            assert (call["type"], call["name"]) == ("custom_tool_call", "exec")
            result = talks.result_of(call["call_id"], "Script completed\nOutput:\nclean")
            more = frame(talks.codex(), input=[result], previous_response_id=first["id"])
            second = (await ask(more))[-1]["response"]
            assert "clean" in second["output"][-1]["content"][0]["text"]
            assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"]
            # The newest is kept, with nothing stored beyond the connection.
            lost = (await ask(more))[-1]
            assert (lost["type"], lost["status"]) == ("error", 400)
            assert lost["error"]["code"] == "previous_response_not_found"
            assert [seen.status for seen in running.server.seen] == [200, 200, 200, 400]

    run(scene)


def test_events_are_those_of_the_stream() -> None:
    async def scene() -> None:
        async with connected(server()) as (running, ask), aiohttp.ClientSession() as session:
            body = talks.codex("say hello", stream=True)
            events = await ask(frame(body))
            async with session.post(f"{running.url}/v1/responses", json=body, headers=HEADERS) as answer:
                stream = [json.loads(line[6:]) for line in (await answer.text()).splitlines() if line[:6] == "data: "]
            assert [event["type"] for event in events] == [event["type"] for event in stream]
            lanes = await ask(frame(body, stream_id="b"))
            assert {event["stream_id"] for event in lanes} == {"b"}

    run(scene)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("{", "could not parse"),
        ("[]", "could not parse"),
        ('{"type":"response.create"}', "Missing required parameter: 'model'"),
        (json.dumps({**talks.codex(), "type": "session.update"}), "Supported values are: 'response.create'"),
        (json.dumps(talks.codex()), "Missing required parameter: 'type'"),
        (json.dumps(frame(talks.codex(), generate="no")), "Invalid type for 'generate'"),
        (json.dumps(frame(talks.codex(), foo=1)), "Unknown parameter: 'foo'"),
    ],
)
def test_frames_that_are_refused(sent: str, words: str) -> None:
    async def scene() -> None:
        async with connected(server()) as (_, ask):
            told = (await ask(sent))[-1]
            assert (told["type"], told["status"]) == ("error", 400)
            assert words in told["error"]["message"]
            # The connection goes on.
            assert (await ask(frame(talks.codex("say hello"))))[-1]["type"] == "response.completed"

    run(scene)


def test_what_a_frame_says_is_refused_by_http() -> None:
    async def scene() -> None:
        async with connected(server()) as (running, _), aiohttp.ClientSession() as session:
            for more in ({"generate": False}, {"type": "response.create"}):
                body = talks.codex(**more)
                async with session.post(f"{running.url}/v1/responses", json=body, headers=HEADERS) as answer:
                    assert answer.status == 400

    run(scene)


@pytest.mark.parametrize(("off", "headers", "status"), [(True, HEADERS, 426), (False, {}, 401), (False, HEADERS, 101)])
def test_who_is_let_in(off: bool, headers: dict[str, str], status: int) -> None:
    async def scene() -> None:
        async with serving(server(websocket=not off)) as running, aiohttp.ClientSession() as session:
            if status == 101:
                async with session.ws_connect(f"{running.url}/v1/responses", headers=headers):
                    return
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(f"{running.url}/v1/responses", headers=headers)
            assert refused.value.status == status

    run(scene)


def test_faults_meet_frames() -> None:
    async def scene() -> None:
        served = server()
        async with connected(served) as (_, ask):
            served.faults.arm([parse("529;times=1"), parse("stream-error;times=1;after=2")])
            assert (await ask(frame(talks.codex())))[-1]["status"] == 529
            broken = await ask(frame(talks.codex()))
            assert [event["type"] for event in broken] == ["response.created", "response.in_progress", "error"]
            served.faults.arm([parse("disconnect;after=1")])
            with pytest.raises(TypeError):  # the socket is closed: there is no text to read
                await ask(frame(talks.codex()))

    run(scene)


def test_the_fault_of_a_handshake_meets_each_frame() -> None:
    async def scene() -> None:
        async with serving(server()) as running, aiohttp.ClientSession() as session:
            headers = {**HEADERS, "x-ctxtui-fault": "500"}
            async with session.ws_connect(f"{running.url}/v1/responses", headers=headers) as socket:
                for _ in range(2):
                    await socket.send_json(frame(talks.codex()))
                    assert (await socket.receive_json())["status"] == 500
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{running.url}/v1/responses", headers={**HEADERS, "x-ctxtui-fault": "no"})

    run(scene)


def test_the_log_opens_as_what_went_over_the_socket(tmp_path: Path) -> None:
    log = ExchangeLog(tmp_path, 1_800_000_000.0)

    async def scene() -> None:
        async with connected(server(log=log)) as (_, ask):
            warm = await ask(frame(talks.codex(), input=[], generate=False))
            first = await ask(frame(talks.codex("run `ls`"), previous_response_id=warm[-1]["response"]["id"]))
            call = first[-1]["response"]["output"][-1]
            again = {"previous_response_id": first[-1]["response"]["id"]}
            await ask(frame(talks.codex(), input=[talks.result_of(call["call_id"], "a.txt")], **again))

    run(scene)
    log.close()
    session = read(log.path.read_bytes(), "offline.har")
    found = calls(session)
    assert len(found) == 2
    assert not any(call.extra.get("tail_only") for call in found)
    kinds = [item.block.kind for item in session.tree.items(found[-1].raw_head)]
    assert kinds.count("tool") == 3
    assert "custom_tool_call" in kinds and "custom_tool_call_output" in kinds


@pytest.mark.parametrize("head", corpus_params("clients", "*/websocket/*.head"))
def test_recorded_frames_are_taken(head: Path) -> None:
    name = head.stem
    frames = sorted(head.parent.glob(f"{name}-*.frame"))
    assert frames and need_corpus("clients")

    async def scene() -> None:
        async with connected(server()) as (_, ask):
            for one in frames:
                assert (await ask(one.read_text()))[-1]["type"] == "response.completed"

    run(scene)
