"""Keys that come in one burst: whatever they close, nothing breaks, and only a key that means it leaves the program."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from itertools import cycle, product
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from textual import events
from textual.app import SuspendNotSupported
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen

from ctxtui import tui
from ctxtui.agent.events import HoldNext
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.library.session_actions import SessionActions
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.chat.commands import CHAT_ONLY, Interrupt
from ctxtui.tui.chat.screen import ChatScreen
from ctxtui.tui.commands import EVERYWHERE, Command
from ctxtui.tui.commands.everywhere import Explain, Help, OpenPalette, Quit
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.home.panels import SessionList
from ctxtui.tui.home.screen import HomeScreen
from ctxtui.tui.inspector.commands import Home, PageBlock, ShowTips
from ctxtui.tui.inspector.controllers.policies import OpenLab
from ctxtui.tui.inspector.screen import InspectorScreen, SessionScreen
from ctxtui.tui.lists.lab import LabScreen
from ctxtui.tui.lists.registry import LISTS, REPORTS
from ctxtui.tui.start import make_chat
from tests.cases.inspect import HandMade, app_on
from tests.cases.sessions import every_category
from tests.services.chatting import config
from tests.tui.home.test_home import a_few
from tests.tui.inspector.test_inspector import settled
from tests.tui.waiting import until

WHERE, SIZES = ("inspector", "chat"), [(80, 24), (120, 40)]
KEYS, LENGTHS = ("escape", "enter", "q"), (2, 3, 4, 5)
BURSTS = [[key] * count for count, key in product(LENGTHS, KEYS)]
DIALOGS = (Help, OpenPalette, Explain, ShowTips)
LEAVES = {Quit, Home, PageBlock, Interrupt, OpenLab}
"""Commands that leave the screen, or hand the terminal over."""


async def handled(pilot: Pilot[None]) -> None:
    """All keys went from the app to a widget, to its screen and back to the app, and did what they do."""
    for _ in range(4):
        await pilot.pause(0)


async def burst(pilot: Pilot[None], keys: list[str]) -> None:
    """Keys that the terminal gives in one piece."""
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
    await handled(pilot)


class Opened:
    """A session's screen, what can be opened over it, and how often the program was left."""

    def __init__(self, screen: SessionScreen, pilot: Pilot[None]) -> None:
        self.screen, self.pilot = screen, pilot
        self.exits = 0

    @property
    def app(self) -> CtxtuiApp:
        """The app."""
        assert isinstance(self.pilot.app, CtxtuiApp)
        return self.pilot.app

    def exit(self, *_: object, **__: object) -> None:
        """In place of the app's own."""
        self.exits += 1

    @property
    def foot(self) -> str:
        """The key line."""
        return self.screen._compositor.render_strips()[-1].text

    async def open(self, command: type[Command]) -> bool:
        """Do a command; whether it opened a screen or asks something."""
        asked = self.screen.line.question
        with suppress(SuspendNotSupported):  # no terminal that an editor or a pager could have
            await self.screen.run_action(command.binding())
        return self.app.screen is not self.screen or self.screen.line.question not in (None, asked)

    async def shown(self) -> None:
        """What was opened has its widgets, and its rows, if that takes no process of its own."""
        await handled(self.pilot)
        top = self.app.screen
        if top is not self.screen and not isinstance(top, LabScreen):
            await until(self.pilot, lambda: all(each.is_finished for each in self.app.workers if each.node is top))

    async def reset(self) -> None:
        """Nothing lies over the screen, and nothing is asked; the agent of a chat is at work."""
        self.exits = 0
        while self.app.screen is not self.screen:
            self.app.pop_screen()
        while self.screen.line.is_asking:
            self.screen.prompt.set_text("")
            self.screen.line.cancel()
        if isinstance(chat := self.screen, ChatScreen) and not chat.state.is_running:
            chat.state.host.feed(HoldNext())
            chat.talk.send("hello")
            await until(self.pilot, lambda: chat.state.is_held)
            chat.line.cancel()
        await handled(self.pilot)


@asynccontextmanager
async def opened(where: str, tmp_path: Path, size: tuple[int, int]) -> AsyncIterator[Opened]:
    work = tmp_path / "work"
    work.mkdir()
    app = (
        app_on(every_category()) if where == "inspector" else make_chat(ModelChoice("offline"), config(tmp_path), work)
    )
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, SessionScreen)
        it = Opened(screen, pilot)
        if isinstance(screen, ChatScreen):
            await until(pilot, lambda: screen.state.host.runner is not None)
            await it.reset()
            await until(pilot, lambda: screen.edits.is_editable())
        elif isinstance(screen, InspectorScreen):
            await settled(screen, pilot)
        app.exit = it.exit  # type: ignore[method-assign]
        yield it
        del app.exit


