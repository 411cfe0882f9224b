"""What a client marks for the cache and the user drops: the marker stands on the block before, and what is read is what
was foretold."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import anthropic
import pytest

from ctxtui.analysis.cache.what_if import Replay
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP, EXTERNALIZE
from ctxtui.core.session import MAIN
from ctxtui.curation.context import Context
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import APPLY
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_in
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load
from tests.attach.holding import HoldingRun, holding

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
NEAR = 0.02
TOOL = {"name": "read", "description": "reads a file", "input_schema": {"type": "object", "properties": {}}}
MARK = {"type": "ephemeral"}


class Client:
    """Marks its system prompt and the last block of what it asks, as Claude Code does, and nothing else."""

    def __init__(self, run: HoldingRun) -> None:
        self._client = anthropic.AsyncAnthropic(api_key="k", base_url=run.url, max_retries=0)
        text = {"type": "text", "text": "Look through the listing. " * 400}
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": [text]}]

    def found(self, number: int) -> None:
        """A tool was called, and said something long."""
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"n": number}}
        said = f"RESULT {number}: " + f"line {number} of the listing, " * 500
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": said}
        self.messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]

    async def ask(self) -> None:
        said = json.loads(json.dumps(self.messages))
        said[-1]["content"][-1]["cache_control"] = MARK
        system: Any = [{"type": "text", "text": "You look. " * 600, "cache_control": MARK}]
        asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": said, "tools": [TOOL]}
        await self._client.messages.create(**asked, system=system)

    async def close(self) -> None:
        await self._client.close()


async def waiting(run: HoldingRun, client: Client) -> asyncio.Task[None]:
    told = asyncio.ensure_future(client.ask())
    await run.held()
    return told


@pytest.mark.parametrize(("kind", "given"), [(DROP, {}), (EXTERNALIZE, {"name": "listing.txt"})])
async def test_a_dropped_newest_result_leaves_its_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, given: dict[str, Any]
) -> None:
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    async with holding(tmp_path, HoldRules(each=True)) as run:
        client = Client(run)
        for number in (0, 1, 2):
            if number:
                client.found(number)
            told = await waiting(run, client)
            run.gate.release("", APPLY)
            await told
        client.found(3)
        told = await waiting(run, client)
        await run.written()
        loaded = load(run.path)
        session, counter = loaded.session, Counter()
        head = session.threads[MAIN].tip
        newest = next(
            node for node in reversed(session.tree.path(head)) if b"RESULT 3" in session.tree[node].block.body
        )
        edits = SessionEdits(loaded, Settings(data_dir=str(tmp_path)))
        overlay = edits.of_thread(MAIN)
        context = Context.of_call(session.tree, session.thread_calls()[-1], head)
        overlay.stage_all([make(kind, [context.target(context.position(newest))], given)])
        overlay.apply()
        edits.save()
        book = book_for(session, counter, Settings())
        found = next_call_in(
            Replay(book, cache_rules_by_call(book)),
            book,
            counter,
            Settings(),
            MAIN,
            overlay.applied,
            time.time(),
            head=head,
        )
        assert found is not None
        run.gate.release("", APPLY)
        await told
        await run.written()
        usage = load(run.path).session.thread_calls()[-1].usage
        assert usage is not None and usage.cache_read > 5_000
        assert usage.cache_read == pytest.approx(found.forecast.read, rel=NEAR)
        assert usage.input == pytest.approx(found.forecast.input, rel=NEAR)
        assert b"line 3 of the listing, line 3" not in run.provider.server.seen[-1].body
        # What follows is read up to the marker that was moved.
        body = json.loads(run.provider.server.seen[-1].body)
        marked = [part for one in body["messages"] for part in one["content"] if "cache_control" in part]
        assert len(marked) == 1 and marked[0] is body["messages"][-1]["content"][-1]
        await client.close()
