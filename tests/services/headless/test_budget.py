"""A run's budget: what is reserved, lowered, stopped, at a provider whose answers are as long as they may be."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ctxtui.agent.child import ChildTask
from ctxtui.core.errors import BadConfig
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price
from ctxtui.services.chat.spending import MIN_ANSWER_LIMIT
from ctxtui.services.headless.api import agent_run
from ctxtui.services.headless.run import HeadlessRun
from ctxtui.services.headless.run_options import Outcome, RunResult
from tests.providers.served import Served, served
from tests.services.chatting import answer, text, use

MODEL = "claude-sonnet-4-5"
Reply = Callable[[dict[str, Any], int], bytes]


def usd(input_: int, output: int) -> float:
    found = price(Usage(input_, output=output), MODEL, "anthropic")
    assert found is not None
    return found.usd


def looks_on(body: dict[str, Any], number: int, *, model: str = MODEL, tokens: int = 100) -> bytes:
    """An answer as long as it may be, that reads a file and never ends."""
    call = use(f"t{number}", "list_dir")
    return answer(f"m{number}", call, model=model, tokens=tokens, output=body["max_tokens"])


class Hosted:
    """A run at a provider that charges, and what it was told and asked."""

    def __init__(self, server: Served, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        monkeypatch.setenv("CTXTUI_HOME", str(folder / "config"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k" * 30)
        # An address from the environment is the provider's own, wherever that is.
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root)
        self.server = server
        self.lines: list[str] = []
        self.folder = folder

    def run(self, **given: Any) -> HeadlessRun:
        settings = {
            "data_dir": self.folder / "home",
            "index": False,
            "answer_tokens": 4000,
            **given.pop("settings", {}),
        }
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        asked = {"provider": "anthropic", "model": MODEL, **given}
        return agent_run(cwd=work, settings=settings, say=self.lines.append, messages=0, length=0, **asked)

    async def told(self, **given: Any) -> RunResult:
        async with self.run(**given) as run:
            return await run.tell("go")

    @property
    def limits(self) -> list[int]:
        return [json.loads(body)["max_tokens"] for body in self.server.bodies]


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    @asynccontextmanager
    async def made(reply: Reply) -> AsyncIterator[Hosted]:
        async def messages(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            await response.write(reply(json.loads(await request.read()), len(server.bodies)))
            await response.write_eof()
            return response

        async with served({"/v1/messages": messages}) as server:
            yield Hosted(server, monkeypatch, tmp_path)

    return made


@pytest.mark.parametrize("model", [MODEL, "a-gateway-s-alias", "claude-sonnet-4-5-20250929"])
async def test_a_run_ends_before_its_budget_whatever_name_the_answers_bear(hosted: Any, model: str) -> None:
    budget = 0.15
    async with hosted(lambda body, n: looks_on(body, n, model=model)) as here:
        done = await here.told(budget_usd=budget)
    spent = sum(usd(100, limit) for limit in here.limits)
    assert done.outcome == Outcome.BUDGET and 0 < spent <= budget, (done, here.limits)
    # The whole of it was of use: the last answer was shortened, not refused, and that was said.
    assert here.limits[0] == 4000 and MIN_ANSWER_LIMIT <= here.limits[-1] < 4000
    assert any(f"the answer gets {here.limits[-1]:,} tokens at most" in line for line in here.lines)
    assert f"fewer than {MIN_ANSWER_LIMIT}" in done.why or "input costs about" in done.why
    alias = "alias" in model
    assert ("≥ $0." in done.why) == alias
    assert here.lines[-1].endswith(f" spent, of ${budget:g}") and ("≥ $0." in here.lines[-1]) == alias
    assert done.cost == (None if alias else pytest.approx(spent)) and done.least == pytest.approx(spent)
    told = done.as_fields()["metadata"]
    assert (told["cost_usd"], told["cost_usd_at_least"]) == (done.cost, done.least)


async def test_input_that_was_not_foreseen_ends_the_run_at_the_next_request(hosted: Any) -> None:
    async with hosted(lambda body, n: looks_on(body, n, tokens=300_000)) as here:
        done = await here.told(budget_usd=0.05)
    assert done.outcome == Outcome.BUDGET and len(here.limits) == 1 and done.least > 0.05


async def test_an_answer_without_figures_counts_as_what_it_can_have_cost(hosted: Any) -> None:
    def reply(body: dict[str, Any], number: int) -> bytes:
        said = looks_on(body, number, model="an-alias").replace(b'"usage"', b'"used"')
        return said

    async with hosted(reply) as here:
        done = await here.told(budget_usd=0.15)
    assert done.outcome == Outcome.BUDGET and sum(usd(0, limit) for limit in here.limits) <= 0.15
    assert done.cost is None and len(here.limits) > 1


async def test_an_answer_that_breaks_off_again_and_again_is_paid_each_time(hosted: Any) -> None:
    def reply(body: dict[str, Any], number: int) -> bytes:
        return looks_on(body, number, tokens=5000).partition(b"event: message_delta")[0]

    async with hosted(reply) as here:
        done = await here.told(budget_usd=0.03, settings={"answer_tokens": 600})
    assert done.outcome == Outcome.BUDGET and len(here.limits) == 2, (done, here.limits)
    assert "another try" in done.why and done.cost is None and done.usage.input == 10_000


async def test_a_budget_that_cannot_be_told_stops_the_run_before_its_first_request(hosted: Any) -> None:
    async with hosted(looks_on) as here:
        with pytest.raises(BadConfig, match="no price is known for a-model-of-ours, so no budget can be enforced"):
            await here.told(model="a-model-of-ours", budget_usd=5.0)
        assert not here.server.bodies
        # Neither does a sub-agent's, whose model is another one.
        async with here.run(budget_usd=5.0) as run:
            one = await run.agents.start(ChildTask(prompt="x", model="a-model-of-ours"))
    assert one.rounds == 0 and "no price is known" in one.why and not here.server.bodies


async def test_what_runs_here_costs_nothing_and_is_never_stopped(hosted: Any) -> None:
    async with hosted(lambda body, n: answer(f"m{n}", *([use(f"t{n}", "list_dir")] * (n < 6)), text("over"))) as here:
        given = {"model": "a-model-of-ours", "base_url": here.server.root, "budget_usd": 0.0}
        done = await here.told(**given)
    assert done.outcome == Outcome.DONE and done.cost == 0.0 and len(here.limits) == 6
    assert len(set(here.limits)) == 1


async def test_agents_side_by_side_have_one_purse(hosted: Any) -> None:
    budget = 0.20

    def reply(body: dict[str, Any], number: int) -> bytes:
        return answer(f"m{number}", text("done"), model=MODEL, tokens=10, output=body["max_tokens"])

    async with hosted(reply) as here, here.run(budget_usd=budget) as run:
        tasks = [ChildTask(prompt=f"part {n}", rounds=2) for n in range(16)]
        done = await asyncio.wait_for(run.agents.start_all(tasks), 60)
    spent = sum(usd(10, limit) for limit in here.limits)
    answered = [one for one in done if not one.why]
    assert 0 < spent <= budget and 3 <= len(answered) < 16, (spent, here.limits)
    # What others gave back was used: what is left does not pay another one.
    assert budget - spent < usd(5000, MIN_ANSWER_LIMIT + 100), (spent, here.limits)
    assert all("spent, the next request's input costs" in one.why for one in done if one.why), [one.why for one in done]


async def test_a_sub_agent_s_own_budget_holds_as_the_run_s_does(hosted: Any) -> None:
    async with hosted(looks_on) as here, here.run() as run:
        one = await run.agents.start(ChildTask(prompt="x", tools=("list_dir",), budget_usd=0.1))
    assert one.rounds > 1 and 0 < sum(usd(100, limit) for limit in here.limits) <= 0.1
    assert here.limits[-1] < 4000 and " spent" in one.why


async def test_an_agent_recalls_what_a_policy_keeps_outside_of_its_own_conversation(hosted: Any) -> None:
    def reply(body: dict[str, Any], number: int) -> bytes:
        words = json.dumps(body["messages"])
        kept = re.search(r"\{\{REF:([^}]+)\}\}", words)
        if number == 1:
            return answer("m1", use("t1", "read_file", path="long.txt"))
        if kept is not None and '"recall"' not in words:
            return answer("m2", {**use("t2", "recall"), "input": {"name": kept[1]}})
        return answer(f"m{number}", text("done"))

    async with hosted(reply) as here:
        policy = ("externalize_large", {"size": 500})
        async with here.run(policies=[policy]) as run:
            (here.folder / "work" / "long.txt").write_text("a line of a long file\n" * 100 + "xyzzy")
            await run.agents.start(ChildTask(prompt="read it", tools=("read_file", "recall")))
        last = json.loads(here.server.bodies[-1])["messages"][-1]["content"][0]
    assert last["tool_use_id"] == "t2" and not last.get("is_error") and "a line of a long file" in last["content"], last
