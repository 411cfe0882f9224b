"""The client's compaction waits in the inspector: its summary is read, changed, given or refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest
from textual.pilot import Pilot

from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.config.config import load as load_config
from ctxtui.services.recordings.open import load
from ctxtui.tui.dialogs.text_editor import TextEditor
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.lists.held_compaction import HeldCompactionScreen
from ctxtui.tui.start import make_app
from tests.attach.holding import HoldingRun, holding
from tests.attach.test_held_compactions import CLAUDE
from tests.tui.inspector.test_inspector import settled, text, until

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
READ = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "src/lost.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "port = 58231\n" * 40}
TOOLS: Any = [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object", "properties": {}}}]
HISTORY: Any = [
    {"role": "user", "content": "Never touch the generated migrations folder please."},
    {"role": "assistant", "content": [READ]},
    {"role": "user", "content": [RESULT]},
]


async def ask(url: str, more: Any = ()) -> str:
    async with anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client:
        asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 999, "tools": TOOLS, "messages": [*HISTORY, *more]}
        async with client.messages.stream(**asked) as coming:
            message = await coming.get_final_message()
    return "".join(block.text for block in message.content if block.type == "text")


COMPACT = ({"role": "assistant", "content": "I see."}, {"role": "user", "content": CLAUDE})


@asynccontextmanager
async def asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[HoldingRun, InspectorScreen, Pilot[object], asyncio.Future[str]]]:
    """The inspector of a session whose client compacts its history, once it asks what to do."""
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(folder))
    monkeypatch.setenv("CTXTUI_TIPS", "0")
    async with holding(folder, HoldRules(compaction=True)) as run:
        await ask(run.url)
        await run.written()
        app = make_app(str(run.path), load_config(cwd=folder))
        async with app.run_test(size=size) as pilot:
            screen = app.screen
            assert isinstance(screen, InspectorScreen)
            await settled(screen, pilot)
            answer = asyncio.ensure_future(ask(run.url, COMPACT))
            await until(pilot, lambda: screen.line.is_asking and "what it loses" in text(screen))
            try:
                yield run, screen, pilot, answer
            finally:
                answer.cancel()


async def lost(screen: InspectorScreen, pilot: Pilot[object]) -> HeldCompactionScreen:
    await pilot.press("l")
    await until(
        pilot,
        lambda: isinstance(screen.app.screen, HeldCompactionScreen) and screen.app.screen.compaction is not None,
    )
    page = screen.app.screen
    assert isinstance(page, HeldCompactionScreen)
    return page


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_lost_fact_is_kept_and_the_program_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    async with asked(tmp_path, monkeypatch, size) as (run, screen, pilot, answer):
        page = await lost(screen, pilot)
        summary = page.summary
        row = page.rows[0]
        assert not row.is_kept and row.text not in summary
        await pilot.press("plus")
        await until(pilot, lambda: row.text in page.summary and row.text not in {fact.text for fact in page.rows})
        await pilot.press("escape")
        await until(pilot, lambda: screen.line.is_asking and "give yours" in text(screen))
        assert not answer.done()
        await pilot.press("enter")
        assert (await asyncio.wait_for(answer, 30)).startswith(summary) and row.text in answer.result()
        await until(pilot, lambda: "your summary" in text(screen))
        await run.written()
    assert load(run.path).session.thread_calls()[-1].extra["edits"]["compaction"] == "answer"


async def test_the_text_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asked(tmp_path, monkeypatch) as (_, screen, pilot, answer):
        await pilot.press("R")
        await until(pilot, lambda: isinstance(screen.app.screen, TextEditor))
        await pilot.press(*"short", "ctrl+s")
        await until(pilot, lambda: isinstance(screen.app.screen, HeldCompactionScreen))
        page = screen.app.screen
        assert isinstance(page, HeldCompactionScreen) and page.summary.startswith("shortThis is")
        await pilot.press("escape")
        await until(pilot, lambda: screen.line.is_asking and "give yours" in text(screen))
        await pilot.press("enter")
        assert await asyncio.wait_for(answer, 30) == page.summary


async def test_it_is_released_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asked(tmp_path, monkeypatch) as (run, _, pilot, answer):
        (held,) = run.gate.held.values()
        await pilot.press("enter")
        assert await asyncio.wait_for(answer, 30) == held.summary


async def test_it_is_refused_and_the_users_own_cut_acts_on_the_next_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(tmp_path, monkeypatch) as (run, screen, pilot, answer):
        await pilot.press("escape")
        data = screen.panels.transcript.data
        assert data is not None and screen.state.study is not None
        tree = screen.state.study.session.tree
        rows = [n for n in range(data.count) if data.entry(n) > 0 and b"58231" in tree[data.entry(n)].block.body]
        screen.panels.transcript.move_to(rows[0])
        await until(pilot, screen.edits.is_editable)
        await pilot.press("d")
        await until(pilot, lambda: screen.edits.overlay is not None and bool(screen.edits.overlay.staged))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "instead" in text(screen))
        await pilot.press("a")
        with pytest.raises(anthropic.APIError, match="the compaction was refused"):
            await asyncio.wait_for(answer, 30)
        await ask(run.url, ({"role": "assistant", "content": "I see."}, {"role": "user", "content": "go on"}))
        assert [b"58231" in one.body for one in run.provider.server.seen] == [True, True, False]
