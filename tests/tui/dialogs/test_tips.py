"""Six tips over the first session that is ever opened."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual import events

from ctxtui.services.config.settings import Settings
from ctxtui.services.library.session_actions import mark_first_session
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.commands import EVERYWHERE, key_text
from ctxtui.tui.dialogs.tips import TipsScreen
from ctxtui.tui.inspector.commands import INSPECTOR
from ctxtui.tui.inspector.screen import InspectorScreen
from ctxtui.views.glossary.tips import TIPS, place_tips
from ctxtui.views.inspector.layout import PaneNeeds, arrange
from tests.cases.inspect import HandMade
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import until


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_there_are_six_at_the_panes_of_every_usual_screen(size: tuple[int, int]) -> None:
    assert len(place_tips(arrange(*size, PaneNeeds()).boxes)) == 6 == len(TIPS)


def test_their_keys_are_keys() -> None:
    # The keys of a search (`n`) do nothing else than tell where an older command has moved.
    usual = [each for each in (*INSPECTOR, *EVERYWHERE) if not each.key_needs]
    keys = {key_text(key) for command in usual for key in command.keys} | {"\u2191", "\u2193"}
    assert {key for tip in TIPS for key in re.findall(r"`([^`]+)`", tip.text)} <= keys


def test_they_are_offered_once(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path / "own"))
    assert mark_first_session(settings) and not mark_first_session(settings)
    assert not mark_first_session(Settings(data_dir=str(tmp_path / "other"), tips=False))


def test_where_nothing_can_be_written_they_do_not_come_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not mark_first_session(Settings(data_dir=str(tmp_path / "file")))


async def test_each_goes_by_one_key_and_any_other_key_does_what_it_does() -> None:
    source = HandMade(every_category())
    app = CtxtuiApp(lambda: InspectorScreen(source), lambda _: InspectorScreen(source), "x", first_look=lambda: True)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TipsScreen))

        def shown() -> str:
            return "\n".join(strip.text for strip in app.screen._compositor.render_strips())

        for tip in TIPS:
            await until(pilot, lambda tip=tip: tip.title in shown())  # type: ignore[misc]
            await pilot.press("space")
            await pilot.pause()
        assert isinstance(app.screen, InspectorScreen), "behind the last one they are over"
        screen = app.screen
        await pilot.press("ctrl+p", *"tips", "enter")
        await until(pilot, lambda: isinstance(app.screen, TipsScreen))
        await pilot.press("5")
        await until(pilot, lambda: TIPS[4].title in shown())
        await pilot.press("home")
        await until(pilot, lambda: app.screen is screen and screen.state.index == 0)


async def test_a_burst_of_keys_closes_them_once_and_goes_on_below() -> None:
    source = HandMade(every_category())
    app = CtxtuiApp(lambda: InspectorScreen(source), lambda _: InspectorScreen(source), "x", first_look=lambda: True)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TipsScreen))
        over = app.screen
        for key in ("g", "home", "end"):
            over.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: isinstance(app.screen, InspectorScreen))
        await pilot.pause()
        assert [type(screen) for screen in app.screen_stack] == [InspectorScreen], "the screen below stays"
