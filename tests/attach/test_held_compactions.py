"""The answer to a client's compaction waits for the user, who edits, releases or refuses it; no other answer waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ctxtui.core.call import COMPACTS
from ctxtui.core.edit import Target, make
from ctxtui.core.edit_kinds import PIN
from ctxtui.core.session import COMPACTING
from ctxtui.services.attach.hold_rules import HoldRules, parse_rules
from ctxtui.services.attach.holding import ANSWER, APPLY, REFUSE, RELEASE
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.kit.http_exchange.compaction import (
    CompactionRequest,
    compaction_of,
    may_compact,
    recognize_compaction,
)
from ctxtui.wire.registry import DIALECTS
from tests.attach.holding import HoldingRun, holding
from tests.attach.raw import raw_provider
from tests.corpus import ABSENT, CORPUS

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
CLAUDE = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- You already have all the context you need.\n\n"
    "Your task is to create a detailed summary of the conversation so far, paying close attention to the requests."
)
OLDER_CLAUDE = "Your task is to create a detailed summary of the conversation so far, paying close attention to it."
CODEX = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM."
RULES = HoldRules(compaction=True)
APIS = ["messages", "chat", "responses"]
NEW = "The port is 8080.\nKeep `src/cart.py`."
FIRST = "the key of the depot is under stone 41"


def turns(prompt: str) -> Any:
    said = [{"role": "user", "content": FIRST}, {"role": "assistant", "content": "noted"}]
    return [*said, {"role": "user", "content": prompt}]


async def ask(url: str, api: str, *, stream: bool, headers: Any = None) -> str:
    """What an SDK gets for a request to compact."""
    own: Any = {"extra_headers": headers or {}}
    if api == "messages":
        async with anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=2) as client:
            asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 999, "messages": turns(CLAUDE), **own}
            if stream:
                async with client.messages.stream(**asked) as coming:
                    message = await coming.get_final_message()
            else:
                message = await client.messages.create(**asked)
            (block,) = message.content
            assert message.stop_reason == "end_turn" and message.usage.output_tokens and block.type == "text"
            return block.text
    async with openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=2) as talk:
        if api == "responses":
            if stream:
                async with talk.responses.stream(model="gpt-5.1", input=turns(CODEX), **own) as events:
                    return (await events.get_final_response()).output_text
            return (await talk.responses.create(model="gpt-5.1", input=turns(CODEX), **own)).output_text
        if stream:
            chunks = await talk.chat.completions.create(model="gpt-5.1", messages=turns(CODEX), stream=True, **own)
            return "".join([one.choices[0].delta.content or "" async for one in chunks if one.choices])
        made = await talk.chat.completions.create(model="gpt-5.1", messages=turns(CODEX), **own)
        assert made.choices[0].finish_reason == "stop"
        return made.choices[0].message.content or ""


def held(run: HoldingRun) -> dict[str, Any]:
    (one,) = run.gate.handle({"do": "list"})["held"]
    return one


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("api", APIS)
async def test_an_edited_summary_reaches_the_sdk(tmp_path: Path, api: str, stream: bool) -> None:
    async with holding(tmp_path, RULES) as run:
        plain = await ask(run.provider.url, api, stream=stream)
        asked = asyncio.ensure_future(ask(run.url, api, stream=stream))
        await run.held()
        # The provider has answered; the client has nothing yet.
        assert len(run.provider.server.seen) == 2 and not asked.done()
        assert held(run)["summary"] == plain and "compacts its history" in held(run)["why"]
        run.gate.release("", ANSWER, NEW)
        assert await asked == NEW
        await run.written()
    session = load(run.path).session
    (call,) = session.thread_calls()
    assert call.extra[COMPACTS] and call.extra["edits"]["compaction"] == ANSWER and not call.error
    assert [one.kind for one in session.happenings] == [COMPACTING, "held"]


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("api", APIS)
async def test_a_released_summary_is_the_providers(tmp_path: Path, api: str, stream: bool) -> None:
    async with holding(tmp_path, RULES) as run:
        plain = await ask(run.provider.url, api, stream=stream)
        asked = asyncio.ensure_future(ask(run.url, api, stream=stream))
        await run.held()
        run.gate.release("", RELEASE)
        assert await asked == plain


@pytest.mark.parametrize("api", APIS)
async def test_without_a_decision_it_is_released_before_the_client_gives_up(tmp_path: Path, api: str) -> None:
    async with holding(tmp_path, RULES) as run:
        plain = await ask(run.provider.url, api, stream=False)
        assert await ask(run.url, api, stream=False, headers={"X-Stainless-Timeout": "16"}) == plain
        await run.written()
    (call,) = load(run.path).session.thread_calls()
    assert call.extra["edits"]["compaction"] == "time is up"


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("api", APIS)
async def test_pings_keep_the_client_waiting_for_an_edited_stream(tmp_path: Path, api: str, stream: bool) -> None:
    async with holding(tmp_path, RULES) as run:
        asked = asyncio.ensure_future(ask(run.url, api, stream=True, headers={"X-Stainless-Timeout": "16"}))
        await run.until(lambda: any(one.pinged for one in run.gate.held.values()))
        plain = held(run)["summary"]
        run.gate.release("", ANSWER if stream else RELEASE, NEW)
        assert await asked == (NEW if stream else plain)


async def test_codex_is_kept_waiting_by_events_as_comments_do_not_count_for_it(tmp_path: Path) -> None:
    """It ends a stream without an event (measured with 0.171.0: `stream_idle_timeout_ms`)."""
    body = json.dumps({"model": "gpt-5.1", "stream": True, "input": turns(CODEX)}).encode()
    head = b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\noriginator: codex_exec\r\nthread-id: t\r\n"
    head += b"Authorization: Bearer k\r\nContent-Type: application/json\r\n"
    async with holding(tmp_path, RULES) as run:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.url.rpartition(":")[2]))
        writer.write(head + b"X-Stainless-Timeout: 16\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        got = await asyncio.wait_for(reader.readuntil(b"event: keepalive\ndata: "), 30)
        assert b": the request is held" not in got
        run.gate.release("", RELEASE)
        assert b"response.completed" in await asyncio.wait_for(reader.read(), 30)
        writer.close()


@pytest.mark.parametrize("pinged", [False, True], ids=["at once", "after pings"])
@pytest.mark.parametrize("api", APIS)
async def test_a_refused_compaction_is_an_error_that_is_not_retried(tmp_path: Path, api: str, pinged: bool) -> None:
    async with holding(tmp_path, RULES) as run:
        headers = {"X-Stainless-Timeout": "16"} if pinged else {}
        asked = asyncio.ensure_future(ask(run.url, api, stream=pinged, headers=headers))
        await run.held()
        if pinged:
            await run.until(lambda: any(one.pinged for one in run.gate.held.values()))
        run.gate.release("", REFUSE)
        with pytest.raises((anthropic.APIError, openai.APIError), match="the compaction was refused"):
            await asked
        assert len(run.provider.server.seen) == 1
        await run.written()
        (call,) = load(run.path).session.thread_calls()
    assert call.extra["edits"]["compaction"] == REFUSE and not call.error


async def test_a_client_that_sends_a_refused_compaction_again_is_refused_at_once(tmp_path: Path) -> None:
    """As Codex does, five times."""
    async with holding(tmp_path, RULES) as run:
        for attempt in range(3):
            asked = asyncio.ensure_future(ask(run.url, "responses", stream=True))
            if not attempt:
                await run.held()
                run.gate.release("", REFUSE)
            with pytest.raises(openai.BadRequestError, match="the compaction was refused"):
                await asked
        assert len(run.provider.server.seen) == 1
        # Another compaction, of a longer history, is asked about.
        longer = [*turns("go on")[:2], *turns(CODEX)]
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{run.url}/v1") as talk:
            answer = asyncio.ensure_future(talk.responses.create(model="gpt-5.1", input=longer))
            await run.held()
            run.gate.release("", RELEASE)
            await answer


REMINDER = {"role": "system", "content": "While auto mode is active: prefer Edit or Write."}


async def test_a_client_that_mends_a_refused_compaction_is_refused_at_once(tmp_path: Path) -> None:
    """As Claude Code does, without thinking, with other tools and more of the system's."""
    async with raw_provider() as provider, holding(tmp_path, RULES, url=f"http://127.0.0.1:{provider.port}") as run:
        provider.replies = [answered(json.dumps(MESSAGE).encode(), more=b"Connection: close\r\n")] * 4
        bodies = [claude(CLAUDE), {**claude(CLAUDE), "messages": [*turns(CLAUDE), REMINDER]}]
        for attempt, body in enumerate(bodies):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(run.url.rpartition(":")[2]))
            writer.write(http(body))
            if not attempt:
                await run.held()
                run.gate.release("", REFUSE)
            assert (await asyncio.wait_for(reader.read(), 30)).startswith(b"HTTP/1.1 422 ")
            writer.close()
        assert len(provider.seen) == 1


