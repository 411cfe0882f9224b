"""`exec --policy`: policies stand over every later request of a thread, act when the price says so, and can be taken
back; edits that wait leave with the request that misses the cache anyway."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx2 as httpx
import openai
import pytest

import ctxtui
from ctxtui.core.call import EDITS, Call
from ctxtui.core.edit import Target, make
from ctxtui.core.edit_log import EXPIRY, MISS
from ctxtui.core.session import MAIN
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.preparation.preparer import NO_USAGE
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load
from tests.attach.holding import HoldingRun, holding
from tests.cases.summaries import summarise

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
LISTING = "\n".join(f"file {n:04} of a long listing" for n in range(300))
SYSTEM = "You list files, and say what you found in a few words. " * 200
TOOL: Any = {"name": "list", "description": "Lists.", "input_schema": {"type": "object", "properties": {}}}


class Agent:
    """A scripted agent that resends everything; `own` are the bytes of its requests as they left it."""

    def __init__(self, run: HoldingRun) -> None:
        self.own: list[bytes] = []
        self._http = httpx.AsyncClient(event_hooks={"request": [self._left]})
        self._client = anthropic.AsyncAnthropic(api_key="k", base_url=run.url, max_retries=0, http_client=self._http)
        self.said: list[Any] = []

    async def _left(self, request: httpx.Request) -> None:
        self.own.append(request.content)

    def result(self, number: int, text: str) -> None:
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "list", "input": {}}
        self.said.append({"role": "assistant", "content": [call]})
        found = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        self.said.append({"role": "user", "content": [found]})

    async def ask(self, words: str = "") -> None:
        if words:
            self.said.append({"role": "user", "content": words})
        asked: Any = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 99,
            "tools": [TOOL],
            "system": SYSTEM,
            "messages": self.said,
        }
        found = await self._client.messages.create(**asked, cache_control={"type": "ephemeral"})
        if not any(block.type == "tool_use" for block in found.content):
            self.said.append({"role": "assistant", "content": [one.model_dump() for one in found.content]})
        else:
            self.said.append({"role": "assistant", "content": "I go on."})

    async def close(self) -> None:
        await self._client.close()


@asynccontextmanager
async def standing(folder: Path, *given: str) -> AsyncIterator[tuple[HoldingRun, Agent]]:
    async with holding(folder, HoldRules(), None, ("truncate_results",), given) as run:
        agent = Agent(run)
        try:
            yield run, agent
        finally:
            await agent.close()


def edits(run: HoldingRun) -> SessionEdits:
    return SessionEdits(load(run.path), Settings(data_dir=str(run.path.parent)))


async def told(run: HoldingRun, number: int) -> Any:
    await run.written()
    calls: list[Call] = list(load(run.path).session.calls.values())
    return calls[number].extra.get(EDITS, {})


async def test_what_was_never_sent_is_cut_at_once_and_stays_so_until_it_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_DB", str(tmp_path / "ctxtui.db"))
    async with standing(tmp_path, "limit=200") as (run, agent):
        await agent.ask("hoi")
        agent.result(1, LISTING)
        await agent.ask()
        seen = run.provider.server.seen
        assert b"file 0150" in agent.own[1] and b"file 0150" not in seen[1].body and b"file 0000" in seen[1].body
        proof = await told(run, 1)
        assert len(proof["applied"]) == 1 and not proof["asleep"] and not proof["refused"]
        assert proof["done"][0].startswith("1 policy edit applied: -$0.0")
        # The client sends it whole again, and it is cut again, with what the client itself says untouched.
        await agent.ask("go on")
        assert b"file 0150" in agent.own[2] and b"file 0150" not in seen[2].body
        assert (await told(run, 2))["applied"] == proof["applied"]
        # Whose they were is on record, and found by whoever adds sessions up.
        assert proof["by"] == ["truncate_results"]
        assert summarise(run.path, Settings(data_dir=str(tmp_path))).policies == ("truncate_results",)
        # One overlay, whoever asks for it.
        overlay = ctxtui.edits("s")
        assert [edit["id"] for edit in overlay.applied] == proof["applied"]
        # Taken back: the client's own bytes leave, and the policy does not do it again.
        kept = edits(run)
        kept.of_thread(MAIN).revert(proof["applied"])
        kept.save()
        await agent.ask("and on")
        assert seen[3].body == agent.own[3]
        await agent.ask("more")
        assert seen[4].body == agent.own[4]


async def test_the_prefix_is_rewritten_only_when_the_price_says_so(tmp_path: Path) -> None:
    async with standing(tmp_path, "limit=200", "keep_last=1") as (run, agent):
        desk, seen = run.gate.preparer, run.provider.server.seen
        assert desk is not None
        agent.result(1, LISTING[:600])
        agent.result(2, LISTING * 12)
        agent.said.insert(0, {"role": "user", "content": "hoi"})
        await agent.ask()
        # The older result is free to be cut, but all behind it would be written again for a few tokens.
        await agent.ask("go on")
        waits = await told(run, 1)
        assert (
            waits["done"][0].startswith("1 policy edit postponed until the next cache miss: +$0.")
            and "applied" not in waits
        )
        assert seen[1].body == agent.own[1]
        (edit,) = edits(run).of_thread(MAIN).waiting.items()
        assert edit[1] == MISS
        # Later nothing is cached any more: then it costs nothing.
        desk._clock = later(3700.0)
        await agent.ask("and on")
        proof = await told(run, 2)
        assert proof["applied"] == [edit[0]] and seen[2].body != agent.own[2]


async def test_policies_say_that_they_do_not_act_without_usage_reports(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules(), None, ("truncate_results",), ("limit=200",)) as run:
        client = openai.AsyncOpenAI(api_key="k", base_url=f"{run.url}/v1", max_retries=0)
        said: Any = [{"role": "user", "content": "hoi"}]
        for _ in range(2):
            # Without `include_usage`, a stream has no usage report.
            answer = await client.chat.completions.create(model="gpt-4.1", messages=said, stream=True)
            said += [
                {"role": "assistant", "content": "".join([d.choices[0].delta.content or "" async for d in answer])}
            ]
            said += [{"role": "user", "content": "go on"}]
            await run.written()
        await client.close()
        assert run.gate.preparer is not None and run.gate.preparer.troubles == [NO_USAGE]


def later(seconds: float) -> Callable[[], float]:
    return lambda: time.time() + seconds


async def test_an_edit_of_the_users_waits_at_the_relay_for_the_expiry(tmp_path: Path) -> None:
    async with holding(tmp_path, HoldRules()) as run:
        agent, seen = Agent(run), run.provider.server.seen
        assert run.gate.preparer is not None
        agent.said.append({"role": "user", "content": "hoi"})
        agent.result(1, LISTING * 4)
        await agent.ask()
        await run.written()
        kept = edits(run)
        session = load(run.path).session
        (item,) = [one for one in session.tree.items(session.threads[MAIN].tip) if b"file 0150" in one.block.body]
        kept.of_thread(MAIN).stage_all([make("drop", [Target(item.block.digest)])])
        kept.of_thread(MAIN).postpone(EXPIRY)
        kept.save()
        await agent.ask("go on")
        assert seen[1].body == agent.own[1] and "done" not in await told(run, 1)
        run.gate.preparer._clock = later(3700.0)
        await agent.ask("and on")
        assert b"file 0150" not in seen[2].body
        assert (await told(run, 2))["done"] == ["1 waiting edit is sent with this request: the cache has expired"]
        await agent.close()
