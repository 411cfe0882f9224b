"""Requests that are held wait for the user, leave as was decided, and in any case before their program gives up."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig, NotFound
from ctxtui.services.attach.control import Control, ask_all
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.hold_rules import HoldRules, parse_rules, rules_from_options
from ctxtui.services.attach.holding import APPLY, REFUSE, RELEASE, HoldGate
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.kit.http_exchange.pair import CLASSIFIER, TITLE, classify_side_call
from tests.attach.raw import RawProvider, raw_provider

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def request(text: str = "hoi", more: bytes = b"", **members: object) -> bytes:
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": text}], **members}
    body = json.dumps(asked).encode()
    head = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n" + more + b"Content-Length: %d\r\n\r\n" % len(body)
    return head + body


@asynccontextmanager
async def held(folder: Path, rules: HoldRules) -> AsyncIterator[tuple[RawProvider, Relay, HoldGate, Recorder]]:
    async with raw_provider() as provider:
        recorder = Recorder(RecordedRun(folder, "r", "s"))
        gate = HoldGate(EditsGate(folder / "ctxtui.db", "s"), rules, recorder.put)
        relay = Relay([Upstream("x", f"http://127.0.0.1:{provider.port}")], recorder.put, recorder.next_name, gate=gate)
        await relay.start()
        try:
            yield provider, relay, gate, recorder
        finally:
            await relay.close()
            gate.close()
            await asyncio.to_thread(recorder.close)


async def begun(relay: Relay, raw: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    writer.write(raw)
    return reader, writer


async def until(gate: HoldGate, count: int = 1) -> None:
    async with asyncio.timeout(30):
        while len(gate.held) != count:
            await asyncio.sleep(0.01)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    got = await asyncio.wait_for(reader.readuntil(b"}"), 30)
    writer.close()
    return got


@pytest.mark.parametrize("how", [RELEASE, APPLY])
async def test_nothing_leaves_before_it_is_released(tmp_path: Path, how: str) -> None:
    async with held(tmp_path, HoldRules(each=True)) as (provider, relay, gate, recorder):
        provider.replies = [[OK]]
        line = await begun(relay, request())
        await until(gate)
        assert not provider.seen
        (waits,) = gate.handle({"do": "list"})["held"]
        assert waits["why"] == "each request is held" and waits["session"] == "s" and 100 < waits["seconds_left"] <= 120
        assert await asyncio.to_thread(recorder.flush)
        # The session has it as the next call while it waits.
        session = load(tmp_path / "s.jsonl").session
        assert session.happenings[0].kind == "held" and session.threads["main"].tip
        gate.handle({"do": how, "id": waits["id"]})
        assert (await answer(*line)) == OK
        host = f"127.0.0.1:{provider.port}".encode()
        assert provider.seen == [request().replace(b"localhost", host)] and not gate.held
        assert await asyncio.to_thread(recorder.flush)
    assert f'"released":"{how}"' in (tmp_path / "s.jsonl").read_text()


async def test_refused_it_never_leaves_and_the_program_is_told(tmp_path: Path) -> None:
    async with held(tmp_path, HoldRules(each=True)) as (provider, relay, gate, _):
        line = await begun(relay, request())
        await until(gate)
        gate.release("", REFUSE)
        assert (await answer(*line)).startswith(b"HTTP/1.1 422 ") and not provider.seen


_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\n\r\nno"


@pytest.mark.parametrize(
    ("last_bytes", "closes"),
    [(b"", True), (_TIMEOUT, True), (_TIMEOUT, False)],
    ids=["closes", "408", "408 stays open"],
)
@pytest.mark.parametrize("how", [RELEASE, REFUSE])
async def test_a_held_request_survives_the_end_of_the_idle_connection(
    tmp_path: Path, how: str, last_bytes: bytes, closes: bool
) -> None:
    async with held(tmp_path, HoldRules(each=True)) as (provider, relay, gate, recorder):
        provider.replies = [[OK], [OK]]
        reader, writer = await begun(relay, request("een"))
        await until(gate)
        gate.release("", RELEASE)
        assert await asyncio.wait_for(reader.readuntil(b"}"), 30) == OK
        writer.write(request("twee"))
        await until(gate)
        provider.writers[0].write(last_bytes)
        if closes:
            provider.writers[0].close()
        await asyncio.sleep(0.1)
        gate.release("", how)
        got = await answer(reader, writer)
        sent = [raw.endswith(request("twee").partition(b"\r\n\r\n")[2]) for raw in provider.seen]
        if how == RELEASE:
            assert got == OK and sent == [False, True] and provider.connections == 2
        else:
            assert got.startswith(b"HTTP/1.1 422 ") and sent == [False]
        assert await asyncio.to_thread(recorder.flush)
    assert "broke off" not in (tmp_path / "s.jsonl").read_text()


@pytest.mark.parametrize(
    "told",
    [
        b"X-Stainless-Timeout: 15.2\r\n",
        # As the SDKs say a time-out that is their client's own.
        b"X-Stainless-Timeout: NOT_GIVEN\r\nX-Stainless-Read-Timeout: 15.2\r\n",
    ],
)
async def test_nobody_decides_and_it_leaves_before_its_program_gives_up(tmp_path: Path, told: bytes) -> None:
    async with held(tmp_path, HoldRules(each=True)) as (provider, relay, _, recorder):
        provider.replies = [[OK]]
        line = await begun(relay, request(more=told))
        assert (await answer(*line)) == OK and len(provider.seen) == 1
        assert await asyncio.to_thread(recorder.flush)
    assert '"released":"time is up"' in (tmp_path / "s.jsonl").read_text()


@pytest.mark.parametrize(
    "more",
    [
        {"stop_sequences": ["</severity>"]},
        {},
    ],
    ids=["2.1.300", "2.1.332"],
)
def test_claude_codes_checks_of_a_tool_call_are_none_of_its_turns(more: dict[str, Any]) -> None:
    how = "Respond with <severity>N</severity> ONLY. No other text." if not more else "Grade it."
    texts = [{"type": "text", "text": text} for text in ("<transcript>", '{"Bash":"ls"}', "</transcript>", how)]
    asked = {"model": "claude-sonnet-5", "max_tokens": 64, "messages": [{"role": "user", "content": texts}], **more}
    assert classify_side_call("/v1/messages", asked) == CLASSIFIER
    # The user's agent may be about severities.
    assert not classify_side_call("/v1/messages", {**asked, "tools": [{"name": "read"}]})


def test_codex_s_request_for_a_title_is_none_of_its_turns() -> None:
    """As its terminal asks, in a session of its own, its tools being an item of the input."""
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    shaped = {"format": {"type": "json_schema", "strict": True, "schema": schema}}
    asked = {"type": "response.create", "model": "gpt-5.6-sol", "text": shaped, "input": []}
    assert classify_side_call("/v1/responses", asked) == TITLE
    # An answer that a program wants in a shape of its own is a turn.
    schema["properties"]["body"] = {"type": "string"}  # type: ignore[index]
    assert classify_side_call("/v1/responses", asked) == ""


def test_gemini_cli_s_check_for_loops_is_none_of_its_turns() -> None:
    path = "/v1beta/models/gemini-3-flash-preview:generateContent"
    schema = {"type": "object", "properties": {"unproductive_state_confidence": {"type": "number"}}}
    asked: dict[str, Any] = {"contents": [], "generationConfig": {"responseJsonSchema": schema}}
    assert classify_side_call(path, asked) == CLASSIFIER
    schema["properties"] = {"confidence": {"type": "number"}}
    assert classify_side_call(path, asked) == ""


async def test_side_calls_pass_and_rules_choose(tmp_path: Path) -> None:
    rules = HoldRules(tokens=1000, pattern=re.compile(b"sec.et"))
    async with held(tmp_path, rules) as (provider, relay, gate, _):
        provider.replies = [[OK]] * 3
        title = {
            "tools": [],
            "output_config": {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}},
        }
        for raw in (
            request(),
            request("x" * 9000, **title),
            request().replace(b"/v1/messages", b"/v1/messages/count_tokens"),
        ):
            assert (await answer(*await begun(relay, raw))) == OK
        lines = [await begun(relay, request("x" * 9000)), await begun(relay, request("a secret"))]
        await until(gate, 2)
        whys = {one.why for one in gate.held.values()}
        assert {why.partition(" tokens")[0].rstrip("0123456789,") for why in whys} == {"about ", "sec.et is in it"}
        provider.replies = [[OK]] * 2
        for one in list(gate.held):
            with pytest.raises(NotFound):  # one that began with the same digits may have ended just now
                gate.release(one[:-1], RELEASE)
            gate.release(one, RELEASE)
        for line in lines:
            assert (await answer(*line)) == OK


async def test_a_program_that_goes_away_ends_its_request(tmp_path: Path) -> None:
    async with held(tmp_path, HoldRules(each=True)) as (provider, relay, gate, _):
        _, writer = await begun(relay, request())
        await until(gate)
        writer.transport.abort()
        await until(gate, 0)
        assert not provider.seen


async def test_who_does_not_know_the_word_decides_nothing(tmp_path: Path) -> None:
    asked: list[object] = []

    def answered(told: dict[str, object]) -> dict[str, object]:
        asked.append(told["do"])
        return {"held": []}

    control = Control(tmp_path, "r", answered)
    await control.start()
    file = tmp_path / "r.control"
    assert file.stat().st_mode & 0o777 == 0o600
    assert await asyncio.to_thread(lambda: list(ask_all(tmp_path, {"do": "list"}))) == [("r", {"held": []})]
    told = json.loads(file.read_text())
    for line in (b'{"do": "off", "word": "x"}\n', b"GET / HTTP/1.1\r\n\r\n", b"[]\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", told["port"])
        writer.write(line)
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()
    assert asked == ["list"]
    await control.close()
    assert not file.exists()
    file.write_text(json.dumps(told))
    assert list(ask_all(tmp_path, {"do": "list"})) == [] and not file.exists()


KEY = "sk-ant-api03-Zk3vQ9xLw2Rt7Yp1Nm8Bc5Df0Gh4Js6Kl"


async def test_a_new_secret_is_held_until_it_was_sent(tmp_path: Path) -> None:
    async with held(tmp_path, HoldRules(secret=True)) as (provider, relay, gate, _):
        provider.replies = [[OK]] * 4
        assert (await answer(*(await begun(relay, request("no key here"))))) == OK
        for how in (REFUSE, RELEASE):
            line = await begun(relay, request(f"my key is {KEY}"))
            await until(gate)
            (waits,) = gate.handle({"do": "list"})["held"]
            assert waits["why"] == "a secret is in it (api key)" and KEY not in json.dumps(waits)
            gate.release("", how)
            await answer(*line)
        # Decided: the same block again is not held, another secret is.
        assert (await answer(*(await begun(relay, request(f"my key is {KEY}"))))) == OK
        line = await begun(relay, request("password: hunter2hunter9"))
        await until(gate)
        gate.release("", REFUSE)
        await answer(*line)


@pytest.mark.parametrize(
    "asked",
    [
        request(f"Please write a 5-10 word title for: my key is {KEY}", system="Write a title for the conversation."),
        request(f"my key is {KEY}").replace(b"/v1/messages ", b"/v1/messages/count_tokens "),
        request(f"my key is {KEY}", messages=f"no list, but {KEY}"),
    ],
    ids=["title", "count", "not to be read"],
)
async def test_a_secret_leaves_by_no_other_request(tmp_path: Path, asked: bytes) -> None:
    async with held(tmp_path, HoldRules(secret=True)) as (provider, relay, gate, _):
        line = await begun(relay, asked)
        await until(gate)
        assert not provider.seen
        gate.release("", REFUSE)
        assert (await answer(*line))[:12] in (b"HTTP/1.1 422", b"HTTP/1.1 400") and not provider.seen


async def test_a_secret_that_was_sent_to_ollama_is_not_held_with_the_next_message(tmp_path: Path) -> None:
    said = [{"role": "user", "content": f"my key is {KEY}"}]
    async with held(tmp_path, HoldRules(secret=True)) as (provider, relay, gate, _):
        provider.replies = [[OK]] * 2
        for more in ([], [{"role": "assistant", "content": "hm"}, {"role": "user", "content": "go on"}]):
            asked = request(messages=[*said, *more]).replace(b"/v1/messages ", b"/api/chat ")
            line = await begun(relay, asked)
            if not more:
                await until(gate)
                gate.release("", RELEASE)
            assert await answer(*line) == OK


async def test_a_request_for_a_title_is_held_for_nothing_else(tmp_path: Path) -> None:
    async with held(tmp_path, HoldRules(each=True, secret=True)) as (provider, relay, _, __):
        provider.replies = [[OK]]
        assert (await answer(*(await begun(relay, request(tools=[], max_tokens=1))))) == OK


def looping(times: int, *later: str, said: str = "") -> bytes:
    """The same command so many times, then the commands `later`; `said` is beside the last result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "test it"}]
    for n, command in enumerate(["npm test"] * times + [*later]):
        use = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "FAIL"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    messages[-1]["content"] += [{"type": "text", "text": said}] if said else []
    return request(messages=messages)


