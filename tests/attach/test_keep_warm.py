"""A cache is refreshed in a pause, by the last request sent again: as long as that pays, only the bill shows it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ctxtui.analysis.cache.keep_warm import KeepWarmStatus, RefreshTotals
from ctxtui.analysis.cache.miss import TTL
from ctxtui.analysis.money.bill import REWRITES, WARM
from ctxtui.attach.exchange_events import (
    AnswerBegun,
    AnswerBytes,
    ExchangeEnded,
    ExchangeEvent,
    RequestBegun,
    RequestBytes,
)
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.upstream import Upstream
from ctxtui.cli.agent.exec import _describe_refreshes
from ctxtui.core.edit import Edit, Target
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.session import MAIN
from ctxtui.offline import Provider, RunningProvider, Server, SetClock, serving
from ctxtui.offline.faults import parse
from ctxtui.services.attach import keep_warm
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.forking.recorded_answers import collect_answers
from ctxtui.services.attach.held_requests import _keep_warm_status, read_status
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import RELEASE, HoldGate
from ctxtui.services.attach.keep_warm import CLIENT_SIGNS, FAILED, NO_ANSWER, OTHER_API, POLL_S, STAGED, KeepWarm
from ctxtui.services.attach.preparation import preparer_client
from ctxtui.services.attach.preparation.preparer import Preparer
from ctxtui.services.attach.preparation.preparer_client import PreparerClient, Warmth, WarmthQuery
from ctxtui.services.attach.registry import program_of
from ctxtui.services.attach.relayed_program import RelayedProgram
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_of
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.kit.http_exchange.pair import KEPT_WARM
from tests.cases import claude_code
from tests.warm import warm_python

LONG = "a listing of many files, " * 2000
MODEL = "claude-sonnet-4-6"
FIRST, SECOND, THIRD = (
    "context-management-2025-06-27",
    "fine-grained-tool-streaming-2025-05-14",
    "interleaved-thinking-2025-05-14",
)


class WarmRun:
    """A provider and a relay with one clock, the relay's client, and what keeps its cache warm."""

    def __init__(self, folder: Path, provider: RunningProvider, clock: SetClock, cap: float) -> None:
        self.provider, self.clock, self.path = provider, clock, folder / "s.jsonl"
        self.recorder = Recorder(RecordedRun(folder, "r", "s", clock=clock))
        self.database = folder / "ctxtui.db"
        self.edits = edits = EditsGate(self.database, "s", clock)
        settings = Settings(data_dir=str(folder))
        self.preparer = preparer = PreparerClient(folder, settings, self.recorder.flush, clock=clock)
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
            if more.get("stream"):
                return [event async for event in message]
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
        next_request = next_call_of(session, Counter(), Settings())
        assert next_request is not None
        forecast = next_request.forecast
        assert refresh.started is not None and forecast.expires is not None
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
        assert run.warm.reasons == {"s": FAILED.format(529)} and (run.warm.count, run.warm.usd) == (0, 0.0)
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


async def test_none_if_the_client_asks_while_it_is_considered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        asked: list[asyncio.Future[Any]] = []
        find = run.preparer.find_warmth

        async def find_late(session: str, since: float) -> Warmth:
            warmth = await find(session, since)
            run.gate.next.add("s")
            asked.append(asyncio.ensure_future(run.ask("go on")))
            while not run.gate.held:
                await asyncio.sleep(0.01)
            return warmth

        monkeypatch.setattr(run.preparer, "find_warmth", find_late)
        run.clock.advance(285)
        await run.warm.look()
        assert len(run.bodies) == len(asked) == 1
        # A request under way is reason enough: nothing is computed.
        await run.pause(300)
        assert len(run.bodies) == len(asked) == 1
        run.gate.release("", RELEASE)
        await asked[0]


