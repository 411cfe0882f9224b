"""Replay that goes on by itself: begins, goes faster and slower, stops."""

from __future__ import annotations

import pytest

from ctxtui.tui.inspector.controllers import playing
from ctxtui.tui.inspector.controllers.playing import PlayController
from ctxtui.tui.inspector.screen import InspectorScreen
from tests.tui.inspector.controllers.test_staging import session
from tests.tui.inspector.test_inspector import opened, until

QUICK = (0.05, 0.02, 0.01, 0.005, 0.004, 0.003)
SLOW = (300.0, 200.0, 100.0, 50.0, 40.0, 30.0)


def told(screen: InspectorScreen) -> str:
    return "".join(span.text for span in screen.prompt.hint)


async def test_it_plays_to_the_last_call_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "SECONDS_PER_CALL", QUICK)
    async with opened(session()) as (screen, pilot):
        await pilot.press("home")
        assert screen.state.index == 0 < screen.state.count - 1
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: screen.state.index == screen.state.count - 1)
        await until(pilot, lambda: "the last one" in told(screen))
        monkeypatch.setattr(playing, "SECONDS_PER_CALL", SLOW)
        await pilot.press("greater_than_sign")
        assert screen.state.index == 0, "from the last call it begins again"


async def test_esc_or_a_step_stops_it_and_slower_waits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "SECONDS_PER_CALL", SLOW)
    async with opened(session()) as (screen, pilot):
        await pilot.press("home", "greater_than_sign", "less_than_sign", "less_than_sign")
        assert "playing, a call every 300 s" in told(screen)
        await pilot.press("escape")
        assert "stopped at call 1" in told(screen)
        await pilot.press("greater_than_sign", "right_square_bracket")
        monkeypatch.setattr(playing, "SECONDS_PER_CALL", QUICK)
        await pilot.press("greater_than_sign", "end")
        await until(pilot, lambda: screen.owner(PlayController)._timer is None)
        assert screen.state.index == screen.state.count - 1


async def test_it_rests_while_another_screen_lies_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "SECONDS_PER_CALL", QUICK)
    async with opened(session()) as (screen, pilot):
        await pilot.press("home")
        await pilot.press("question_mark")
        screen.owner(PlayController).play(1)
        await pilot.pause(0.2)
        assert screen.state.index == 0