def test_a_compaction_is_recognized_before_a_message_of_the_systems() -> None:
    body = {**claude(CLAUDE), "messages": [*turns(CLAUDE), REMINDER]}
    assert recognize_compaction("/v1/messages", body) == CompactionRequest("claude code")
    items = DIALECTS["anthropic"].decode_request(json.dumps(body).encode(), None).items
    assert compaction_of(items) == CompactionRequest("claude code")
    assert not recognize_compaction("/v1/messages", {**claude("hoi"), "messages": [*turns("hoi"), REMINDER]})
    assert not recognize_compaction("/v1/messages", {**claude("hoi"), "messages": [REMINDER]})


async def test_edits_cannot_be_applied_to_a_request_that_was_sent(tmp_path: Path) -> None:
    async with holding(tmp_path, RULES) as run:
        asked = asyncio.ensure_future(ask(run.url, "messages", stream=False))
        await run.held()
        with pytest.raises(Exception, match="its request was sent already"):
            run.gate.release("", APPLY)
        run.gate.release("", RELEASE)
        await asked


async def test_a_client_that_goes_away_releases_its_answer(tmp_path: Path) -> None:
    async with holding(tmp_path, RULES) as run:
        asked = asyncio.ensure_future(ask(run.url, "messages", stream=True))
        await run.held()
        asked.cancel()
        await run.held(0)
        await run.written()
    (call,) = load(run.path).session.thread_calls()
    assert call.error == "the client went away"


