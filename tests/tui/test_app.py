"""The app around the screens: what it begins ends with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.screen import Screen

from ctxtui.tui.app import CtxtuiApp


class Beside:
    """Background work that counts how often it was begun."""

    begun = 0

    def run(self) -> None:
        Beside.begun += 1

    def close(self) -> None:
        """Nothing goes on."""


async def test_nothing_is_begun_beside_a_screen_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer for the background fires while the app ends: a thread begun then would keep the program from ending."""

    def home() -> Screen[Any]:
        return Screen()

    app = CtxtuiApp(home, lambda _: home(), background=Beside)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
    monkeypatch.setattr(Beside, "begun", 0)
    app._begin_background()
    await asyncio.sleep(0.1)
    assert Beside.begun == 0 and app._background is None
