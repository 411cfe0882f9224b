"""A client whose patience ends is told that somebody is there; what its provider says then goes on in the same stream,
an error as the event of its API."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.offline.faults import parse
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import ANSWER, REFUSAL_TEXT, REFUSE, RELEASE
from ctxtui.services.recordings.open import load
from tests.attach.holding import HoldingRun, holding

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
SAID: Any = [{"role": "user", "content": "hoi"}]
APIS = ["messages", "chat", "responses"]
PATIENT: Any = {"X-Stainless-Timeout": "16"}
"""The relay says a ping a second after the request came."""


async def ask(url: str, api: str) -> str:
    if api == "messages":
        async with anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client:
            asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": SAID, "extra_headers": PATIENT}
            async with client.messages.stream(**asked) as coming:
                return str((await coming.get_final_message()).content[0].text)  # type: ignore[union-attr]
    async with openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as talk:
        if api == "responses":
            async with talk.responses.stream(model="gpt-5.1", input="hoi", extra_headers=PATIENT) as events:
                return (await events.get_final_response()).output_text
        chunks = await talk.chat.completions.create(model="gpt-5.1", messages=SAID, stream=True, extra_headers=PATIENT)
        return "".join([one.choices[0].delta.content or "" async for one in chunks if one.choices])


async def pinged(run: HoldingRun) -> None:
    await run.until(lambda: any(one.pinged for one in run.gate.held.values()))


@pytest.mark.parametrize("api", APIS)
async def test_the_providers_stream_goes_on_behind_the_pings(tmp_path: Path, api: str) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run:
        plain = await ask(run.provider.url, api)
        told = asyncio.ensure_future(ask(run.url, api))
        await pinged(run)
        assert len(run.provider.server.seen) == 1
        (one,) = run.gate.handle({"do": "list"})["held"]
        assert one["pinged"] and one["can_wait"] and one["seconds_left"] > 500
        run.gate.handle({"do": "more"})
        assert run.gate.handle({"do": "list"})["held"][0]["seconds_left"] > 1100
        run.gate.release("", RELEASE)
        assert await told == plain
        await run.written()
        (call,) = load(run.path).session.thread_calls()
        assert (call.usage is not None or api == "chat") and not call.error and call.extra["edits"]["pinged"] is True


@pytest.mark.parametrize("api", APIS)
async def test_an_error_comes_as_the_event_of_the_api(tmp_path: Path, api: str) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run:
        told = asyncio.ensure_future(ask(run.url, api))
        await pinged(run)
        run.provider.server.faults.arm([parse("529;times=1")])
        run.gate.release("", RELEASE)
        with pytest.raises((anthropic.APIStatusError, openai.APIError), match=r"(?i)overloaded"):
            await told
        await run.written()
        (call,) = load(run.path).session.thread_calls()
        # On record is what the provider said.
        assert call.extra["status"] == 529 and call.error


@pytest.mark.parametrize("api", APIS)
async def test_the_users_answer_and_refusal_go_the_same_way(tmp_path: Path, api: str) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run:
        told = asyncio.ensure_future(ask(run.url, api))
        await pinged(run)
        run.gate.release("", ANSWER, "It is I.")
        assert await told == "It is I."
        told = asyncio.ensure_future(ask(run.url, api))
        await pinged(run)
        run.gate.release("", REFUSE)
        with pytest.raises((anthropic.APIStatusError, openai.APIError), match=REFUSAL_TEXT):
            await told
        assert not run.provider.server.seen


async def test_a_provider_that_is_gone_is_told_in_the_stream(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(each=True), url="http://127.0.0.1:9") as run:
        told = asyncio.ensure_future(ask(run.url, "messages"))
        await pinged(run)
        run.gate.release("", RELEASE)
        with pytest.raises(anthropic.APIStatusError, match="cannot be reached"):
            await told


async def test_who_asked_for_no_stream_cannot_be_kept_waiting(tmp_path: Path) -> None:
    asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": SAID}
    async with (
        holding(tmp_path, HoldRules(each=True)) as run,
        anthropic.AsyncAnthropic(api_key="k", base_url=run.url, max_retries=0) as client,
    ):
        told = asyncio.ensure_future(client.messages.create(**asked))
        await run.held()
        with pytest.raises(CtxtuiError, match="cannot be kept waiting"):
            run.gate.handle({"do": "more"})
        run.gate.release("", RELEASE)
        assert (await told).usage.input_tokens
