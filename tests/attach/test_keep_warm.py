"""A cache is refreshed in a pause, by the last request sent again: as long as that pays, only the bill shows it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ctxtui.analysis.cache.keep_warm import KeepWarmStatus
from ctxtui.analysis.cache.miss import TTL
from ctxtui.analysis.money.bill import REWRITES, WARM
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.upstream import Upstream
from ctxtui.core.edit import Edit, Target
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.session import MAIN
from ctxtui.offline import Provider, RunningProvider, Server, SetClock, serving
from ctxtui.offline.faults import parse
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.forking.recorded_answers import collect_answers
from ctxtui.services.attach.held_requests import read_status
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import RELEASE, HoldGate
from ctxtui.services.attach.keep_warm import FAILED, OTHER_API, POLL_S, STAGED, KeepWarm
from ctxtui.services.attach.preparation.preparer_client import PreparerClient
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import forecast_of
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.kit.http_exchange.pair import KEPT_WARM

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
LONG = "a listing of many files, " * 2000
MODEL = "claude-sonnet-4-5"


class WarmRun:
    """A provider and a relay with one clock, the relay's client, and what keeps its cache warm."""

    def __init__(self, folder: Path, provider: RunningProvider, clock: SetClock, cap: float) -> None:
        self.provider, self.clock, self.path = provider, clock, folder / "s.jsonl"
        self.recorder = Recorder(RecordedRun(folder, "r", "s", clock=clock))
        self.database = folder / "ctxtui.db"
        edits = EditsGate(self.database, "s", clock)
        settings = Settings(data_dir=str(folder))
        preparer = PreparerClient(folder, settings, self.recorder.flush, clock=clock)
        names = self.recorder.next_name
        self.warm = KeepWarm(cap, self.recorder.put, names, edits, preparer, "s", clock)
        self.gate = HoldGate(
            edits, HoldRules(), self.recorder.put, self._files, preparer=preparer, clock=clock, keep_warm=self.warm
        )
        self.relay = Relay([Upstream("x", provider.url)], self.warm.put, names, gate=self.gate, clock=clock)
        self.said: list[Any] = [{"role": "user", "content": LONG}]

    def _files(self) -> list[str]:
        return [path.name for path in self.recorder.files]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.relay.port}"

    async def ask(self, words: str = "", **more: Any) -> Any:
        if words:
            self.said.append({"role": "user", "content": words})
        marked: Any = {"model": MODEL, "max_tokens": 99, "messages": self.said, "cache_control": {"type": "ephemeral"}}
        async with anthropic.AsyncAnthropic(api_key="key-of-the-user-1234", base_url=self.url, max_retries=0) as client:
            message = await client.messages.create(**marked | more)
        self.said.append({"role": "assistant", "content": message.content[0].text})
        return message.usage

    async def pause(self, seconds: float) -> None:
        """Let the time pass, and look as often as the program does."""
        for _ in range(round(seconds / 5)):
            self.clock.advance(5)
            await self.warm.look()

    async def loaded(self) -> Loaded:
        assert await asyncio.to_thread(self.recorder.flush)
        return load(self.path, own="")

    @property
    def bodies(self) -> list[Any]:
        """What the provider was sent."""
        return [json.loads(seen.body) for seen in self.provider.server.seen]


@asynccontextmanager
async def warming(folder: Path, cap: float = 1.0) -> AsyncIterator[WarmRun]:
    clock = SetClock()
    async with serving(Server(Provider(clock=clock))) as provider:
        run = WarmRun(folder, provider, clock, cap)
        await run.relay.start()
        try:
            yield run
        finally:
            await run.warm.close()
            await run.relay.close()
            run.gate.close()
            await asyncio.to_thread(run.recorder.close)


def account(loaded: Loaded) -> Account:
    return make_account(loaded.session, Counter(), Settings())


