"""Requests are held by what they will cost, and where they will miss the cache; by the inspector's own forecast."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import pytest

from ctxtui.analysis.cache.what_if import Replay
from ctxtui.core.errors import BadConfig
from ctxtui.core.session import MAIN
from ctxtui.services.attach.hold_rules import HoldRules, parse_rules, rules_from_options
from ctxtui.services.attach.holding import RELEASE
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_in
from ctxtui.services.recordings.open import load
from tests.attach.holding import HoldingRun, holding

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
LONG = "a listing of many files, " * 900


class Agent:
    """Says everything again with each request, and marks its end for the cache."""

    def __init__(self, run: HoldingRun) -> None:
        self._client = anthropic.AsyncAnthropic(api_key="k", base_url=run.url, max_retries=0)
        self.said: list[Any] = []

    async def ask(self, words: str) -> None:
        self.said.append({"role": "user", "content": words})
        asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": self.said}
        found = await self._client.messages.create(**asked, cache_control={"type": "ephemeral"})
        self.said.append({"role": "assistant", "content": found.content[0].text})

    async def close(self) -> None:
        await self._client.close()


async def test_over_dollars_it_is_held_at_the_inspectors_price(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(usd=0.004)) as run:
        agent = Agent(run)
        await agent.ask("hoi")
        assert not run.gate.held
        told = asyncio.ensure_future(agent.ask(LONG))
        await run.held()
        (one,) = run.gate.handle({"do": "list"})["held"]
        assert one["why"].startswith("it will cost about $0.0") and one["why"].endswith("over $0.004")
        await run.written()
        # What the inspector shows of the same request, which is the next one of the recorded session.
        session = load(run.path).session
        book, counter = book_for(session, Counter(), Settings()), Counter()
        replay, head = Replay(book, cache_rules_by_call(book)), session.threads[MAIN].tip
        shown = next_call_in(replay, book, counter, Settings(), MAIN, head=head)
        assert shown is not None and shown.forecast.total == pytest.approx(one["usd"], rel=1e-6)
        assert shown.forecast.input == one["tokens"]
        run.gate.release("", RELEASE)
        await told
        await run.written()
        call = load(run.path).session.thread_calls()[-1]
        assert call.usage is not None and call.usage.input == pytest.approx(one["tokens"], rel=0.02)
        await agent.close()


async def test_the_first_request_of_all_is_priced_too(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(usd=0.004)) as run:
        agent = Agent(run)
        told = asyncio.ensure_future(agent.ask(LONG))
        await run.held()
        (one,) = run.gate.handle({"do": "list"})["held"]
        run.gate.release("", RELEASE)
        await told
        await run.written()
        (call,) = load(run.path).session.thread_calls()
        assert call.usage is not None and call.usage.input == pytest.approx(one["tokens"], rel=0.02)
        await agent.close()


async def test_what_will_miss_the_cache_is_held_and_nothing_else(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(miss=True)) as run:
        agent = Agent(run)
        for words in (LONG, "go on", "and on"):
            await agent.ask(words)
        assert not run.gate.held and len(run.provider.server.seen) == 3
        # Something early in the history is another one: nothing behind it can be read.
        agent.said[0] = {"role": "user", "content": f"today is tuesday. {LONG}"}
        told = asyncio.ensure_future(agent.ask("once more"))
        await run.held()
        (one,) = run.gate.handle({"do": "list"})["held"]
        assert one["why"].startswith("it will miss the cache: ") and one["miss"]
        run.gate.release("", RELEASE)
        await told
        await run.written()
        usage = list(load(run.path).session.calls.values())[-1].usage
        assert usage is not None and usage.cache_read * 2 < usage.input
        await agent.close()


def test_rules_are_named_by_options_and_told_in_words() -> None:
    rules = rules_from_options({"tokens": 9, "usd": 0.5, "miss": True, "pattern": "a.b"})
    assert rules.descriptions == ("over 9 tokens", "over $0.5", "on a forecast miss", "with a.b") and rules
    assert not rules_from_options({}) and rules_from_options({"each": True}).descriptions == ("each request",)
    for odd in ({"pattern": "("}, {"usd": "much"}):
        with pytest.raises(Exception, match=r"regular expression|not a hold rule"):
            rules_from_options(odd)


def test_rules_are_typed_as_they_are_told() -> None:
    told = parse_rules("over $0.5, over 100k tokens, miss, with a.*b")
    assert told == {"usd": 0.5, "tokens": 100_000, "miss": True, "pattern": "a.*b"}
    assert parse_rules(", ".join(rules_from_options(told).descriptions)) == told and parse_rules("each") == {
        "each": True
    }
    assert parse_rules("off") == {} == parse_rules("")
    for odd in ("over", "over $x", "now and then", "with ("):
        with pytest.raises(BadConfig):
            parse_rules(odd)


async def test_rules_are_switched_while_programs_run(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(tokens=10**6)) as run:
        assert run.gate.handle({"do": "on", "rules": {"usd": 0.2}})["rules"] == ["over $0.2"]
        assert run.gate.handle({"do": "on"})["each"] is True
        assert run.gate.handle({"do": "off"})["rules"] == ["over 1,000,000 tokens"]