async def test_none_if_the_client_signs_its_requests(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask(extra_headers={"authorization": "AWS4-HMAC-SHA256 Credential=x"})
        await run.pause(600)
        assert len(run.bodies) == 1 and run.warm.reasons == {"s": CLIENT_SIGNS}


async def test_none_if_the_request_has_a_key_in_it(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask("the key is key-of-the-user-1234")
        await run.pause(600)
        assert len(run.bodies) == 1 and "a key is in the request" in run.warm.reasons["s"]


async def test_none_for_a_subagent(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        agent = {"user-agent": "claude-cli/2.1.332", "x-claude-code-session-id": "s", "x-claude-code-agent-id": "a"}
        await run.ask(extra_headers=agent)
        await run.pause(600)
        assert len(run.bodies) == 1 and not run.warm.count


async def test_a_subagent_does_not_put_the_refresh_off(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        main = {"user-agent": "claude-cli/2.1.332", "x-claude-code-session-id": "s"}
        await run.ask(extra_headers=main)
        await run.pause(200)
        said, run.said = run.said, [{"role": "user", "content": "look it up"}]
        await run.ask(extra_headers=main | {"x-claude-code-agent-id": "a"})
        run.said = said
        await run.pause(100)
        assert run.warm.count == 1


async def test_headers_of_one_body_are_not_sent_again(tmp_path: Path) -> None:
    async with warming(tmp_path) as run, asyncio.timeout(60):
        body = {"model": MODEL, "max_tokens": 9, "messages": run.said, "cache_control": {"type": "ephemeral"}}
        sent = json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", run.relay.port)
        head = "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-api-key: k\r\n"
        head += "anthropic-version: 2023-06-01\r\nidempotency-key: 1\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(sent), sent))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await run.pause(300)
        writer.close()
        assert run.warm.count == 1
        await run.loaded()
        asked = [line["asked"] for line in map(json.loads, run.path.read_text().splitlines()) if "asked" in line]
        names = [{name.lower() for name, _ in request["headers"]} for request in asked]
        assert names[0] - names[1] == {"idempotency-key", "transfer-encoding"} and "x-api-key" in names[1]


async def test_a_request_sent_again_begins_a_new_pause(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(2 * 3600)
        count = run.warm.count
        assert count >= 10 and "more than the rewrite" in run.warm.reasons["s"]
        del run.said[1:]
        await run.ask()
        await run.pause(300)
        assert run.warm.count == count + 1


async def test_an_error_of_one_session_is_named(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        run.database.write_bytes(b"no database " * 1000)
        await run.pause(300)
        assert len(run.bodies) == 1 and str(run.database.name) in run.warm.reasons["s"]


async def test_an_answer_that_breaks_off_is_none(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask(stream=True)
        run.provider.server.faults.arm([parse("disconnect;times=1")])
        await run.pause(300)
        assert run.warm.reasons == {"s": NO_ANSWER}
        bill = account(await run.loaded()).statement().bill
        assert bill.parts[WARM].usd == pytest.approx(run.warm.usd)


def test_the_reason_is_that_of_the_session() -> None:
    sent = {"cap_usd": 1.0, "usd": 0.0, "count": 0, "why": {"a": STAGED, "b": ""}}
    statuses = [_keep_warm_status(sent, Path(f"{name}.jsonl")) for name in "abc"]
    assert [status.why for status in statuses if status is not None] == [STAGED, "", ""]


async def test_a_refresh_has_the_beta_features_of_the_last_call(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask(extra_headers={"anthropic-beta": FIRST})
        await run.ask("go on", extra_headers={"anthropic-beta": SECOND})
        # A title, as some clients ask for: it is no call of the conversation.
        said, run.said = run.said, [{"role": "user", "content": "hoi"}]
        await run.ask(max_tokens=1, extra_headers={"anthropic-beta": THIRD})
        run.said = said
        await run.pause(300)
        calls = sorted((await run.loaded()).session.calls.values(), key=lambda call: call.started or 0.0)
        assert [call.extra["betas"] for call in calls] == [[FIRST], [SECOND], [THIRD], [SECOND]]


async def test_a_run_counts_its_own_refreshes_alone(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(300)
        first = run.warm
        run.warm = KeepWarm(1.0, run.recorder.put, run.recorder.next_name, run.edits, run.preparer, "s", run.clock)
        run.relay.tell = run.warm.put
        await run.ask("go on")
        await run.pause(300)
        assert (first.count, run.warm.count) == (1, 1)
        paid = account(await run.loaded()).statement().bill.parts[WARM].usd
        assert paid == pytest.approx(first.usd + run.warm.usd) and first.usd > 0 and run.warm.usd > 0


async def test_one_without_an_answer_is_ended_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep_warm, "MAX_REFRESH_S", 0.2)
    async with warming(tmp_path) as run:
        await run.ask()
        run.provider.server.faults.arm([parse("slow;seconds=3600;times=1")])
        async with asyncio.timeout(60):
            await run.pause(600)
        assert run.warm.reasons == {"s": NO_ANSWER} and run.warm.count == 0
        # The client's next request begins anew.
        monkeypatch.setattr(keep_warm, "MAX_REFRESH_S", 60.0)
        await run.ask("go on")
        await run.pause(300)
        assert run.warm.count == 1


async def test_the_end_of_the_run_ends_one_under_way(tmp_path: Path) -> None:
    async with warming(tmp_path) as run, asyncio.timeout(60):
        await run.ask()
        await run.pause(300)
        run.provider.server.faults.arm([parse("slow;seconds=3600;times=1")])
        run.clock.advance(285)
        run.warm.start()
        while run.path.read_text().count('"keep_warm":true') < 2:
            await asyncio.sleep(0.05)
        # As it is on disk if ctxtui is killed now.
        killed = (await run.loaded()).session
        assert len(killed.thread_calls()) == 1 and killed.threads[MAIN].tip == killed.thread_calls()[0].response_head
        await run.warm.close()
        loaded = await run.loaded()
        assert len(loaded.session.thread_calls()) == 1 and len(loaded.session.thread_calls(KEPT_WARM)) == 2
        assert account(loaded).statement().bill.parts[WARM].usd == pytest.approx(run.warm.usd) and run.warm.count == 1


async def test_one_whose_cost_is_being_read_at_the_end_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with warming(tmp_path) as run, asyncio.timeout(60):
        await run.ask()
        find_warmth, reads = run.preparer.find_warmth, 0

        async def find_slowly(session: str, since: float) -> Warmth:
            nonlocal reads
            reads += 1
            await asyncio.sleep(0.2)
            return await find_warmth(session, since)

        monkeypatch.setattr(run.preparer, "find_warmth", find_slowly)
        run.clock.advance(285)
        run.warm.start()
        while reads < 2:
            await asyncio.sleep(0.01)
        await run.warm.close()
        assert run.warm.count == 1 and run.warm.usd > 0


async def test_a_refresh_is_counted_before_the_next_look(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        run.clock.advance(285)
        await run.warm.look()
        bill = account(await run.loaded()).statement().bill
        assert bill.parts[WARM].usd == pytest.approx(run.warm.usd) and run.warm.usd > 0 and run.warm.count == 1


async def test_what_is_spent_stays_spent_while_the_recording_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        await run.pause(300)
        usd = run.warm.usd

        def gone(request: object) -> None:
            raise ChildGone("it was killed")

        with monkeypatch.context() as patch:
            patch.setattr(run.preparer._child, "ask", gone)
            await run.pause(300)
        assert "it was killed" in run.warm.reasons["s"] and (run.warm.count, run.warm.usd) == (1, usd) and usd > 0


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


async def test_a_refresh_that_misses_may_exceed_the_limit_and_is_the_last(tmp_path: Path) -> None:
    async with warming(tmp_path, cap=0.005) as run:
        await run.ask()
        # The provider forgets sooner than it promised.
        run.provider.server.provider.clock_shift = 400.0
        await run.pause(1800)
        assert run.warm.count == 1 and run.warm.usd > run.warm.cap_usd
        assert "limit" in run.warm.reasons["s"] or "more than the rewrite" in run.warm.reasons["s"]


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


async def test_exec_keeps_warm_while_its_program_runs(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "import json, sys, time\nfrom pathlib import Path\nimport anthropic\n"
        "body = json.loads(Path('body.json').read_text())\n"
        "anthropic.Anthropic(api_key='k', max_retries=0).messages.create(**body)\n"
        "while not Path('end').exists(): time.sleep(0.05)\n"
    )
    said = [{"role": "user", "content": LONG}]
    body = {"model": MODEL, "max_tokens": 9, "messages": said, "cache_control": {"type": "ephemeral"}}
    (tmp_path / "body.json").write_text(json.dumps(body))
    clock, command = SetClock(), [*warm_python(), "agent.py"]
    async with serving(Server(Provider(clock=clock))) as provider, asyncio.timeout(120):
        relayed = RelayedProgram(
            command=command,
            program=program_of(command, ""),
            folder=tmp_path / "attached",
            database=tmp_path / "ctxtui.db",
            env={**os.environ, "ANTHROPIC_BASE_URL": provider.url},
            cwd=str(tmp_path),
            settings=Settings(data_dir=str(tmp_path)),
            keep_warm_usd=1.0,
            clock=clock,
        )
        running = asyncio.ensure_future(relayed.run_to_end())
        for count in (1, 2):
            while len(provider.server.seen) < count:
                await asyncio.sleep(0.02)
            clock.advance(285)
        (tmp_path / "end").touch()
        assert await running == 0
        # Its end is the end of the refreshes.
        assert asyncio.all_tasks() == {asyncio.current_task()}
        (path,) = relayed.recorded_files
        bill = account(load(path, own="")).statement().bill
        warm = relayed.keep_warm
        assert warm is not None and bill.parts[WARM].usd == pytest.approx(warm.usd)
        assert warm.count == len(provider.server.seen) - 1 >= 1
        assert _describe_refreshes(warm).startswith(f"the cache was kept warm by {warm.count} refresh")
        assert f"${warm.usd:.3f} of $1" in _describe_refreshes(warm)


def _exchange(run: WarmRun, name: str, *, keep_warm: bool, betas: str = "", **more: Any) -> list[ExchangeEvent]:
    """The events of a request; its answer has no usage report, or `more`."""
    body = {"model": MODEL, "max_tokens": 1, "messages": run.said}
    answer: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{name}",
        "role": "assistant",
        "model": MODEL,
        "stop_reason": "max_tokens",
    }
    answer |= {"content": [{"type": "text", "text": "I"}], **more}
    url, fields, at = f"{run.provider.url}/v1/messages", [("content-type", "application/json")], run.clock()
    fields += [("anthropic-beta", betas)] if betas else []
    return [
        RequestBegun(exchange_id=name, at=at, method="POST", url=url, fields=fields, session="s", keep_warm=keep_warm),
        RequestBytes(name, json.dumps(body).encode(), last=True),
        AnswerBegun(name, at, 200, fields),
        AnswerBytes(name, at, json.dumps(answer).encode()),
        ExchangeEnded(name, at),
    ]


async def test_none_if_a_refresh_may_have_cost_anything(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        for event in _exchange(run, "x.1", keep_warm=True):
            run.recorder.put(event)
        await run.pause(300)
        assert len(run.bodies) == 1 and "a refresh has no usage report" in run.warm.reasons["s"]


async def test_none_if_the_headers_of_the_last_call_are_not_known(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        # By another run, in the same session.
        usage = {"input_tokens": 9, "output_tokens": 1, "cache_creation_input_tokens": 12_000}
        for event in _exchange(run, "x.1", keep_warm=False, betas=FIRST, usage=usage):
            run.recorder.put(event)
        await run.pause(300)
        assert len(run.bodies) == 1 and run.warm.reasons == {"s": "the headers of its last request are not known"}


async def test_none_if_the_last_call_has_no_usage_report(tmp_path: Path) -> None:
    async with warming(tmp_path) as run:
        await run.ask()
        for event in _exchange(run, "x.1", keep_warm=False):
            run.warm.put(event)
        await run.pause(300)
        assert len(run.bodies) == 1 and run.warm.reasons == {"s": "the last call has no usage report"}


@pytest.mark.parametrize(
    ("recording", "why"),
    [
        ("not written yet", "no call of the main thread is recorded"),
        ("transcript", "the last call's request is not recorded as it was sent"),
    ],
)
def test_what_cannot_be_refreshed_is_named(recording: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "transcript").write_bytes(claude_code.generate(30))
    query = WarmthQuery(recording=tmp_path / recording, at=0.0, since=0.0, settings=Settings(data_dir=str(tmp_path)))
    assert Preparer()(query) == Warmth(why=why, totals=RefreshTotals())


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


async def test_a_wait_for_the_recorder_ends_no_process_that_others_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_slow = False
    client = PreparerClient(tmp_path, Settings(data_dir=str(tmp_path)), lambda: time.sleep(0.5) if is_slow else None)
    try:
        first = await client.find_warmth("s", 0.0)
        assert "no call" in first.why, first
        child = client._child.pid
        assert child
        is_slow = True
        monkeypatch.setattr(preparer_client, "MAX_PREPARE_SECONDS", 0.1)
        warmth = await client.find_warmth("s", 0.0)
        assert warmth.why == "it took longer than 0.1 s"
        assert client._child.pid == child
        is_slow = False
        os.kill(child, signal.SIGSTOP)
        assert (await client.find_warmth("s", 0.0)).why == warmth.why
        assert client._child.pid != child, "the process that does not answer is ended"
    finally:
        client.close()