async def test_pinned_blocks_survive(tmp_path: Path) -> None:
    async with holding(tmp_path, RULES) as run:
        asked = asyncio.ensure_future(ask(run.url, "messages", stream=True))
        await run.held()
        run.gate.release("", RELEASE)
        await asked
        await run.written()
        loaded = load(run.path)
        edits = SessionEdits(loaded, Settings(data_dir=str(tmp_path)))
        head = loaded.session.thread_calls()[0].sent_head
        (digest,) = [block.digest for block, _ in loaded.session.tree.items(head) if FIRST.encode() in block.body]
        edits.of_thread("main").stage_all([make(PIN, [Target(digest)])])
        edits.save()
        for how, text in ((RELEASE, ""), (ANSWER, NEW), (ANSWER, f"{NEW} {FIRST}")):
            asked = asyncio.ensure_future(ask(run.url, "messages", stream=True))
            await run.held()
            summary = text or held(run)["summary"]
            run.gate.release("", how, text)
            assert (await asked).count(FIRST) == 1 and (await asked).startswith(summary)


def http(body: Any, path: str = "/v1/messages") -> bytes:
    encoded = json.dumps(body).encode()
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (
        path.encode(),
        len(encoded),
        encoded,
    )


def claude(prompt: Any, **more: Any) -> Any:
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": turns(prompt), **more}


MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "in short"}], "usage": {}}


def answered(*pieces: bytes, more: bytes = b"") -> list[bytes]:
    return [b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + more + b"\r\n", *pieces]


@pytest.mark.parametrize("ends", ["length", "chunked", "close"])
async def test_a_released_answer_keeps_every_byte(tmp_path: Path, ends: str) -> None:
    body = json.dumps(MESSAGE, indent=1).encode()
    replies = {
        "length": answered(body[:9], body[9:], more=b"Content-Length: %d\r\n" % len(body)),
        "chunked": answered(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body), more=b"Transfer-Encoding: chunked\r\n"),
        "close": answered(body, more=b"Connection: close\r\n"),
    }[ends]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
            writer.write(b"".join(replies))
            await writer.drain()
            if ends == "close":
                break
        writer.close()

    async with (
        raw_provider(handle) as provider,
        holding(tmp_path, RULES, url=f"http://127.0.0.1:{provider.port}") as run,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.url.rpartition(":")[2]))
        whole = b"".join(replies)
        for _ in range(1 if ends == "close" else 2):
            writer.write(http(claude(OLDER_CLAUDE)))
            await run.held()
            run.gate.release("", RELEASE)
            assert await asyncio.wait_for(reader.readexactly(len(whole)), 30) == whole
        writer.close()


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.1 529 Overloaded\r\nContent-Length: 2\r\n\r\n{}", b""], ids=["529", "no text"]
)
async def test_an_answer_without_a_summary_is_not_held(tmp_path: Path, reply: bytes) -> None:
    tool = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    body = json.dumps({**MESSAGE, "content": [tool]}).encode()
    async with raw_provider() as provider, holding(tmp_path, RULES, url=f"http://127.0.0.1:{provider.port}") as run:
        whole = reply or b"".join(answered(body, more=b"Content-Length: %d\r\n" % len(body)))
        provider.replies = [[whole]]
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.url.rpartition(":")[2]))
        writer.write(http(claude(CLAUDE)))
        assert await asyncio.wait_for(reader.readexactly(len(whole)), 30) == whole and not run.gate.held
        writer.close()


