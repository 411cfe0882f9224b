"""What is spared before the first frame of a screen leaves it as it would be."""

from __future__ import annotations

import pytest
from textual._styles_cache import StylesCache
from textual.app import App
from textual.geometry import Size

from ctxtui.tui.inspector.screen import InspectorScreen
from tests.cases.inspect import HandMade, app_of
from tests.cases.sessions import every_category
from tests.tui.waiting import until


def _rules(app: App[None]) -> list[dict[str, object]]:
    nodes = [app, app.screen, *app.screen.query("*")]
    return [{**one.styles.base.get_rules(), **one.styles.inline.get_rules()} for one in nodes]


async def test_styles_that_were_worked_out_once_are_what_they_would_be_the_second_time() -> None:
    app = app_of(HandMade(every_category()))
    async with app.run_test(size=(120, 40)) as pilot:
        for over in (False, True):
            if over:
                await app.push_screen(InspectorScreen(HandMade(every_category())))
                await pilot.pause()
            first = _rules(app)
            app.screen.update_node_styles(animate=False)
            assert len(first) > 15
            assert _rules(app) == first


async def test_each_size_is_laid_out_whether_anything_is_painted_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(HandMade(every_category()))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, InspectorScreen)
        await until(pilot, lambda: screen.state.complete)
        laid: list[Size] = []
        monkeypatch.setattr(screen, "_refresh_layout", laid.append)
        screen._screen_resized(Size(120, 40))
        with app.batch_update():
            screen._screen_resized(Size(120, 40))
            screen._screen_resized(Size(90, 30))
        assert laid == [Size(120, 40), Size(90, 30)]


async def test_the_ground_behind_the_panes_is_textuals_at_each_size_and_in_each_theme() -> None:
    app = app_of(HandMade(every_category()))
    async with app.run_test(size=(120, 40)) as pilot:
        drawn = set()
        for theme in ("ctxtui-dark", "ctxtui-light"):
            app.theme = theme
            for width, height in ((120, 40), (80, 24), (200, 60)):
                await pilot.resize_terminal(width, height)
                await pilot.pause()
                screen, whole = app.screen, Size(width, height).region
                lines = screen._styles_cache.render_widget(screen, whole)
                assert lines == StylesCache().render_widget(screen, whole)
                assert [line.cell_length for line in lines] == [width] * height
                part = whole.shrink((1, 2, 3, 4))
                assert screen._styles_cache.render_widget(screen, part) == StylesCache().render_widget(screen, part)
                drawn.add((theme, str(lines[0])))
        assert len({strip for _, strip in drawn}) == 6
