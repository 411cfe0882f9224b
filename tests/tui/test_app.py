"""The app around the screens: what it begins ends with it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen

from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.commands.command import Commanded
from ctxtui.tui.messages import GoHome, Open
from ctxtui.tui.widgets.keyline import ALWAYS, Key, KeyLine, _place_keys, keyline
from ctxtui.views.text.span import plain


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


class Asking(Commanded, Screen[None]):
    """A screen on which something would be lost."""

    asked: int = 0

    def may_close(self, close: Callable[[], None]) -> bool:
        self.asked += 1
        return False

    may_quit = may_close


async def test_q_goes_one_level_back_and_leaves_from_the_first() -> None:
    app = CtxtuiApp(Screen, lambda _: Screen())
    async with app.run_test(size=(80, 24)) as pilot:
        app.post_message(Open("one"))
        await pilot.pause()
        assert len(app.screen_stack) == 2
        await pilot.press("q")
        assert len(app.screen_stack) == 1 and app.is_running
        await pilot.press("q")
        assert not app.is_running or app._exit


async def test_where_something_would_be_lost_it_is_asked_on_every_way_out() -> None:
    app = CtxtuiApp(Screen, lambda _: Asking())
    async with app.run_test(size=(80, 24)) as pilot:
        app.post_message(Open("one"))
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, Asking)
        await pilot.press("q")
        app.post_message(GoHome())
        await pilot.pause()
        app.push_screen(Screen())
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert screen.asked == 3 and app.screen is screen, "its question is seen"


class Line(Screen[None]):
    """A screen with a key line."""

    done: ClassVar[list[str]] = []

    def compose(self) -> ComposeResult:
        yield KeyLine([Key("[ ]", "call", "", ("did('back')", "did('on')")), Key("x", "nothing")])

    def action_did(self, what: str) -> None:
        self.done.append(what)


async def test_a_click_on_the_key_line_does_what_the_key_does() -> None:
    app = CtxtuiApp(Line, lambda _: Line())
    async with app.run_test(size=(80, 24)) as pilot:
        for x in (1, 3, 6, 12):
            await pilot.click(KeyLine, offset=(x, 0))
        await pilot.click(KeyLine, offset=(77, 0))
        await pilot.pause()
        assert Line.done == ["back", "on", "on"] and len(app.screen_stack) == 2, "the last one opened the help"


@pytest.mark.parametrize("ascii", [False, True])
def test_a_click_hits_the_key_drawn_at_that_column_in_any_width(ascii: bool) -> None:
    keys = [
        Key("⏎", "open", "", ("open",)),
        Key("[ ]", "next call", "call", ("back", "on")),
        Key("x", "drop", "", ("x",)),
    ]
    for room in range(1, 170):
        for out in (None, Key("esc", "close", "", ("dismiss",))):
            line, placed = plain(keyline(room, keys, ascii=ascii, out=out)), _place_keys(room, keys, ALWAYS, ascii, out)
            for key in placed:
                words = plain(key.spans)
                assert line[key.x : key.x + len(words)] == words, (room, line)


async def test_threads_of_screens_below_keep_none_above_waiting() -> None:
    """As a chat over a session over Home, on a machine with two processors."""
    app, over = CtxtuiApp(Line, lambda _: Line()), threading.Event()
    async with app.run_test():
        try:
            staying = [app.run_worker(over.wait, thread=True, group=str(n)) for n in range(40)]
            assert await asyncio.wait_for(asyncio.to_thread(lambda: "there"), 60) == "there"
            assert len(staying) == 40
        finally:
            over.set()


async def test_ctrl_c_reaches_the_program_that_has_the_terminal_and_not_ctxtui(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(App, "suspend", lambda _: nullcontext())  # a test has no terminal to give away
    app = CtxtuiApp(Screen, lambda _: Screen())
    before = signal.getsignal(signal.SIGINT)
    with app.suspend():
        signal.raise_signal(signal.SIGINT)
        assert subprocess.run(["sh", "-c", "kill -INT $$; sleep 9"], check=False).returncode == -signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before
