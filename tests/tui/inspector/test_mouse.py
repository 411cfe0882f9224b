"""The mouse in the inspector: the wheel travels on the strip and the map, clicks choose, heads order lists."""

from __future__ import annotations

from textual import events
from textual.pilot import Pilot

from ctxtui.tui.lists.blocks import HeaviestScreen
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
        heads = page._compositor.render_strips()[2].text
        await pilot.click(page.pane, offset=(heads.index("tokens") + 2, 1))
        await pilot.pause()
        assert page.order == "tokens" and "tokens \u2193" in page._compositor.render_strips()[2].text


async def test_a_click_puts_the_cursor_on_a_row_and_a_double_click_opens_it() -> None:
    async with opened(every_category()) as (screen, pilot):
        pane = screen.panels.transcript
        row = pane.viewport.heights.row_at(pane.viewport.top + 3)[0]
        await pilot.click(pane, offset=(12, pane.body_top + 3))
        assert pane.cursor == row and pane.has_focus
        before = pane.viewport.heights.total
        await pilot.click(pane, offset=(12, pane.body_top + 3), times=2)
        await until(pilot, lambda: pane.viewport.heights.total != before)


async def test_a_click_on_the_strip_the_map_and_the_context_does_what_it_shows() -> None:
    async with opened(every_category()) as (screen, pilot):
        strip = screen.panels.calls
        line = strip.render_line(strip.size.height - 2).text
        first = next(x for x, char in enumerate(line) if char not in " 0123456789k.")
        await pilot.click(strip, offset=(first, strip.size.height - 2))
        await until(pilot, lambda: screen.state.index == 0)
        await pilot.press("end")
        last = screen.panels.transcript.cursor
        await pilot.click(screen.panels.map, offset=(4, 1))
        await until(pilot, lambda: screen.panels.transcript.cursor < last)


async def test_a_click_on_the_key_line_does_what_its_key_does_and_the_wheel_scrolls() -> None:
    async with opened(every_category()) as (screen, pilot):
        keys = screen.keys
        at = keys.render_line(0).text.index("blocks")
        await pilot.click(keys, offset=(at + 1, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, HeaviestScreen) and bool(pilot.app.screen.rows))
        page = pilot.app.screen
        assert isinstance(page, HeaviestScreen)
        await pilot.click(page.pane, offset=(10, page.pane.body_top + 3))
        assert page.pane.cursor == 3
        node = page.node(page.pane.row) if page.pane.row is not None else 0
        await pilot.click(page.pane, offset=(10, page.pane.body_top + 3), times=2)
        await until(pilot, lambda: pilot.app.screen is screen)
        assert screen.panels.transcript.node == node, "a double click goes to the block"
        await pilot.press("ctrl+home")
        top = screen.panels.transcript.viewport.top
        await pilot._post_mouse_events([events.MouseScrollDown], "#transcript", offset=(8, 3))
        await pilot.pause()
        assert screen.panels.transcript.viewport.top >= top


async def test_a_click_on_the_prompt_asks_for_a_place() -> None:
    async with opened(every_category()) as (screen, pilot):
        await pilot.click(screen.prompt, offset=(6, 0))
        await until(pilot, lambda: screen.line.is_asking)
        await pilot.press("2", "enter")
        await until(pilot, lambda: screen.state.index == 1)
