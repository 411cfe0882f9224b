"""Edits that the user applied to a session hold for every later request of its program; nothing else is changed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

import ctxtui
from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.upstream import Upstream
from ctxtui.core.call import EDITS
from ctxtui.core.edit import APPLY, REVERT, Edit, Target, make, payload
from ctxtui.core.edit_log import edits_in_force
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import Context, marker_lifetimes
from ctxtui.offline import Provider, Server
from ctxtui.offline.http.hosting import serving
from ctxtui.services.attach.curated import curate_request
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.session_edits import SessionOverlay
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load
from ctxtui.store.store import Store
from ctxtui.wire.registry import DIALECTS
from tests.attach.raw import raw_provider, relayed, talk
from tests.curation.conversations import call_and_result
from tests.curation.shaped import SHAPES, edits

URL = "https://api.anthropic.com/v1/messages"
TOOL = {"name": "read", "description": "Reads.", "input_schema": {"type": "object", "properties": {}}}
STALE = "old contents of a file, " * 20


def request(*more: dict[str, Any], spaced: bool = False) -> bytes:
    """What a client sends that resends everything, in a spelling of its own."""
    messages = [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": STALE}]},
        *more,
    ]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 300, "tools": [TOOL], "messages": messages}
    return json.dumps(body, separators=(", ", " : ") if spaced else (",", ":")).encode()


LATER = (
    {"role": "assistant", "content": "It says nothing new."},
    {"role": "user", "content": "go on, über alles"},
)


def edit_of(kind: str, **payload: Any) -> Edit:
    from ctxtui.wire.registry import DIALECTS

    items = DIALECTS["anthropic"].decode_request(request(*LATER), None).items
    (item,) = [one for one in items if STALE.encode() in one.block.body]
    return make(kind, [Target(item.block.digest)], payload, id="e1")


@pytest.mark.parametrize("spaced", [False, True])
def test_nothing_but_the_edit_is_changed(spaced: bool) -> None:
    raw = request(*LATER, spaced=spaced)
    made = curate_request(URL, raw, [edit_of("replace", text="gone")])
    assert made.proof.applied == ("e1",) and made.body is not None
    assert made.body == raw.replace(json.dumps(STALE).encode(), b'"gone"')


def test_copied_blocks_go_in_and_every_other_byte_stays() -> None:
    raw = request(*LATER)
    made = curate_request(URL, raw, [edit_of("transplant", **call_and_result("anthropic"))])
    assert made.proof.applied == ("e1",) and made.body is not None
    before, after = json.loads(raw)["messages"], json.loads(made.body)["messages"]
    assert [*after[:3], *after[5:]] == before and after[3]["content"][0]["id"] == "toolu_copied"
    at = made.body.index(b'{"role":"assistant","content":[{"type":"tool_use","id":"toolu_copied"')
    assert raw.startswith(made.body[:at]) and made.body[at:].endswith(raw[at:])
    other = curate_request(URL, raw, [edit_of("transplant", **call_and_result("google"))])
    assert other.body is None, "blocks of another provider's API are held, not sent"


GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent"


def test_a_request_of_google_s_api_is_edited_and_nothing_else_of_it() -> None:
    call = {"functionCall": {"id": "fc_1", "args": {}, "name": "read"}, "thoughtSignature": "c2ln"}
    answer = {"functionResponse": {"name": "read", "response": {"output": STALE}, "id": "fc_1"}}
    asked = {
        "contents": [
            {"parts": [{"text": "read it"}], "role": "user"},
            {"parts": [call], "role": "model"},
            {"parts": [answer], "role": "user"},
        ],
        "systemInstruction": {"parts": [{"text": "Be short."}], "role": "user"},
        "tools": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": {"type": "object"}}]}],
        "generationConfig": {"temperature": 1},
    }
    raw = json.dumps(asked, separators=(",", ":")).encode()
    items = DIALECTS["google"].decode_request(raw, None).items
    (stale,) = [one for one in items if STALE.encode() in one.block.body]
    made = curate_request(
        f"{GOOGLE_URL}?alt=sse", raw, [make("replace", [Target(stale.block.digest)], {"text": "gone"}, id="e1")]
    )
    assert made.proof.applied == ("e1",)
    assert made.body == raw.replace(json.dumps(STALE).encode(), b'"gone"')
    (first,) = [one for one in items if one.block.kind == "function_call"]
    dropped = curate_request(GOOGLE_URL, raw, [make("drop", [Target(first.block.digest)], {}, id="e1")])
    assert dropped.body is not None
    assert [content["role"] for content in json.loads(dropped.body)["contents"]] == ["user"]


def test_tools_that_a_client_brings_as_an_item_keep_the_choice_among_them() -> None:
    # Codex: no member `tools`, an item `additional_tools`, and yet a choice.
    tools = [{"type": "function", "name": "exec", "description": "Runs.", "parameters": {"type": "object"}}]
    items = [
        {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": tools},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "read it"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec", "arguments": "{}"},
        {"type": "function_call_output", "id": "fco_1", "call_id": "call_1", "output": STALE},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
    ]
    asked = {
        "model": "gpt-5.6-sol",
        "input": items,
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "store": False,
    }
    raw = json.dumps(asked, separators=(",", ":")).encode()
    from ctxtui.wire.registry import DIALECTS

    decoded = DIALECTS["openai_responses"].decode_request(raw, None).items
    (stale,) = [one for one in decoded if STALE.encode() in one.block.body]
    made = curate_request(
        "https://api.openai.com/v1/responses",
        raw,
        [make("replace", [Target(stale.block.digest)], {"text": "gone"}, id="e1")],
    )
    assert made.proof.applied == ("e1",)
    assert made.body == raw.replace(json.dumps(STALE).encode(), b'"gone"')


def test_an_edit_sleeps_where_its_block_is_not_and_is_refused_where_the_provider_would_refuse() -> None:
    other = json.dumps({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hoi"}]}).encode()
    found = curate_request(URL, other, [edit_of("drop")])
    assert (found.body, found.proof.without_target) == (None, ("e1",))
    assert (
        "not supported for this API"
        in dict(curate_request("https://x/v1/embed", other, [edit_of("drop")]).proof.refused)["e1"]
    )
    broken = curate_request(URL, b'{"messages": 3', [edit_of("drop")])
    assert broken.body is None and broken.proof.refused


def test_an_edit_that_changes_only_some_of_its_blocks_is_applied_and_refused_in_part() -> None:
    raw = request(*LATER)
    items = DIALECTS["anthropic"].decode_request(raw, None).items
    by_text = {text: item for item in items for text in ("nothing new", "go on") if text.encode() in item.block.body}
    pinned, other = (Target(by_text[text].block.digest) for text in ("go on", "nothing new"))
    pin = make("pin", [pinned], {}, id="pin")
    edit = make("drop", [other, pinned], {}, id="drop", author="policy:x")
    curated = curate_request(URL, raw, [pin, edit])
    assert curated.body is not None and b"nothing new" not in curated.body and b"go on" in curated.body
    assert curated.proof.applied == ("pin", "drop") and curated.proof.by == ("policy:x", "user")
    assert dict(curated.proof.refused) == {"drop": "in part: pinned"}
    whole = make("drop", [pinned], {}, id="whole", author="policy:x")
    curated = curate_request(URL, raw, [pin, edit, whole])
    assert curated.proof.applied == ("pin", "drop") and dict(curated.proof.refused)["whole"] == "pinned"
    alone = curate_request(URL, raw, [pin, whole])
    assert alone.body is None and dict(alone.proof.refused) == {"whole": "pinned"}


def test_a_dropped_result_takes_its_call_along_so_that_the_request_stays_legal() -> None:
    made = curate_request(URL, request(*LATER), [edit_of("drop")])
    assert made.body is not None and STALE.encode() not in made.body
    said = json.loads(made.body)["messages"]
    assert not any("tool_use" in json.dumps(one) for one in said) and said[-1]["content"] == "go on, über alles"


@pytest.mark.parametrize("lifetime", [{}, {"ttl": "1h"}])
def test_a_marker_on_a_dropped_block_goes_to_the_one_before_it(lifetime: dict[str, str]) -> None:
    # As Claude Code's newest result: without a marker at the end nothing of the conversation would be read.
    mark = {"type": "ephemeral", **lifetime}
    said = json.loads(request())
    said["messages"][0]["content"] = [{"type": "text", "text": "read it"}, {"type": "text", "text": "at once"}]
    said["messages"][-1]["content"][0]["cache_control"] = mark
    made = curate_request(URL, json.dumps(said).encode(), [edit_of("drop")])
    assert made.body is not None
    (message,) = json.loads(made.body)["messages"]
    assert [one.get("cache_control") for one in message["content"]] == [None, mark]
    # One that stands there already stays as it is.
    said["messages"][0]["content"][1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    made = curate_request(URL, json.dumps(said).encode(), [edit_of("drop")])
    assert made.body is not None and made.body.count(b"cache_control") == 1


@pytest.mark.parametrize("dialect", sorted(SHAPES))
def test_law_what_is_taken_back_leaves_the_programs_own_bytes(dialect: str) -> None:
    """Whatever edits were applied, in whatever spelling the program writes: once all are taken back nothing is written
    in place of its request."""
    paths = {"anthropic": "messages", "openai_chat": "chat/completions", "openai_responses": "responses"}
    paths["google"] = "models/gemini-3.1-pro-preview:generateContent"
    url, altered = f"https://api.example.com/v1/{paths[dialect]}", 0
    for number in range(40):
        rng = Random(f"taken back {dialect} {number}")
        said = SHAPES[dialect](rng)
        body = json.dumps(said, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5).encode()
        request = DIALECTS[dialect].decode_request(body, None)
        tree = Tree()
        log = edits(
            rng, Context(tree, tree.extend(ROOT, request.items), dialect, request.params, marker_lifetimes(request))
        )
        log = [one for one in log if one.kind != REVERT]
        applied = [*log, Edit("applied", APPLY, payload=payload({"ids": [one.id for one in log]}))]
        altered += curate_request(url, body, edits_in_force(applied).applied).body not in (None, body)
        back = [*applied, *(Edit(f"back {one.id}", REVERT, reverts=one.id) for one in log)]
        assert edits_in_force(applied).applied and edits_in_force(back).applied == ()
        assert curate_request(url, body, edits_in_force(back).applied).body is None
    assert altered > 10


def stored(folder: Path, session: str) -> SessionEdits:
    """The edits of a session that was recorded once."""
    return SessionEdits(load(folder / f"{session}.jsonl"), Settings(data_dir=str(folder)))


@asynccontextmanager
async def attached(tmp_path: Path, url: str) -> AsyncIterator[tuple[Relay, Recorder]]:
    gate = EditsGate(tmp_path / "ctxtui.db", "s")
    recorder = Recorder(RecordedRun(tmp_path, "r", "s"))
    relay = Relay([Upstream("anthropic", url)], recorder.put, recorder.next_name, gate=gate)
    await relay.start()
    try:
        yield relay, recorder
    finally:
        await relay.close()
        gate.close()
        await asyncio.to_thread(recorder.close)


@pytest.mark.parametrize(
    "odd", [b"{", b'["messages"]', b'{"messages": [], "tools": [null]}', b"[" * 100_000, b'{"messages": "\xff"}']
)
def test_an_odd_request_of_a_program_stays_as_it_is(odd: bytes) -> None:
    assert SessionOverlay("s", MAIN, ()).apply(odd) == odd


async def asked(relay: Relay, body: bytes, more: str = "") -> bytes:
    head = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
    raw = (
        head + more
    ).encode() + b"content-type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
    return await talk(relay.port, raw + body)


async def test_what_its_client_signed_leaves_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    async with serving(Server(Provider())) as provider, attached(tmp_path, provider.url) as (relay, recorder):
        assert (await asked(relay, request())).startswith(b"HTTP/1.1 200")
        await asyncio.to_thread(recorder.flush)
        edits = stored(tmp_path, "s")
        overlay = edits.of_thread(MAIN)
        overlay.stage_all([make("drop", edit_of("drop").targets)])
        overlay.apply()
        await asyncio.to_thread(edits.save)
        signed = "authorization: AWS4-HMAC-SHA256 Credential=x, Signature=y\r\n"
        assert (await asked(relay, request(*LATER), signed)).startswith(b"HTTP/1.1 200")
        assert provider.server.seen[-1].body == request(*LATER)
        await asyncio.to_thread(recorder.flush)
        last = load(tmp_path / "s.jsonl").session.thread_calls()[-1]
        assert "the client signed this request" in str(last.extra[EDITS])


async def test_edits_stand_until_they_are_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    async with serving(Server(Provider())) as provider, attached(tmp_path, provider.url) as (relay, recorder):
        seen = provider.server.seen
        first = request()
        assert (await asked(relay, first)).startswith(b"HTTP/1.1 200")
        await asyncio.to_thread(recorder.flush)
        edits = stored(tmp_path, "s")
        overlay = edits.of_thread(MAIN)
        stale = edit_of("drop")
        overlay.stage_all([make("drop", stale.targets)])
        overlay.apply()
        await asyncio.to_thread(edits.save)
        for more in (LATER, (*LATER, {"role": "assistant", "content": "So."}, {"role": "user", "content": "And?"})):
            assert (await asked(relay, request(*more))).startswith(b"HTTP/1.1 200")
            assert STALE.encode() not in seen[-1].body and b"go on" in seen[-1].body
        overlay.undo()
        await asyncio.to_thread(edits.save)
        assert (await asked(relay, request(*LATER))).startswith(b"HTTP/1.1 200")
        assert seen[-1].body == request(*LATER) and seen[0].body == first
        # A thread that no edit is about, and a count, leave as they are.
        await asyncio.to_thread(recorder.flush)
        told = ctxtui.edits("s")
        assert told.applied == [] and told.apply(request()) == request()
        overlay.redo()
        await asyncio.to_thread(edits.save)
        told = ctxtui.edits("s")
        assert [one["kind"] for one in told.applied] == ["drop"]
        under = told.apply(json.loads(request(*LATER)))
        assert STALE not in json.dumps(under) and told.proof.applied
        ran = subprocess.run(
            [sys.executable, "-m", "ctxtui", "edits", str(tmp_path / "s.jsonl"), "--json"],
            capture_output=True, text=True, timeout=100, check=True, env={**os.environ, "CTXTUI_HOME": str(tmp_path)},
        )  # fmt: skip
        (thread,) = json.loads(ran.stdout)["threads"]
        assert thread["applied"] == told.applied and [one["call"] for one in thread["calls"]] == [2, 3]
    calls = load(tmp_path / "s.jsonl").session.thread_calls(MAIN)
    assert [call.sent_head == call.raw_head for call in calls] == [True, False, False, True]
    assert calls[1].extra[EDITS]["applied"] and calls[3].extra.get(EDITS) is None


@pytest.mark.parametrize("stored", [False, True])
async def test_where_no_edit_is_in_force_the_body_is_not_even_waited_for(tmp_path: Path, stored: bool) -> None:
    async with raw_provider() as provider:
        path = tmp_path / "some.db"
        if stored:
            Store.open(path).close()
        gate = EditsGate(path, "s")
        gate.load_ahead()
        async with asyncio.timeout(20):
            while gate._edits.may_have_unnamed():
                await asyncio.sleep(0.01)
        async with relayed(provider.port, tmp_path, gate=gate) as (relay, _):
            provider.replies = [[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]]
            reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
            writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nhal")
            async with asyncio.timeout(20):
                while not provider.connections:
                    await asyncio.sleep(0.01)
            writer.write(b"f")
            assert (await asyncio.wait_for(reader.readuntil(b"ok"), 20)).endswith(b"ok")
            writer.close()


async def test_a_gate_that_breaks_lets_requests_pass_as_they_are(tmp_path: Path) -> None:
    class Broken:
        def wants(self, head: object) -> bool:
            return True

        async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
            raise RuntimeError("broken")

    async with raw_provider() as provider, relayed(provider.port, tmp_path, gate=Broken()) as (relay, recorder):
        provider.replies = [[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]]
        body = b"POST /v1/messages HTTP/1.1\r\nHost: %b\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n\r\n"
        assert (await talk(relay.port, body % b"localhost", end=b"ok")).endswith(b"ok")
        assert provider.seen == [body % f"127.0.0.1:{provider.port}".encode()]
        assert await asyncio.to_thread(recorder.flush)
    assert "RuntimeError: broken" in (tmp_path / "s.jsonl").read_text()


async def _asked_by_socket(socket: aiohttp.ClientWebSocketResponse, said: dict[str, Any]) -> dict[str, Any]:
    create = {"type": "response.create", "model": "gpt-5.6", "store": False, "stream": True}
    await socket.send_str(json.dumps({**create, **said}))
    while True:
        message: dict[str, Any] = json.loads((await asyncio.wait_for(socket.receive(), 30)).data)
        assert message["type"] != "error", message
        if message["type"] == "response.completed":
            return message["response"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("packed", [0, 15])
async def test_what_a_socket_s_later_requests_only_name_is_edited_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: int
) -> None:
    """A client names the response before and sends what is new: the edit is about what it does not send again."""
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))

    def said(text: str) -> list[dict[str, Any]]:
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]

    async with serving(Server(Provider())) as provider:
        gate = EditsGate(tmp_path / "ctxtui.db", "s")
        recorder = Recorder(RecordedRun(tmp_path, "r", "s"))
        relay = Relay([Upstream("openai", provider.openai_url)], recorder.put, recorder.next_name, gate=gate)
        await relay.start()
        url = f"{relay.base_url(relay.upstreams[0])}/responses"
        headers = {"authorization": "Bearer sk-x", "openai-beta": "responses_websockets=2026-02-06"}
        async with aiohttp.ClientSession() as http, http.ws_connect(url, headers=headers, compress=packed) as socket:
            first = await _asked_by_socket(socket, {"input": said(STALE)})
            await asyncio.to_thread(recorder.flush)
            edits = stored(tmp_path, "s")
            told = load(tmp_path / "s.jsonl").session
            context = told.tree.items(told.thread_calls(MAIN)[0].raw_head)
            (block,) = [item.block for item in context if STALE.encode() in item.block.body]
            overlay = edits.of_thread(MAIN)
            overlay.stage_all([make("replace", [Target(block.digest)], {"text": "gone"})])
            overlay.apply()
            await asyncio.to_thread(edits.save)
            second = await _asked_by_socket(socket, {"previous_response_id": first["id"], "input": said("and now?")})
            # The provider holds the edited conversation, the client names the one that it knows: both go on.
            third = await _asked_by_socket(socket, {"previous_response_id": second["id"], "input": said("and then?")})
        await relay.close()
        gate.close()
        await asyncio.to_thread(recorder.close)
    session = load(tmp_path / "s.jsonl").session
    calls = session.thread_calls(MAIN)
    assert [call.extra.get(EDITS, {}).get("applied") for call in calls[1:]] == [[overlay.applied[0].id]] * 2
    for call in calls[1:]:
        sent = b"".join(item.block.body for item in session.tree.items(call.sent_head))
        assert STALE.encode() not in sent and b"gone" in sent and b"and now?" in sent
    assert calls[0].usage and calls[1].usage and calls[2].usage
    assert calls[1].usage.input < calls[0].usage.input < calls[2].usage.input + 200
    assert third["usage"]["input_tokens"] > second["usage"]["input_tokens"]
