"""Home shows of which session a request waits for the user, and leads there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import pytest

from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.config.config import load as load_config
from ctxtui.services.config.paths import attached_dir, database
from ctxtui.tui.home.screen import HomeScreen
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from tests.attach.holding import holding
from tests.tui.inspector.test_inspector import text, until

pytestmark = pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_held_request_is_seen_on_home_and_gone_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.delenv("CTXTUI_DB", raising=False)
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_TIPS", "0")
    config, folder = load_config(cwd=tmp_path), attached_dir()
    folder.mkdir(parents=True)
    async with (
        holding(folder, HoldRules(), database(config.settings.data_dir)) as run,
        anthropic.AsyncAnthropic(api_key="k", base_url=run.url, max_retries=0) as client,
    ):
        said: list[Any] = [{"role": "user", "content": "list the harbours"}]
        asked: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": said}
        answer = await client.messages.create(**asked)
        said += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": "and now?"}]
        await run.written()
        app = make_app(None, config)
        async with app.run_test(size=size) as pilot:
            home = app.screen
            assert isinstance(home, HomeScreen)
            await until(pilot, lambda: "list the harbours" in text(home))
            assert "‖" not in text(home) and "held" not in text(home)
            run.gate.rules = HoldRules(each=True)
            told = asyncio.ensure_future(client.messages.create(**asked))
            await until(pilot, lambda: "‖ list the harbours" in text(home))
            (row,) = [line for line in text(home).splitlines() if "list the harbours" in line and "‖" in line]
            assert "held" in row
            await pilot.press("ctrl+o")
            await until(pilot, lambda: isinstance(app.screen, InspectorScreen) and app.screen.line.is_asking)
            await pilot.press("enter")
            assert (await told).content
            await pilot.press("q")
            await until(pilot, lambda: app.screen is home and "‖" not in text(home))
