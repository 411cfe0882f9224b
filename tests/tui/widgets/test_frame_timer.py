"""A frame that a key waits for does not wait for the frame before it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from textual import events
from textual.app import App

from ctxtui.tui.widgets import frame_timer
from ctxtui.tui.widgets.frame_timer import FrameTimer
from tests.cases.sessions import every_category
from tests.tui.inspector.test_inspector import opened
from tests.tui.waiting import LONG

AGES = 10_000.0
"""Seconds that no test lives."""


async def until(there: Callable[[], bool]) -> None:
    """As for a pilot, which would paint what is due itself."""
    end = time.monotonic() + LONG
    while not there():
        assert time.monotonic() < end, "it did not come"
        await asyncio.sleep(0.005)


async def test_a_frame_waits_for_its_turn_but_not_where_a_key_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_timer, "APART", AGES)
    ticks: list[None] = []
    app: App[None] = App()
    async with app.run_test():

        def tick() -> None:
            timer.pause()
            ticks.append(None)

        timer = FrameTimer(app, AGES, callback=tick, pause=True)
        timer._start()
        timer.resume()
        await until(lambda: len(ticks) == 1)
        for found in (1, 2, 3):
            timer.resume()
            await asyncio.sleep(0.01)
            assert len(ticks) == found
            timer.hurry()
            await until(lambda found=found: len(ticks) == found + 1)  # type: ignore[misc]
        # Where nothing has to wait, a hurry is over with the next frame.
        timer.hurry()
        timer.resume()
        await until(lambda: len(ticks) == 5)
        timer.resume()
        await asyncio.sleep(0.01)
        assert len(ticks) == 5
        timer.stop()


async def test_a_key_is_answered_behind_a_frame_of_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[object] = []
    monkeypatch.setattr(App, "_display", lambda _app, _screen, frame: frames.append(frame) if frame else None)
    async with opened(every_category()) as (screen, _):
        monkeypatch.setattr(frame_timer, "APART", AGES)
        for key in ("up", "d", "u", "up", "down"):
            before = len(frames)
            screen.panels.header.refresh()
            screen.hurry()
            await until(lambda before=before: len(frames) > before)  # type: ignore[misc]
            # The background has painted: its next frame has to wait.
            row, shown = screen.panels.transcript.cursor, len(frames)
            screen.app.post_message(events.Key(key, key if len(key) == 1 else None))
            await until(lambda shown=shown: len(frames) > shown)  # type: ignore[misc]
            assert len(key) == 1 or screen.panels.transcript.cursor != row


async def test_a_key_that_shows_all_panes_anew_is_on_the_terminal_when_it_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frames: list[object] = []
    monkeypatch.setattr(App, "_display", lambda _app, _screen, frame: frames.append(frame) if frame else None)
    async with opened(every_category()) as (screen, _):
        monkeypatch.setattr(frame_timer, "APART", AGES)
        header = screen.panels.header

        def key(do: Callable[[], object]) -> int:
            frames.clear()
            screen.give_way()
            do()
            screen.finish()
            return len(frames)

        assert key(lambda: (header.refresh(), screen.state.on.shown.emit())) == 1
        assert not header._repaint_regions, "it is painted"
        # What else a message changes is to be in the frame.
        assert key(header.refresh) == 0
        # A pane that is to stand elsewhere is not painted where it was.
        assert key(lambda: (screen.access.replan(), screen.state.on.shown.emit())) == 0
        await until(lambda: len(frames) == 1)
        # What the background has shown before the key came is not the key's.
        screen.state.on.shown.emit()
        assert key(header.refresh) == 0
