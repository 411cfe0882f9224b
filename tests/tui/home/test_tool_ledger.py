"""The ledger of tools on Home: what is remembered of each session; MCP servers first, then every tool."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.app import App

from ctxtui.services.config.config import load
from ctxtui.services.config.paths import database
from ctxtui.services.counting.count_cache import CountCache
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.tool_ledger import ToolsLedger, tools_ledger
from ctxtui.services.worker import Worker
from ctxtui.services.workers.summary_worker import make
from ctxtui.services.workers.totals_worker import LedgerMaker, LedgerSoFar
from ctxtui.tui.lists.costs.tool_ledger import LedgerScreen
from ctxtui.tui.theme.theme import apply_theme
from ctxtui.views.lists.costs.tool_ledger import rows, table
from tests.cases.claude_code_requests import parallel
from tests.services.library.test_tool_ledger import session
from tests.tui.home.test_home import text
from tests.tui.waiting import until
from tests.views.glossary.arithmetic_law import broken


class Made:
    """A ledger of which one session is not read at first."""

    def __init__(self) -> None:
        self.asked = 0
        self.closed = False

    def attempt(self, method: object) -> LedgerSoFar:
        """The second time it is whole."""
        self.asked += 1
        if self.asked == 1:
            return LedgerSoFar(ToolsLedger([], 0, 0), 1)
        named = session("one", "abcd")
        plain = replace(session("two", "wxyz"), tools=(replace(named.tools[0], server="", name="Grep", mcp=False),))
        return LedgerSoFar(tools_ledger([named, plain]), 0)

    def close(self) -> None:
        """It is not asked any more."""
        self.closed = True


async def test_sessions_come_in_as_they_are_read_and_other_tools_when_asked() -> None:
    app, source = App[None](), Made()
    apply_theme(app, {}, "dark", "unicode")
    async with app.run_test(size=(120, 30)) as pilot:
        screen = LedgerScreen(source)
        screen.reload_seconds = 0.01  # type: ignore[misc]
        await app.push_screen(screen)
        await until(pilot, lambda: "mcp git" in text(app))
        shown = text(app)
        assert source.asked > 1 and "2 sessions" in shown and "not read yet" not in shown
        assert "log" in shown and "Grep" not in shown and "too few to tell" not in shown
        await pilot.press("tab")
        await until(pilot, lambda: "Grep" in text(app))
        await pilot.press("S")
        await until(pilot, lambda: "schema ↓" in text(app))
        assert "log  git" in text(app) and "mcp git" not in text(app)
        await pilot.press("escape")
        await until(pilot, lambda: source.closed)


def test_the_sum_behind_each_figure_holds() -> None:
    servers = tools_ledger([session("one", "abcd"), session("two", "cdef", known=False)]).servers
    shown = [column.sum for column in table(0.0).columns if column.sum is not None]
    said = [tell(row) for row in rows(servers) for tell in shown]
    assert len(said) == 10 and all(said)
    assert [claim for one in said for claim in broken(one)] == []


def test_the_process_tells_what_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    folder = tmp_path / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / "0a1b2c3d-0000-4000-8000-000000000000.jsonl").write_bytes(parallel().dump())
    settings = load(()).settings
    worker = Worker(LedgerMaker, settings, tmp_path)
    try:
        before = worker.attempt(LedgerMaker.make)
        assert before is not None and (before.left, before.ledger.sessions) == (1, 0)
        CountCache(database(settings.data_dir), create=True).summary("", 0, 0.0, "")
        answer = make()
        for one in SessionLibrary(settings, tmp_path).list_fast():
            answer((one, settings))
        after = worker.attempt(LedgerMaker.make)
        assert after is not None and (after.left, after.ledger.sessions) == (0, 1)
        assert [tool.called for server in after.ledger.servers for tool in server.tools if tool.called]
    finally:
        worker.close()
    assert worker.attempt(LedgerMaker.make) is None
