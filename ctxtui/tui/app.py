"""The app: screens on a stack, the look, and what happens when something breaks."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from textual.app import App
from textual.screen import Screen

from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.tui.commands import EVERYWHERE, Command, bindings
from ctxtui.tui.commands.everywhere import OpenPalette
from ctxtui.tui.messages import Aim, GoHome, Open, Refused, TalkFrom
from ctxtui.tui.theme.theme import dress, native_colours

MakeScreen = Callable[[], Screen[Any]]


class Background(Protocol):
    """Work that goes on as long as the app runs (`services.workers.index_worker.Filler`)."""

    def run(self) -> None:
        """Do it; for a thread."""

    def close(self) -> None:
        """End it at once."""


@runtime_checkable
class MayStay(Protocol):
    """A screen that may not be left at once."""

    def may_quit(self) -> bool:
        """Whether the program may end now; asks the user otherwise."""


@runtime_checkable
class Aims(Protocol):
    """A screen that can be told where to stand."""

    aim: Aim | None


_ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that ask a program to end."""
_SETTLED = 1.0
"""Seconds after the first frame by which a screen has what it begins with."""
_IDLE = 5.0
"""Seconds after the first frame from which background work may begin."""


def _collect() -> None:
    gc.freeze()
    # A session is many objects that live as long as it is open: looking through all of them halts the screen.
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


class CtxtuiApp(App[None]):
    """The shell around Home and the Inspector.

    `home` makes the list of sessions, `inspector` the screen for one session (given its path or stored id). With
    `target` the app opens on that session, with `first` on the screen that it makes, else on Home; `chat` makes the
    screen that goes on from a call (session, thread, number). `theme` and `glyphs` are the settings of that name;
    `background` makes what is done beside.
    """

    TITLE = "ctxtui"
    BINDINGS = bindings(EVERYWHERE)
    ENABLE_COMMAND_PALETTE = False  # ours is made of the command classes

    def __init__(
        self,
        home: MakeScreen,
        inspector: Callable[[str], Screen[Any]],
        target: str | None = None,
        *,
        theme: str = "auto",
        glyphs: str = "auto",
        background: Callable[[], Background] | None = None,
        chat: Callable[[str, str, int], Screen[Any]] | None = None,
        first: MakeScreen | None = None,
    ) -> None:
        super().__init__(ansi_color=native_colours(os.environ))
        self._make_home = home
        self._make_inspector = inspector
        self._target = target
        self._make_chat = chat
        self._make_first = first
        self._make_background = background
        self._background: Background | None = None
        self._left = False
        self.crash: BaseException | None = None
        """What ended the app, if it broke."""
        self.refused: CtxtuiError | None = None
        """Why what the user named could not be opened; the app has left then."""
        self.farewell = ""
        """What must still be said when the screen is gone."""
        self.crashed_in = ""
        """The session that was open then."""
        dress(self, os.environ, theme, glyphs)

    def get_default_screen(self) -> Screen[Any]:
        """The bottom of the stack: what was asked for, or Home."""
        if self._make_first is not None:
            return self._make_first()
        return self._make_inspector(self._target) if self._target is not None else self._make_home()

    def on_load(self) -> None:
        """Before the terminal is taken over: who ends the program from outside gets it back in order."""
        loop = asyncio.get_running_loop()
        for sign in _ENDS:
            # Elsewhere than in the main thread of a Unix process nobody hears signals.
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(sign, self._told_to_end, sign)

    def _told_to_end(self, sign: signal.Signals) -> None:
        self.farewell = self.farewell or f"ended by {sign.name}"
        self.exit(return_code=128 + sign)

    def on_ready(self) -> None:
        """Behind the first frame: what there is now stays, so collections need not look at it again."""
        self.set_timer(_SETTLED, _collect)
        self.set_timer(_IDLE, self._begin_background)

    def _begin_background(self) -> None:
        # The timer may still fire while the app ends: nobody would end then what it begins.
        if self._make_background is not None and not self._left:
            self._background = self._make_background()
            self.run_worker(self._background.run, thread=True, group="background")

    def on_unmount(self) -> None:
        """The background ends with the app, and signals do again what they did."""
        self._left = True
        if self._background is not None:
            self._background.close()
        loop = asyncio.get_running_loop()
        for sign in _ENDS:
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.remove_signal_handler(sign)

    @property
    def session(self) -> str:
        """What is open, for a crash's message."""
        names = [name for screen in self.screen_stack if (name := getattr(screen, "session_name", ""))]
        return names[-1] if names else ""

    def on_open(self, message: Open) -> None:
        """Open a session over Home."""
        screen = self._make_inspector(message.target)
        if message.aim is not None and isinstance(screen, Aims):
            screen.aim = message.aim
        self.push_screen(screen)

    def on_talk_from(self, message: TalkFrom) -> None:
        """Go on from a recorded call."""
        if self._make_chat is not None:
            self.push_screen(self._make_chat(message.target, message.thread, message.number))

    async def action_quit(self) -> None:
        """Leave, unless a screen has something to ask first."""
        screen = self.screen
        if not isinstance(screen, MayStay) or screen.may_quit():
            self.exit()

    def on_refused(self, message: Refused) -> None:
        """What the user named cannot be opened: there is nothing to look at, so it is said where it was named. A chat
        that another process hosts is shown as it is on record: from there a branch is one key."""
        if isinstance(message.error, InUse):
            self._replace(self._make_inspector(message.error.session))
        elif len(self.screen_stack) == 1 and self._target is not None:
            self.refused = message.error
            self.exit(return_code=1)

    def on_go_home(self, message: GoHome) -> None:
        """Back to the list; it is made anew where the app began with a session."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self._replace(self._make_home())

    def _replace(self, screen: Screen[Any]) -> None:
        if len(self.screen_stack) == 1:
            # Textual's switch takes the callback of a screen that was pushed; the first one never was.
            self.screen._push_result_callback(self.screen, None)
        self.switch_screen(screen)

    def action_palette(self) -> None:
        """All commands of the screen that are available now, by name."""
        from ctxtui.tui.dialogs.command_palette import PaletteScreen

        screen = self.screen
        now = getattr(screen, "commands_now", None)
        if now is None:
            return

        async def run(command: type[Command] | None) -> None:
            if command is not None:
                await screen.run_action(command.binding())

        self.push_screen(PaletteScreen([each for each in now() if each is not OpenPalette]), run)

    def action_help(self) -> None:
        """Every key of the screen."""
        from ctxtui.tui.dialogs.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(getattr(self.screen, "commands", EVERYWHERE)))

    def action_switch_theme(self) -> None:
        """From dark to light and back."""
        self.theme = "ctxtui-light" if self.theme != "ctxtui-light" else "ctxtui-dark"

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print a page of locals, a recording's content among them: the caller writes a log instead.
        if self.crash is None:
            self.crash, self.crashed_in = error, self.session
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()
