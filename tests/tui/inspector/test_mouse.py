"""The mouse in the inspector: the wheel travels on the strip and the map, clicks choose, heads order lists."""

from __future__ import annotations

from textual import events
from textual.pilot import Pilot

from ctxtui.tui.lists.heaviest import HeaviestScreen
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened, until


async def scroll(pilot: Pilot[None], pane: str, kind: type[events.MouseEvent]) -> None:
    await pilot._post_mouse_events([kind], pane, offset=(8, 2))
    await pilot.pause()


async def test_the_wheel_goes_from_call_to_call_on_the_strip_and_through_the_context_on_the_map() -> None:
    async with opened(every_category()) as (screen, pilot):
        last = screen.state.index
        await scroll(pilot, "#calls", events.MouseScrollUp)
        assert screen.state.index == last - 1
        await scroll(pilot, "#calls", events.MouseScrollDown)
        assert screen.state.index == last
        row = screen.panels.transcript.cursor
        await scroll(pilot, "#map", events.MouseScrollUp)
        assert screen.panels.transcript.cursor < row


async def test_a_click_on_the_head_of_a_column_orders_the_list_by_it() -> None:
    async with opened(every_category()) as (_, pilot):
        await pilot.press("W")
        await until(pilot, lambda: isinstance(pilot.app.screen, HeaviestScreen) and bool(pilot.app.screen.rows))
        page = pilot.app.screen
        assert isinstance(page, HeaviestScreen) and page.order == "carry"
        heads = page._compositor.render_strips()[1].text
        await pilot.click(page.pane, offset=(heads.index("tokens") + 2, 1))
        await pilot.pause()
        assert page.order == "tokens" and "tokens \u2193" in page._compositor.render_strips()[1].text
