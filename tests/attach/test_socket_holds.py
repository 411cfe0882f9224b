"""Requests over a WebSocket that name an earlier response say only what is new: they are priced, and their cache is
foretold, with the whole conversation that the provider holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from ctxtui.analysis.cache.what_if import Replay
from ctxtui.core.session import MAIN
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import ANSWER, RELEASE
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_in
from ctxtui.services.recordings.open import load
from tests.attach.holding import HoldingRun, holding

LONG = "a listing of many files, " * 1800
MODEL = "gpt-5.6"


class SocketClient:
    """Asks as Codex does: what was said before is named by the last response."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, *, store: bool = False) -> None:
        self._socket, self._store = socket, store
        self.earlier = ""
        self.instructions = "You look at files. " * 100
        self.usage: dict[str, Any] = {}
        self.said: list[str] = []
        """Its messages as they left it."""

    async def ask(self, *items: dict[str, Any], warm: bool = False) -> None:
        asked: dict[str, Any] = {"type": "response.create", "model": MODEL, "store": self._store, "stream": True}
        asked |= {"instructions": self.instructions, "input": list(items)}
        asked |= {"previous_response_id": self.earlier} if self.earlier else {}
        self.said.append(json.dumps(asked | ({"generate": False} if warm else {})))
        await self._socket.send_str(self.said[-1])
        while True:
            told = json.loads((await asyncio.wait_for(self._socket.receive(), 60)).data)
            assert told["type"] != "error", told
            if told["type"] == "response.completed":
                self.earlier, self.usage = told["response"]["id"], told["response"].get("usage") or {}
                return

    async def say(self, words: str) -> None:
        await self.ask({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]})


@asynccontextmanager
async def talking(
    run: HoldingRun, earlier: str = "", *, store: bool = False, patience: str = ""
) -> AsyncIterator[SocketClient]:
    headers = {"authorization": "Bearer k", "openai-beta": "responses_websockets=2026-02-06"}
    headers |= {"X-Stainless-Timeout": patience} if patience else {}
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{run.url}/v1/responses", headers=headers) as socket:
        client = SocketClient(socket, store=store)
        client.earlier = earlier
        if not earlier:
            await client.ask(warm=True)
        yield client


async def test_over_dollars_the_whole_conversation_is_priced(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(usd=1.0)) as run, talking(run) as client:
        await client.say(LONG)
        await client.say("thanks")
        assert not run.gate.held
        await run.written()
        # What is new alone is a few tokens: below a tenth of this.
        run.gate.handle({"do": "on", "rules": {"usd": 0.0005}})
        told = asyncio.ensure_future(client.say("go on"))
        await run.held()
        (one,) = run.gate.handle({"do": "list"})["held"]
        assert one["why"].startswith("it will cost about $") and one["tokens"] > 9_000
        # What the inspector shows of the same request, which is the next one of the recorded session.
        await run.written()
        session, counter = load(run.path).session, Counter()
        book = book_for(session, counter, Settings())
        head = session.threads[MAIN].tip
        shown = next_call_in(Replay(book, cache_rules_by_call(book)), book, counter, Settings(), MAIN, head=head)
        assert shown is not None and shown.forecast.total == pytest.approx(one["usd"], rel=1e-6)
        assert shown.forecast.input == one["tokens"]
        run.gate.release("", RELEASE)
        await told
        assert client.usage["input_tokens"] == pytest.approx(one["tokens"], rel=0.02)


async def test_a_foretold_miss_is_held_and_nothing_else(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(miss=True)) as run, talking(run) as client:
        for words in (LONG, "go on", "and on"):
            await client.say(words)
        assert not run.gate.held and client.usage["input_tokens_details"]["cached_tokens"] > 8_000
        # They stand before the conversation that the provider holds.
        client.instructions = f"Today is tuesday. {client.instructions}"
        told = asyncio.ensure_future(client.say("once more"))
        await run.held()
        (one,) = run.gate.handle({"do": "list"})["held"]
        assert one["why"].startswith("it will miss the cache: ") and one["miss"]
        run.gate.release("", RELEASE)
        await told
        assert client.usage["input_tokens_details"]["cached_tokens"] * 2 < client.usage["input_tokens"]


async def test_what_another_connection_said_is_on_record(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(usd=1.0)) as run:
        async with talking(run, store=True) as client:
            await client.say(LONG)
            earlier = client.earlier
        run.gate.handle({"do": "on", "rules": {"usd": 0.0005}})
        await run.written()
        async with talking(run, earlier, store=True) as client:
            told = asyncio.ensure_future(client.say("go on"))
            await run.held()
            (one,) = run.gate.handle({"do": "list"})["held"]
            run.gate.release("", RELEASE)
            await told
            assert client.usage["input_tokens"] == pytest.approx(one["tokens"], rel=0.02)


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
async def test_by_http_what_the_provider_stores_is_priced_too(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(usd=1.0)) as run:
        sdk = openai.AsyncOpenAI(api_key="k", base_url=f"{run.url}/v1", max_retries=0)
        first = await sdk.responses.create(model=MODEL, input=LONG, instructions="Look.")
        run.gate.handle({"do": "on", "rules": {"usd": 0.0005}})
        asked = sdk.responses.create(model=MODEL, input="go on", instructions="Look.", previous_response_id=first.id)
        told = asyncio.ensure_future(asked)
        await run.held()
        (one,) = run.gate.handle({"do": "list"})["held"]
        run.gate.release("", RELEASE)
        found = await told
        assert found.usage is not None and found.usage.input_tokens == pytest.approx(one["tokens"], rel=0.02)
        await sdk.close()


async def test_the_user_answers_and_the_client_goes_on_from_that(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules()) as run, talking(run) as client:
        await client.say("hoi")
        run.gate.handle({"do": "on"})
        told = asyncio.ensure_future(client.say("which harbour?"))
        await run.held()
        run.gate.release("", ANSWER, "Rotterdam it is.")
        await told
        asked = len(run.provider.server.seen)
        assert client.earlier.startswith("resp_ctxtui_")
        run.gate.handle({"do": "off"})
        await client.say("thanks")
        # Its provider has never heard of that answer: it is told the whole conversation.
        (body,) = [json.loads(one.body) for one in run.provider.server.seen[asked:]]
        assert "previous_response_id" not in body
        assert [word in json.dumps(body["input"]) for word in ("hoi", "which", "Rotterdam it is.", "thanks")] == [
            True
        ] * 4
        # And goes on from that itself.
        await client.say("bye")
        assert run.provider.server.seen[-1].body == client.said[-1].encode()


async def test_nobody_decides_and_it_leaves_before_the_client_gives_up(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(each=True)) as run, talking(run, patience="16") as client:
        await client.say("hoi")
        assert client.usage["output_tokens"] and run.provider.server.seen[-1].body == client.said[-1].encode()
        await run.written()
    assert '"released":"time is up"' in run.path.read_text()
