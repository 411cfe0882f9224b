"""What the user answers in a model's place, and how he refuses, as the real SDKs take it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from ctxtui.core.block_content import read
from ctxtui.core.session import MAIN
from ctxtui.services.attach.held_requests import decide, hold_next, read_status
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import ANSWER, NEXT_REASON, REFUSAL_TEXT, REFUSE, RELEASE
from ctxtui.services.attach.own_answer import build_refusal, error_event
from ctxtui.services.recordings.open import load
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.sse import parse_stream
from tests.attach.holding import HoldingRun, holding

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
SAID: Any = [{"role": "user", "content": "hoi"}]
TEXT = "Grüezi, it is I.\n\nNot the model."


async def ask(url: str, api: str, *, stream: bool) -> str:
    """What an SDK makes of the answer."""
    if api == "messages":
        async with anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client:
            asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": SAID}
            if stream:
                async with client.messages.stream(**asked) as coming:
                    message = await coming.get_final_message()
            else:
                message = await client.messages.create(**asked)
            (block,) = message.content
            assert message.stop_reason == "end_turn" and message.usage.input_tokens and block.type == "text"
            return block.text
    async with openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as talk:
        if api == "responses":
            if stream:
                async with talk.responses.stream(model="gpt-5.1", input="hoi") as events:
                    return (await events.get_final_response()).output_text
            return (await talk.responses.create(model="gpt-5.1", input="hoi")).output_text
        if stream:
            chunks = await talk.chat.completions.create(model="gpt-5.1", messages=SAID, stream=True)
            return "".join([one.choices[0].delta.content or "" async for one in chunks if one.choices])
        made = await talk.chat.completions.create(model="gpt-5.1", messages=SAID)
        assert made.choices[0].finish_reason == "stop"
        return made.choices[0].message.content or ""


APIS = ["messages", "chat", "responses"]


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat", "openai_responses", "google"])
@pytest.mark.parametrize(
    "body",
    [{"error": "too long"}, {"detail": "too long"}, {"message": "too long"}, {"error": {"message": "too long"}}],
)
def test_the_text_of_any_error_is_in_the_stream(dialect: str, body: dict[str, Any]) -> None:
    assert '"too long"' in error_event(dialect, 500, json.dumps(body).encode()).decode()
    assert "the provider answered 500" in error_event(dialect, 500, b"{}").decode()


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_answer_of_the_users_is_the_models_to_the_sdk(tmp_path: Path, api: str, stream: bool) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run:
        told = asyncio.ensure_future(ask(run.url, api, stream=stream))
        await run.held()
        run.gate.release("", ANSWER, TEXT)
        assert await told == TEXT and not run.provider.server.seen
        await run.written()
        (call,) = load(run.path).session.thread_calls()
        # What no model read has no report, whatever the program was told.
        assert call.usage is None and not call.error and call.extra["edits"] == {"released": "answer"}
        answer = load(run.path).session.tree.items(call.response_head)[-1]
        assert read(answer.block).text == TEXT


@pytest.mark.parametrize("api", APIS)
async def test_a_refusal_is_an_error_of_the_api_and_is_not_tried_again(tmp_path: Path, api: str) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run:
        told = asyncio.ensure_future(ask(run.url, api, stream=True))
        await run.held()
        run.gate.release("", REFUSE)
        with pytest.raises((anthropic.UnprocessableEntityError, openai.BadRequestError), match=REFUSAL_TEXT):
            await told
        assert not run.provider.server.seen
        await run.written()
        (call,) = load(run.path).session.thread_calls()
        assert REFUSAL_TEXT in call.error and call.extra["status"] == (422 if api == "messages" else 400)


@pytest.mark.parametrize("made", [anthropic.AsyncAnthropic, openai.AsyncOpenAI], ids=["anthropic", "openai"])
async def test_nobody_decides_and_it_leaves_before_the_sdk_gives_up(tmp_path: Path, made: Any) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run:
        url = run.url if made is anthropic.AsyncAnthropic else f"{run.url}/v1"
        async with made(api_key="k", base_url=url, max_retries=0, timeout=16.0) as client:
            asked: Any = {"messages": SAID, "max_tokens": 99}
            if made is anthropic.AsyncAnthropic:
                assert (await client.messages.create(**asked, model="claude-sonnet-4-5")).content
            else:
                assert (await client.chat.completions.create(**asked, model="gpt-4o")).choices
        await run.written()
        (call,) = load(run.path).session.thread_calls()
        assert call.extra["edits"]["released"] == "time is up" and call.raw_head == call.sent_head


GOOGLE = "/v1beta/models/gemini-2.5-flash:"


async def ask_google(url: str, method: str) -> tuple[int, bytes]:
    """The status and the body that Google's API gives to a plain request."""
    asked = {"contents": [{"role": "user", "parts": [{"text": "hoi"}]}]}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{url}{GOOGLE}{method}", json=asked, headers={"x-goog-api-key": "k"}) as answer,
    ):
        return answer.status, await answer.read()