async def test_an_answer_that_breaks_off_is_passed_on_as_it_broke(tmp_path: Path) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"".join(answered(b'{"type"', more=b"Content-Length: 99\r\n")))
        await writer.drain()
        writer.transport.abort()

    async with (
        raw_provider(handle) as provider,
        holding(tmp_path, RULES, url=f"http://127.0.0.1:{provider.port}") as run,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.url.rpartition(":")[2]))
        writer.write(http(claude(CLAUDE)))
        got = b""
        try:
            got = await asyncio.wait_for(reader.read(), 30)
        except ConnectionError:
            return
        assert not got or got.endswith(b'{"type"')
        writer.close()


SEALED = [
    ({"model": "gpt-5.1", "input": [*turns("hoi"), {"type": "compaction_trigger"}]}, "/v1/responses"),
    ({"model": "gpt-5.1", "input": turns("hoi")}, "/v1/responses/compact"),
]


@pytest.mark.parametrize(("body", "path"), SEALED, ids=["trigger", "endpoint"])
async def test_where_only_the_provider_reads_the_summary_the_request_is_held(
    tmp_path: Path, body: Any, path: str
) -> None:
    async with raw_provider() as provider, holding(tmp_path, RULES, url=f"http://127.0.0.1:{provider.port}") as run:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.url.rpartition(":")[2]))
        writer.write(http(body, path))
        await run.held()
        assert not provider.seen and "only the provider can read" in held(run)["why"] and held(run)["summary"] is None
        run.gate.release("", REFUSE)
        assert (await asyncio.wait_for(reader.read(), 30)).startswith(b"HTTP/1.1 400 ") and not provider.seen
        writer.close()


TOOL = {"type": "tool_result", "tool_use_id": "t", "content": CLAUDE}
OTHERS: dict[str, Any] = {
    "a question": claude("what is left to do?"),
    "the prompt in a result": claude([TOOL]),
    "the prompt quoted": claude(f"What does this mean: {CLAUDE}"),
    "the prompt before": {**claude(CLAUDE), "messages": [*turns(CLAUDE), *turns("go on")[1:]]},
    "the prompt as system": claude("hoi", system=CLAUDE),
    "an answer of that text": {**claude("hoi"), "messages": [{"role": "assistant", "content": CLAUDE}]},
    "the prompt and then more": claude([{"type": "text", "text": CLAUDE}, {"type": "text", "text": "hoi"}]),
}


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
async def test_no_other_answer_is_delayed(tmp_path: Path, body: Any) -> None:
    """Each piece arrives before the provider sends the next one."""
    arrived = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        for piece in answered(b"1", b"2", b"3", more=b"Content-Length: 3\r\n"):
            arrived.clear()
            writer.write(piece)
            await asyncio.wait_for(arrived.wait(), 30)
        writer.close()

    async with (
        raw_provider(handle) as provider,
        holding(tmp_path, RULES, url=f"http://127.0.0.1:{provider.port}") as run,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.url.rpartition(":")[2]))
        writer.write(http(body))
        for end in (b"\r\n\r\n", b"1", b"2", b"3"):
            await asyncio.wait_for(reader.readuntil(end), 30)
            arrived.set()
        assert not run.gate.held
        writer.close()


async def test_without_the_rule_a_compaction_passes_and_is_told(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules()) as run:
        await ask(run.url, "messages", stream=True)
        await run.written()
    session = load(run.path).session
    assert [(one.kind, one.text) for one in session.happenings] == [(COMPACTING, "claude code compacts its history")]


def wire_bodies(path: Path) -> Iterator[tuple[int, str, str]]:
    """Number, path and body of each request; one may be spelled by what it has in common with an earlier one."""
    bodies: dict[int, str] = {}
    for line in map(json.loads, path.read_text().splitlines()):
        body = line["request"]
        if isinstance(body, dict):
            like = bodies[body["like"]]
            body = like[: body["head"]] + body["middle"] + like[len(like) - body["tail"] :]
        bodies[line["n"]] = body
        if body:
            yield line["n"], line["path"], body


@pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)
def test_in_recordings_of_real_clients_the_compactions_and_nothing_else_is_recognized() -> None:
    recognized: dict[str, list[int]] = {}
    requests = 0
    for path in sorted(CORPUS.glob("clients/*/*/wire.jsonl")):
        for number, url, body in wire_bodies(path):
            requests += 1
            is_one = recognize_compaction(url.partition("?")[0], json.loads(body)) is not None
            assert may_compact(url.partition("?")[0], body.encode()) or not is_one
            if is_one:
                recognized.setdefault(f"{path.parent.name}", []).append(number)
    assert requests > 100
    assert sorted(recognized) == ["default-provider-remote-compaction", "interactive-compact", "local-compaction"]
    assert recognized["interactive-compact"] == [15] and all(len(lines) == 1 for lines in recognized.values())


def test_the_rule_is_written_and_read() -> None:
    assert parse_rules("compaction") == {"compaction": True} == parse_rules(", ".join(RULES.descriptions))
