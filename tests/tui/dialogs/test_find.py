"""Finding a text in every session from Home, and going there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from ctxtui.services.config.config import Config
from ctxtui.services.config.settings import Settings
from ctxtui.services.worker import Worker
from ctxtui.services.workers.search_worker import SessionsSearch
from ctxtui.tui.dialogs.find import FindScreen
from ctxtui.tui.inspector.controllers.search import SearchController
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.tui.start import make_app
from ctxtui.views.lists import search_hits
from ctxtui.views.lists.search_hits import BlockHits, Folded, FoundSession
from tests.services.search.test_search import write
from tests.tui.inspector.test_inspector import until


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    write(folder, "one", "Where is the NEEDLE?")
    write(folder, "two", "Something else")
    places = {"CLAUDE_CONFIG_DIR": "claude", "CODEX_HOME": "codex", "CTXTUI_HOME": "own", "HOME": "."}
    for name, place in places.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.chdir(tmp_path)
    return folder


def shown(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


async def said(pilot: Pilot[None], words: str) -> None:
    there: Callable[[], bool] = lambda: words in shown(pilot)  # noqa: E731
    await until(pilot, there)


async def test_a_hit_is_listed_and_opened(recorded: Path) -> None:
    async with make_app(None, Config(Settings(), {})).run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+f")
        assert isinstance(pilot.app.screen, FindScreen)
        await pilot.press(*"compute_context", "enter")
        await said(pilot, "4 blocks in ")
        assert "not indexed yet" in shown(pilot) and "compute_context(x)" in shown(pilot)
        await pilot.press("slash", "ctrl+u", *"needle", "enter")
        await said(pilot, "1 block in ")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: screen.owner(SearchController).is_active and "of 1" in shown(pilot))
        assert screen.state.index == 0
        await pilot.press("escape", "q")
        await until(pilot, lambda: isinstance(pilot.app.screen, FindScreen))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, FindScreen))


async def test_a_hit_is_opened_with_the_text_that_was_searched(recorded: Path) -> None:
    async with make_app(None, Config(Settings(), {})).run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+f", *"needle", "enter")
        await said(pilot, "1 block in ")
        find = pilot.app.screen
        assert isinstance(find, FindScreen)
        # Something else is typed and not searched.
        await pilot.press("slash", "ctrl+x", *"other", "escape")
        assert find.pane.has_focus and find.query_line.text == "needleother"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))
        screen = pilot.app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: screen.owner(SearchController).is_active and "of 1" in shown(pilot))
        assert not screen.owner(SearchController).regex


def test_a_session_with_many_hits_hides_no_other() -> None:
    def spotted(target: str, n: int) -> BlockHits:
        return BlockHits(
            target=target, title=target, thread="main", call=n, digest=str(n), category="user", label="", hits=1,
            snippet="x", at=0, end=1,
        )  # fmt: skip

    many = FoundSession("a", "a", [spotted("a", n) for n in range(40)])
    few = FoundSession("b", "b", [spotted("b", n) for n in range(4)])
    listed = search_hits.rows([many, few])
    assert [type(row).__name__ for row in listed[:6]] == ["FoundSession", *["BlockHits"] * 3, "Folded", "FoundSession"]
    assert len(listed) == 10 and "37 more" in "".join(s.text for s in search_hits.folded_line(Folded(many), here=False))
    many.opened = True
    assert len(search_hits.rows([many, few])) == 46
    shell = replace(spotted("a", 1), category="tool_result", label="exec_command")
    row = "".join(s.text for s in search_hits.TABLE.draw(shell, 80))
    assert search_hits.explain_count(FoundSession("a", "a", [shell])) == "The text occurs 1 time in 1 block."
    assert " $ " in row and "exec_command" not in row, "as every other row calls it"


def test_a_new_search_ends_the_one_before(recorded: Path) -> None:
    search = Worker(SessionsSearch, Settings(), recorded)
    try:
        first = search.steps(SessionsSearch.search, "compute_context", False)
        assert next(first).done == 1
        found = [block for step in search.steps(SessionsSearch.search, "NEEDLE", False) for block in step.new_hits]
        assert [(block.call, block.category) for block in found] == [(1, "user")]
        assert list(first) == []
        (wrong,) = search.steps(SessionsSearch.search, "a[", True)
        assert "not a regular expression" in wrong.trouble
    finally:
        search.close()