@pytest.mark.parametrize("method", ["generateContent", "streamGenerateContent?alt=sse"])
async def test_googles_requests_are_held_released_answered_and_refused(tmp_path: Path, method: str) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run:
        for how in (RELEASE, ANSWER, REFUSE):
            told = asyncio.ensure_future(ask_google(run.url, method))
            await run.held()
            (held,) = run.gate.held.values()
            assert held.model == "gemini-2.5-flash" and held.dialect == "google"
            run.gate.release("", how, TEXT)
            status, raw = await told
            if how == REFUSE:
                error = json.loads(raw)["error"]
                assert (status, error["code"], error["status"]) == (400, 400, "FAILED_PRECONDITION")
                continue
            reader = DIALECTS["google"].stream_reader()
            reader.feed(parse_stream(raw)) if "stream" in method else None
            answer = reader.response() if "stream" in method else DIALECTS["google"].decode_response(raw)
            assert status == 200 and answer.complete and answer.model == "gemini-2.5-flash"
            assert (read(answer.items[-1].block).text == TEXT) == (how == ANSWER)
        assert len(run.provider.server.seen) == 1
        await run.written()
        first, second, third = load(run.path).session.thread_calls()
        assert first.usage is not None and second.usage is None and third.extra["status"] == 400
        assert first.model == "gemini-2.5-flash" and first.skeleton is not None


def test_ollama_is_refused_in_its_own_words_and_answered_by_nobody() -> None:
    assert json.loads(build_refusal("ollama_chat", "no").partition(b"\r\n\r\n")[2]) == {"error": "no"}


async def held_once(run: HoldingRun) -> None:
    """The first request passes, so that there is a session; the user wants the next one held."""
    assert await ask(run.url, "messages", stream=False)
    await run.written()
    await asyncio.to_thread(hold_next, run.path, "s", hold=True)


async def test_the_next_request_is_held_once_and_seen_from_another_process(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules()) as run:
        await held_once(run)
        stands = await asyncio.to_thread(read_status, run.path, 1000.0)
        assert (stands.runs, stands.next, stands.each, stands.held) == (True, True, False, ())
        told = asyncio.ensure_future(ask(run.url, "messages", stream=False))
        await run.held()
        stands = await asyncio.to_thread(read_status, run.path, 1000.0)
        (one,) = stands.held
        assert (one.why, one.thread, stands.next) == (NEXT_REASON, "main", False)
        # The SDK gives up after ten minutes.
        assert 500 < one.seconds_left(1000.0) <= 585
        assert await asyncio.to_thread(decide, tmp_path, one.id, RELEASE) == "r"
        assert await told
        assert await ask(run.url, "messages", stream=False)
        assert not (await asyncio.to_thread(read_status, tmp_path / "other.jsonl")).runs


async def test_wanted_no_longer_it_leaves(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules()) as run:
        await held_once(run)
        await asyncio.to_thread(hold_next, run.path, "s", hold=False)
        assert await ask(run.url, "messages", stream=False)
        with pytest.raises(Exception, match="no longer held"):
            await asyncio.to_thread(decide, tmp_path, "r.1", RELEASE)


async def test_a_held_request_is_where_its_thread_ends_also_for_whoever_opens_the_recording(tmp_path: Path) -> None:
    """Its thread has an answer already: what was asked since stands behind it, as the next call."""
    async with holding(tmp_path, HoldRules()) as run, anthropic.AsyncAnthropic(base_url=run.url, api_key="k") as client:
        said: list[Any] = [{"role": "user", "content": "hello there"}]
        asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99}
        found = await client.messages.create(**asked, messages=said)
        said += [{"role": "assistant", "content": found.content[0].text}]  # type: ignore[union-attr]
        said += [{"role": "user", "content": "and what now?"}]
        run.gate.rules = HoldRules(each=True)
        waiting = asyncio.ensure_future(client.messages.create(**asked, messages=said))
        await run.held()
        await run.written()
        session = load(run.path).session
        words = [item.block.body for item in session.tree.items(session.threads[MAIN].tip)]
        assert b"and what now?" in words[-1] and len(session.thread_calls(MAIN)) == 1
        run.gate.release("", RELEASE)
        await waiting


async def test_so_it_is_over_a_websocket_where_a_request_says_only_what_is_new(tmp_path: Path) -> None:
    """As Codex asks: it names the response before, and the provider keeps what stands before it."""
    headers = {"authorization": "Bearer sk-any", "openai-beta": "responses_websockets=2026-02-06"}
    create: dict[str, Any] = {"type": "response.create", "model": "gpt-5.6", "store": False, "stream": True}
    async with (
        holding(tmp_path, HoldRules()) as run,
        aiohttp.ClientSession() as http,
        http.ws_connect(f"{run.url}/v1/responses", headers=headers) as socket,
    ):

        async def heard() -> dict[str, Any]:
            while True:
                message: dict[str, Any] = json.loads((await asyncio.wait_for(socket.receive(), 60)).data)
                if message["type"] in ("response.completed", "error"):
                    return message

        await socket.send_str(json.dumps({**create, "input": [{"role": "user", "content": "hello there"}]}))
        before = (await heard())["response"]["id"]
        run.gate.rules = HoldRules(each=True)
        new = [{"role": "user", "content": "and what now?"}]
        await socket.send_str(json.dumps({**create, "input": new, "previous_response_id": before}))
        await run.held()
        await run.written()
        session = load(run.path).session
        words = [item.block.body for item in session.tree.items(session.threads[MAIN].tip)]
        assert b"and what now?" in words[-1] and b"hello there" in b"".join(words)
        assert len(words) > 3 and len(session.thread_calls(MAIN)) == 1
        run.gate.release("", RELEASE)
        assert (await heard())["type"] == "response.completed"
