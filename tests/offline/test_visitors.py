"""Who is let in, how large numbers may be, and how it ends: what a web page or a wild client cannot do to it."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from ctxtui.offline import Provider, RunningProvider, Server, SetClock, serving
from ctxtui.offline.exchange import Refusal, Reply
from ctxtui.offline.http.routes import ROUTES, serve
from ctxtui.offline.http.server import is_loopback
from ctxtui.offline.local import OLLAMA, LocalServer, local_routes
from ctxtui.offline.model import make_instance
from tests.offline.talks import anthropic, chat, responses
from tests.warm import warm_ctxtui

KEY = {"authorization": "Bearer x", "anthropic-version": "2026-10-21"}


def ask(
    running: RunningProvider, method: str = "GET", path: str = "/v1/models", body: Any = None, **headers: str
) -> tuple[int, str]:
    """A request with exactly these headers; its status and answer."""
    where = urlsplit(running.url)
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
    link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    data = json.dumps(body).encode() if body is not None else b""
    for name, value in ({"Host": where.netloc, "Content-Length": str(len(data))} | headers).items():
        link.putheader(name, value)
    link.endheaders(data)
    answer = link.getresponse()
    return answer.status, answer.read().decode()


def said(words: str) -> dict[str, Any]:
    return {"model": "offline", "messages": [{"role": "user", "content": words}]}


@pytest.mark.parametrize("host", ["localhost", "localhost:4010", "127.0.0.1", "127.0.0.2:80", "[::1]:4010"])
def test_programs_of_this_machine_are_served_under_its_own_names(running: RunningProvider, host: str) -> None:
    assert ask(running, Host=host)[0] == 200
    assert ask(running, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:4010",
        "10.0.0.7",
        "evil@localhost",
        "::1",
        "x[",
    ],
)
def test_a_name_that_somebody_else_owns_is_refused(running: RunningProvider, host: str) -> None:
    """DNS rebinding: the site's own name leads here, so the browser takes the answer for the site's."""
    status, told = ask(running, path="/v1/responses/resp_1", Host=host)
    assert status == 403 and "only this machine is served" in told
    assert running.server.seen[-1].rule == "stranger"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://", "x"])
@pytest.mark.parametrize("path", ["/_ctxtui/faults", "/_ctxtui/clock", "/v1/messages", "/nowhere"])
def test_a_web_page_cannot_ask_for_anything(running: RunningProvider, origin: str, path: str) -> None:
    body = {"faults": ["529"], "advance": 5, **anthropic()}
    status, _ = ask(running, "POST", path, body, Origin=origin, **{"Content-Type": "text/plain"})
    assert status == 403 and not running.server.faults.armed and running.server.provider.clock_shift == 0


async def test_a_page_opens_no_websocket(running: RunningProvider) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{running.url}/v1/responses", headers={**KEY, "Origin": "https://evil.example"})
    assert refused.value.status == 403


async def test_bound_elsewhere_by_its_user_it_serves_any_name() -> None:
    assert not is_loopback("0.0.0.0") and is_loopback("::1")
    async with serving(Server(), host="0.0.0.0") as running:
        open_ = RunningProvider(running.url.replace("0.0.0.0", "127.0.0.1"), running.server)
        assert (await asyncio.to_thread(ask, open_, Host="my-machine.lan"))[0] == 200


WILD = [10**6, 129, -1, 0, 2**70, 1e308, float("inf"), float("nan"), "9", [], True]
CALLS = {
    "/v1/messages": anthropic,
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
}
NUMBERS = {
    "/v1/messages": ["max_tokens", "temperature", "top_p", "top_k", "thinking.budget_tokens"],
    "/v1/chat/completions": [
        "n",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_logprobs",
        "seed",
        "top_p",
    ],
    "/v1/responses": ["max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs"],
}


@pytest.mark.parametrize("value", WILD, ids=str)
@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in NUMBERS.items() for name in names])
def test_a_wild_number_is_refused_or_served_at_once(path: str, name: str, value: Any) -> None:
    body: dict[str, Any] = CALLS[path](model="offline")
    inner, _, member = name.rpartition(".")
    (body.setdefault(inner, {"type": "enabled"}) if inner else body)[member] = value
    # As it may come: 1e999 is JSON, and no number that a program can hold.
    raw = json.dumps(body).replace("Infinity", "1e999").replace("NaN", "-1e999").encode()
    began = time.process_time()
    got = serve(ROUTES[path], Provider(clock=SetClock()), raw, KEY)
    assert isinstance(got, (Refusal, Reply)) and time.process_time() - began < 5
    size = len(json.dumps(got.body)) + sum(map(len, got.events or ())) if isinstance(got, Reply) else 0
    assert size < 5_000_000


def test_as_many_choices_as_openai_gives_and_no_more() -> None:
    for n, good in ((128, True), (129, False), (1_000_000, False)):
        raw = json.dumps(chat(model="offline", n=n)).encode()
        got = serve(ROUTES["/v1/chat/completions"], Provider(clock=SetClock()), raw, KEY)
        if good:
            assert isinstance(got, Reply) and len(got.body["choices"]) == n
        else:
            assert isinstance(got, Refusal) and got.code == "integer_above_max_value" and "<= 128" in got.message


@pytest.mark.slow
def test_many_choices_of_a_long_answer_share_what_may_be_said() -> None:
    long = chat(**said("say 100000 words"), n=128, stream=True)
    got = serve(ROUTES["/v1/chat/completions"], Provider(clock=SetClock()), json.dumps(long).encode(), KEY)
    assert isinstance(got, Reply) and len(got.body["choices"]) == 128
    assert got.body["usage"]["completion_tokens"] <= 210_000
    assert {choice["finish_reason"] for choice in got.body["choices"]} == {"length"}


def test_a_model_says_no_more_than_it_can() -> None:
    for path, name in (("/v1/chat/completions", "max_completion_tokens"), ("/v1/responses", "max_output_tokens")):
        raw = json.dumps(CALLS[path](model="gpt-5.6", **{name: 10_000_000})).encode()
        got = serve(ROUTES[path], Provider(clock=SetClock(), strict_models=True), raw, KEY)
        assert isinstance(got, Refusal) and "is too large: 10000000" in got.message


@pytest.mark.parametrize(
    "options",
    [
        {"num_ctx": 10**30},
        {"num_ctx": -5},
        {"num_ctx": 1e999},
        {"num_ctx": "x"},
        {"num_predict": 10**30},
        {"stop": [1]},
    ],
    ids=str,
)
def test_options_of_a_local_server_are_bounded(options: dict[str, Any]) -> None:
    desk = local_routes(LocalServer(OLLAMA))["/api/chat"]
    body = {"model": "offline", "messages": [{"role": "user", "content": "say 50 words"}], "options": options}
    got = serve(desk, Provider(clock=SetClock()), json.dumps(body).replace("Infinity", "1e999").encode(), {})
    assert isinstance(got, Reply) and got.body["eval_count"] <= 300
    few = json.dumps({**body, "options": {"num_predict": 3}}).encode()
    cut = serve(desk, Provider(clock=SetClock()), few, {})
    assert isinstance(cut, Reply) and (cut.body["eval_count"], cut.body["done_reason"]) == (3, "length")


@pytest.mark.parametrize(
    "fault",
    ["slow;seconds=1e9", "slow;seconds=nan", "slow;seconds=-1", "429;times=1e999", "500;after=99999999", "529;share=2"],
)
def test_faults_and_the_clock_are_bounded(running: RunningProvider, fault: str) -> None:
    assert ask(running, "POST", "/_ctxtui/faults", {"faults": [fault]})[0] == 400
    assert ask(running, "POST", "/_ctxtui/faults", {"faults": ["429"] * 1001})[0] == 400
    for seconds in (1e12, float("inf"), float("nan"), -1e12):
        assert ask(running, "POST", "/_ctxtui/clock", {"advance": seconds})[0] == 400
    assert ask(running, "POST", "/_ctxtui/clock", {"advance": 300})[0] == 200
    assert ask(running, "POST", "/v1/messages", {}, **{"x-ctxtui-fault": fault})[0] == 400


def test_schemas_in_schemas_do_not_multiply() -> None:
    row: dict[str, Any] = {"type": "string", "minLength": 10_000}
    for _ in range(6):
        row = {"type": "array", "minItems": 100, "items": row}
    twice = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]}
    for schema in (row, twice):
        assert len(json.dumps(make_instance(schema, "x"))) < 2_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["a", "-", "a-", ".", " ", "\n", "a ", '"', "`", "\\", "find ", "in a ", "a=", "?-", "a/"], ids=repr
)
def test_no_text_keeps_it_busy(piece: str) -> None:
    """A prompt and a result of one odd thing again and again: they are read once, not once for each letter."""
    text = piece * (300_000 // len(piece))
    tools = [{"name": "read_file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
    said: list[Any] = [{"role": "user", "content": f"find x then read it, call read_file {text}?"}]
    said.append({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read_file", "input": {}}]})
    said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": f"x {text} a/b"}]})
    for messages in (said[:1], said):
        body = anthropic(model="offline", messages=messages, tools=tools, max_tokens=200)
        began = time.process_time()
        serve(ROUTES["/v1/messages"], Provider(clock=SetClock()), json.dumps(body).encode(), KEY)
        assert time.process_time() - began < 6


# Ending


@contextmanager
def process(tmp_path: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """``ctxtui offline`` in a process of its own, and its address."""
    command = [*warm_ctxtui(), "offline", "--port", "0", "--json", *options]
    there = {**os.environ, "CTXTUI_HOME": str(tmp_path)}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=there)
    try:
        assert running.stdout is not None
        lines = b""
        while not lines.rstrip().endswith(b"}"):
            line = running.stdout.readline()
            assert line, running.stderr and running.stderr.read()
            lines += line
        yield running, json.loads(lines)["url"]
    finally:
        running.kill()
        running.communicate()


async def _streams(url: str, count: int) -> None:
    """Open `count` streams and sockets, and read on until they break."""
    body = anthropic(**said("say 5000 words"), stream=True, max_tokens=20_000)
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def one(n: int) -> None:
            try:
                if n % 10 == 0:
                    async with session.ws_connect(f"{url}/v1/responses", headers=KEY) as socket:
                        await socket.receive()
                    return
                async with session.post(f"{url}/v1/messages", json=body, headers=KEY) as answer:
                    async for _ in answer.content:
                        pass
            except (aiohttp.ClientError, OSError):
                return

        await asyncio.gather(*(one(n) for n in range(count)))


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_it_ends_on_a_signal_with_many_streams_open_and_more_waiting(tmp_path: Path, number: signal.Signals) -> None:
    with process(tmp_path, "--pace", "20", "--log", str(tmp_path / "log")) as (running, url):
        clients = threading.Thread(target=lambda: asyncio.run(_streams(url, 120)), daemon=True)
        clients.start()
        heavy = anthropic(**said("word " * 2_000_000))
        load = threading.Thread(target=_post, args=(url, heavy), daemon=True)
        load.start()
        time.sleep(3)
        began = time.monotonic()
        running.send_signal(number)
        assert running.wait(30) == 0
        assert time.monotonic() - began < 20
        assert running.stderr is not None and b"offline provider stopped" in running.stderr.read()
        clients.join(30)
        assert not clients.is_alive()
    (log,) = (tmp_path / "log").iterdir()
    json.loads(log.read_text())


def _post(url: str, body: dict[str, Any]) -> None:
    where = urlsplit(url)
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        link.request("POST", "/v1/messages", json.dumps(body), KEY)
        link.getresponse().read()
    except (OSError, http.client.HTTPException):
        return


@pytest.mark.parametrize("reset", [False, True])
def test_a_client_that_goes_away_prints_no_traceback(tmp_path: Path, reset: bool) -> None:
    """In the middle of a stream, of a WebSocket, before an answer: each time the connection ends or is reset."""
    with process(tmp_path, "--pace", "400") as (running, url):
        where = urlsplit(url)
        body = json.dumps(said("say 2000 words") | {"max_tokens": 9000, "stream": True}).encode()
        head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nx-api-key: any\r\n"
        post = f"{head}anthropic-version: 2026-10-21\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
        upgrade = "GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer any\r\nupgrade: websocket\r\n"
        upgrade += (
            "connection: Upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: MDAwMDAwMDAwMDAwMDAwMA==\r\n\r\n"
        )
        frame = json.dumps({"type": "response.create", "model": "offline", "input": "say 2000 words"}).encode()
        framed = bytes([0x81, 0x80 | len(frame)]) + bytes(4) + frame
        for sent, looks in ((post, b"message_start"), (post, b""), (upgrade.encode() + framed, b"output_text.delta")):
            with socket.create_connection((where.hostname or "", where.port or 0)) as link:
                link.sendall(sent)
                got = b""
                while looks not in got:
                    got += link.recv(4096)
                if reset:
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with socket.create_connection((where.hostname or "", where.port or 0)) as link:
            link.sendall(post.replace(b"2000", b"20  "))
            while b"message_stop" not in got:
                got += link.recv(4096)
        running.terminate()
        assert running.communicate()[1] == b"ctxtui: offline provider stopped\n"