async def test_a_pause_costs_refreshes_and_no_rewrite(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(275)
        assert len(run.bodies) == 1
        await run.pause(600)
        sent = run.bodies
        assert [body["max_tokens"] for body in sent] == [99, 1, 1, 1]
        assert all(body | {"max_tokens": 99} == sent[0] for body in sent)
        usage = await run.ask("go on")
        assert usage.cache_read_input_tokens > 9_000 and usage.cache_creation_input_tokens < 100


async def test_refreshes_are_no_calls_of_the_conversation_and_a_row_of_the_bill(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(600)
        await run.ask("go on")
        loaded = await run.loaded()
        session = loaded.session
        assert len(session.thread_calls()) == 2
        refreshes = [call for call in session.calls.values() if call.keeps_warm]
        assert len(refreshes) == run.warm.count == 2
        assert {call.thread for call in refreshes} == {KEPT_WARM} and not session.threads[KEPT_WARM].parent
        bill, costs = account(loaded).statement().bill, account(loaded).costs
        paid = sum(cost.usd for call in refreshes if (cost := costs[call.id]) is not None)
        assert bill.parts[WARM].usd == pytest.approx(paid) == pytest.approx(run.warm.usd) and paid > 0
        assert bill.parts[WARM].tokens == sum(call.usage.input + call.output for call in refreshes if call.usage)
        assert bill.usd == pytest.approx(sum(cost.usd for cost in costs.values() if cost is not None))
        assert bill.subagents == pytest.approx(0)
        # Its calls, without their contents, still tell them apart.
        assert sum(call.keeps_warm for call in account(loaded).statement().calls) == 2
        assert not bill.rewrites and bill.parts[REWRITES].usd == 0


async def test_the_forecast_knows_that_the_cache_was_refreshed(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(400)
        session = (await run.loaded()).session
        refresh = next(call for call in session.calls.values() if call.keeps_warm)
        forecast = forecast_of(session, Counter(), Settings())
        assert forecast is not None and refresh.started is not None and forecast.expires is not None
        assert forecast.read > 9_000 and forecast.expires == pytest.approx(refresh.started + 300, abs=1)
        await run.pause(30)
        await run.ask("go on")
        row = account(await run.loaded()).miss_finder().rows[-1]
        assert row.thread == MAIN and row.within and row.reported > 9_000 and not row.cause


async def test_without_an_answer_to_the_last_refresh_the_forecast_is_a_miss(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        run.provider.server.faults.arm([parse("529;times=1")])
        await run.pause(600)
        assert run.warm.reasons == {"s": FAILED.format(529)}
        usage = await run.ask("go on")
        assert not usage.cache_read_input_tokens
        (miss,) = account(await run.loaded()).misses().misses
        assert miss.cause == TTL and miss.foreseen


async def test_the_client_gets_no_byte_of_it(tmp_path: Path) -> None:
    async with warming(tmp_path) as run, asyncio.timeout(60):
        body = {"model": MODEL, "max_tokens": 9, "messages": run.said, "cache_control": {"type": "ephemeral"}}
        sent = json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", run.relay.port)
        head = "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        head += f"x-api-key: k\r\nanthropic-version: 2023-06-01\r\ncontent-length: {len(sent)}\r\n\r\n"
        tokens = []
        for _ in range(2):
            writer.write(head.encode() + sent)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            length = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            tokens.append(json.loads(await reader.readexactly(length))["usage"]["output_tokens"])
            # The next byte on the open connection is the answer to the next request.
            await run.pause(600)
        assert [seen.usage["output_tokens"] for seen in run.provider.server.seen] == [tokens[0], 1, 1, tokens[1], 1, 1]
        assert tokens[0] == tokens[1] > 1 and run.warm.count == 4
        writer.close()


async def test_none_while_a_request_is_held(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        run.gate.next.add("s")
        asked = asyncio.ensure_future(run.ask("go on"))
        while not run.gate.held:
            await asyncio.sleep(0.01)
        await run.pause(600)
        assert len(run.bodies) == 1 and not run.warm.count
        run.gate.release("", RELEASE)
        await asked


async def test_none_while_edits_are_staged(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        loaded = await run.loaded()
        edits = SessionEdits(loaded, Settings(data_dir=str(tmp_path)))
        thread, tree = edits.of_thread(MAIN), loaded.session.tree
        block = tree[loaded.session.thread_calls()[-1].sent_head].block
        thread.stage_all([Edit(id="e", kind=DROP, targets=(Target(block.digest),))])
        edits.save()
        await run.pause(600)
        assert len(run.bodies) == 1 and run.warm.reasons == {"s": STAGED}


async def test_none_after_the_end(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        run.warm.start()
        await run.ask()
        await run.warm.close()
        run.clock.advance(285)
        await asyncio.sleep(3 * POLL_S)
        assert len(run.bodies) == 1


async def test_the_limit_is_kept_and_named(tmp_path: Path) -> None:
    async with warming(tmp_path, cap=0.01) as run:
        await run.ask()
        await run.pause(1800)
        # Each costs some $0.004.
        assert run.warm.count == 2 and run.warm.usd < 0.01
        control = Control(tmp_path, "r", run.gate.handle)
        await control.start()
        status = (await asyncio.to_thread(read_status, run.path)).keep_warm
        await control.close()
        why = "the limit of $0.01 is reached"
        assert status == KeepWarmStatus(cap_usd=0.01, usd=pytest.approx(run.warm.usd), count=2, why=why)
        # The limit is that of the run: no next pause is kept warm either.
        await run.ask("go on")
        await run.pause(600)
        assert run.warm.count == 2


async def test_a_pause_costs_at_most_what_its_rewrite_would(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(2 * 3600)
        assert 10 <= run.warm.count <= 12 and "more than the rewrite" in run.warm.reasons["s"]
        await run.ask("go on")
        loaded = await run.loaded()
        (miss,) = account(loaded).misses().misses
        assert miss.usd is not None and run.warm.usd <= miss.usd
        # A new pause begins with nothing paid.
        await run.pause(300)
        assert run.warm.count >= 11


async def test_a_part_with_a_longer_lifetime_is_kept_where_the_rest_does_not_pay(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        hour = {"type": "ephemeral", "ttl": "1h"}
        run.said = [{"role": "user", "content": "and what does it tell?"}]
        system = [{"type": "text", "text": LONG, "cache_control": hour}]
        await run.ask(system=system)
        await run.pause(290)
        # The few tokens after the system prompt live for five minutes.
        assert "more than the rewrite" in run.warm.reasons["s"]
        await run.pause(3280)
        assert run.warm.count == 0 and run.warm.reasons == {"s": ""}
        await run.pause(600)
        assert run.warm.count == 1 and run.warm.reasons == {"s": ""}
        assert (await run.ask("go on", system=system)).cache_read_input_tokens > 9_000


async def test_other_apis_are_not_kept_warm_and_that_is_said(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{run.url}/v1", max_retries=0) as client:
            await client.responses.create(model="gpt-5.6", input=LONG)
        await run.pause(4000)
        assert len(run.bodies) == 1 and run.warm.reasons == {"s": OTHER_API}


async def test_a_fork_gives_no_refresh_as_an_answer(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(300)
        await run.ask("go on")
        answers = collect_answers(await run.loaded(), MAIN, 0)
        assert len(answers) == 2
