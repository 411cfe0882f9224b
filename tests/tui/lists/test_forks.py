"""The tree of forks on the screen."""

from __future__ import annotations

import pytest
from textual.screen import Screen

from ctxtui.tui.lists.forks import ForksScreen
from ctxtui.views.lists import forks
from ctxtui.views.lists.forks import ForkRow
from tests.analysis.growth.test_forks import branched
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened, text, until
from tests.tui.waiting import from_palette


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 16)])
async def test_a_branch_is_listed_and_gone_to(size: tuple[int, int]) -> None:
    async with opened(branched(), size) as (screen, pilot):
        await from_palette(pilot, "forks")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForksScreen) and bool(pilot.app.screen.pane.rows))
        shown = text(pilot.app.screen)  # type: ignore[arg-type]
        assert "another way" in shown and "call 1" in shown and "4–5" in shown and "2 forks" in shown
        await pilot.press("down", "enter")
        assert screen.app.screen is screen and screen.state.index == 3


async def test_a_session_without_forks_says_how_to_make_one() -> None:
    async with opened(every_category()) as (screen, pilot):
        await from_palette(pilot, "forks")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForksScreen) and bool(pilot.app.screen.pane.rows))
        assert "starts a chat from a call" in text(pilot.app.screen)  # type: ignore[arg-type]
        await pilot.press("enter")
        assert screen.app.screen is screen


async def test_another_session_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ForkRow(depth=1, is_last=True, name="branch of it @3", after=3, calls="4", age=60.0, target="chat-1")
    monkeypatch.setattr(
        "ctxtui.services.study.fork_tree.list_forks",
        lambda *given: [ForkRow(depth=0, is_last=True, name="it", is_open=True), row],
    )
    async with opened(every_category()) as (_, pilot):
        asked: list[str] = []

        def make(target: str) -> Screen[None]:
            asked.append(target)
            return Screen()

        monkeypatch.setattr(pilot.app, "_make_inspector", make)
        await from_palette(pilot, "forks")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForksScreen) and bool(pilot.app.screen.pane.rows))
        await pilot.press("down", "enter")
        await until(pilot, lambda: asked == ["chat-1"])


def test_rows_are_as_wide_as_they_are_asked_to_be() -> None:
    row = ForkRow(
        depth=3, is_last=False, name="\x1b[31mred\x07 ｗｉｄｅ " * 20, after=12, calls="1,234–1,240", age=90_000.0
    )
    for room in (50, 78, 118):
        line = "".join(span.text for span in forks.TABLE.draw(row, room, here=True))
        assert "\x1b" not in line and "\x07" not in line
        assert len("".join(span.text for span in forks.TABLE.heads(room))) <= room
