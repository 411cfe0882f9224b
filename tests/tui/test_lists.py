"""The lists over the Inspector: threads and tools."""

from __future__ import annotations

import pytest

from tests.cases.sessions import every_category, with_subagents
from tests.tui.test_inspector import opened, text, until


def seen(screen) -> str:  # type: ignore[no-untyped-def]
    return text(screen.app.screen)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_threads_are_listed_with_their_figures_and_one_goes_there_and_back(size: tuple[int, int]) -> None:
    async with opened(with_subagents(), size) as (screen, pilot):
        await pilot.press("home", "T")
        await until(pilot, lambda: "$" in seen(screen))
        shown = seen(screen)
        assert all(word in shown for word in ("threads", "peak", "cost", "├ ○ Find", "└ ○ Upda", "● main"))
        await pilot.press("down", "enter")
        assert screen.thread == "find" and screen.app.screen is screen
        await pilot.press("home", "T")
        assert "● Find" in seen(screen)
        # The cursor stands where one came from: back to the very call.
        await pilot.press("enter")
        assert screen.thread == "main" and screen.index == 0
        await pilot.press("T", "escape")
        assert screen.app.screen is screen and screen.thread == "main"


async def test_tools_are_listed_by_server() -> None:
    async with opened(every_category(), (80, 24)) as (screen, pilot):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "mcp" in seen(screen))
        shown = seen(screen)
        assert "built-in" in shown and "mcp puppeteer" in shown and "Bash" in shown
        await pilot.press("down", "q")
        assert screen.app.screen is screen