async def test_a_loop_is_held_at_each_multiple(tmp_path: Path) -> None:
    async with held(tmp_path, HoldRules(repeats=3)) as (provider, relay, gate, _):
        provider.replies = [[OK]] * 9
        for times in range(1, 7):
            line = await begun(relay, looping(times))
            if times % 3 == 0:
                await until(gate)
                (waits,) = gate.handle({"do": "list"})["held"]
                assert waits["why"] == f"the same calls got the same answers {times} times (Bash)"
                gate.release("", RELEASE)
            assert (await answer(*line)) == OK


async def test_a_loop_that_another_call_or_the_user_ended_is_not_held_again(tmp_path: Path) -> None:
    async with held(tmp_path, HoldRules(repeats=3)) as (provider, relay, gate, _):
        provider.replies = [[OK]] * 3
        line = await begun(relay, looping(3))
        await until(gate)
        gate.release("", RELEASE)
        assert (await answer(*line)) == OK
        assert (await answer(*(await begun(relay, looping(3, "git status"))))) == OK
        assert (await answer(*(await begun(relay, looping(3, said="stop testing"))))) == OK


def test_rules_are_spelled_as_they_are_described() -> None:
    rules = HoldRules(secret=True, repeats=4, tokens=9)
    assert rules_from_options(parse_rules(", ".join(rules.descriptions))) == rules
    assert rules_from_options(parse_rules("secret, 3 repeats")) == HoldRules(secret=True, repeats=3)
    for odd in ("over " + "9" * 400, "with a{99999999999999999999}", "with " + "(" * 5000 + ")" * 5000):
        with pytest.raises(BadConfig, match="not a"):
            parse_rules(odd)