async def survives(it: Opened, command: type[Command], keys: list[str], *, shown: bool = True) -> bool:
    """Whether `command` opened something, which a burst of keys then closed as one expects."""
    if not await it.open(command):
        return False
    if shown:
        await it.shown()
        if it.app.screen is it.screen:
            assert not re.search(r" [^\W\d_⏎] |= explain|\? help", it.foot), (
                command.name,
                "letters are typed",
                it.foot,
            )
    await burst(it.pilot, keys)
    told = command.name, keys, shown
    assert it.app.crash is None, (*told, it.app.crash)
    assert it.screen in it.app.screen_stack, (*told, "a level was closed that nobody had seen")
    assert keys[0] != "escape" or it.app.screen is it.screen, told
    assert it.exits < len(keys) if keys[0] == "q" else not it.exits, (*told, it.exits)
    await it.reset()
    return True


def commands_of(screen: SessionScreen) -> list[type[Command]]:
    """All that can be done there, and stays there."""
    return [each for each in dict.fromkeys([*screen.commands, *EVERYWHERE]) if each not in LEAVES]


async def test_no_burst_of_keys_ends_the_program(tmp_path: Path) -> None:
    """One burst for each thing that can be opened, of another key and length each time."""
    bursts = cycle(BURSTS)
    async with opened("inspector", tmp_path, (120, 40)) as it:
        openers = [each for each in commands_of(it.screen) if await survives(it, each, next(bursts))]
        assert {*LISTS, *REPORTS, *DIALOGS} <= set(openers), openers


async def test_no_burst_of_keys_ends_a_chat(tmp_path: Path) -> None:
    """What it does not share with the inspector, on a small screen, while its agent is at work."""
    bursts = cycle(BURSTS)
    async with opened("chat", tmp_path, (80, 24)) as it:
        openers = [each for each in (*CHAT_ONLY, *DIALOGS, *LISTS) if each not in LEAVES]
        openers = [each for each in openers if await survives(it, each, next(bursts))]
        assert {*LISTS, *DIALOGS} <= set(openers), openers


@pytest.mark.slow
@pytest.mark.parametrize(("number", "where", "size"), [(n, *each) for n, each in enumerate(product(WHERE, SIZES))])
async def test_no_burst_of_any_key_ends_the_program(
    number: int, where: str, size: tuple[int, int], tmp_path: Path
) -> None:
    """Each key for each thing that can be opened, in four lengths here and there; also where the burst comes in one
    piece with the key that opens."""
    async with opened(where, tmp_path, size) as it:
        for index, command in enumerate(commands_of(it.screen)):
            count = LENGTHS[(index + number) % len(LENGTHS)]
            for key, shown in product(KEYS, (True, False)):
                if not await survives(it, command, [key] * count, shown=shown):
                    break


async def test_a_burst_opens_one_session() -> None:
    """Each Enter is heard by Home, which is covered by then."""
    source = HandMade(every_category())
    home = HomeScreen(a_few(), SessionActions(source.settings), Path(), Path())
    app = CtxtuiApp(lambda: home, lambda _: InspectorScreen(source))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(
            pilot, lambda: len(app.screen.query(SessionList)) > 0 and app.screen.query_one(SessionList).row_count > 0
        )
        await burst(pilot, ["enter"] * 3)
        assert [type(each) for each in app.screen_stack] == [HomeScreen, InspectorScreen]
        await burst(pilot, ["question_mark", "escape", "escape"])
        assert [type(each) for each in app.screen_stack] == [HomeScreen, InspectorScreen], "only `q` goes back"
        await burst(pilot, ["question_mark", "escape", "q"])
        assert [type(each) for each in app.screen_stack] == [HomeScreen]


def test_every_screen_over_another_one_closes_once() -> None:
    """By one base: Textual's own closes whatever is on top, as often as it is told."""
    for module in walk_packages(tui.__path__, "ctxtui.tui."):
        import_module(module.name)
    kinds: list[type[Screen[Any]]] = [ModalScreen]
    for kind in kinds:
        kinds += kind.__subclasses__()
    own = [kind for kind in kinds if kind.__module__.startswith("ctxtui.")]
    assert len(own) > 20 and all(issubclass(kind, Dialog) for kind in own), own
