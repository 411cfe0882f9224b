"""The app: screens on a stack, the look, and what happens when something breaks."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from textual import events
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.driver import Driver
from textual.screen import Screen
from textual.worker import WorkerFailed

from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.tui.commands import EVERYWHERE, Command, bindings
from ctxtui.tui.commands.command import Commanded
from ctxtui.tui.commands.everywhere import OpenPalette
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.dialogs.hover import Hover
from ctxtui.tui.messages import GoHome, Open, Opened, Refused, TalkFrom, TerminalGone, Wish
from ctxtui.tui.shown_cells import ShownCells
from ctxtui.tui.terminal import TerminalDriver
from ctxtui.tui.theme.theme import dress, native_colours
from ctxtui.tui.widgets.keyline import KeyLine
from ctxtui.tui.widgets.still import hears_keys

if TYPE_CHECKING:
    from ctxtui.services.workers.index_worker import BackgroundIndexer


MakeScreen = Callable[[], Screen[Any]]
_THREADS = 128
"""Threads at most; they are made when they are needed."""


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
    `background` makes what is done beside. `first_look` says, once, that no
    session was opened before: then tips come. `other_commands` are those of all screens, by name, for the help.
    """

    TITLE = "ctxtui"
    BINDINGS = bindings(EVERYWHERE)
    ENABLE_COMMAND_PALETTE = False  # ours is made of the command classes
    _dressed = False

    def __init__(
        self,
        home: MakeScreen,
        inspector: Callable[[str], Screen[Any]],
        target: str | None = None,
        *,
        theme: str = "auto",
        glyphs: str = "auto",
        background: Callable[[], BackgroundIndexer] | None = None,
        chat: Callable[[str, str, int], Screen[Any]] | None = None,
        first: MakeScreen | None = None,
        first_look: Callable[[], bool] | None = None,
        other_commands: Callable[[], Mapping[str, Sequence[type[Command]]]] = dict,
    ) -> None:
        super().__init__(ansi_color=native_colours(os.environ))
        self._make_home = home
        self._make_inspector = inspector
        self._target = target
        self._make_chat = chat
        self._make_first = first
        self._first_look = first_look
        self._other_commands = other_commands
        self._home_below = target is None and first is None
        """Whether Home is the first screen: else it is made when it is asked for."""
        self._make_background = background
        self._background: BackgroundIndexer | None = None
        self._left = False
        self._hover = Hover(self)
        self._cells = ShownCells()
        self.crash: BaseException | None = None
        """What ended the app, if it broke."""
        self.refused: CtxtuiError | None = None
        """Why what the user named could not be opened; the app has left then."""
        self.farewell = ""
        """What must still be said when the screen is gone."""
        self.unrecorded = False
        """Whether something of a chat is not on record for good."""
        self.crashed_in = ""
        """The session that was open then."""
        self._dressed = True
        dress(self, os.environ, theme, glyphs)

    def get_css_variables(self) -> dict[str, str]:
        """The colours of the theme. Textual works them out for its own first, with which nothing is ever drawn."""
        return super().get_css_variables() if self._dressed else {}

    def get_driver_class(self) -> type[Driver]:
        """Textual's own for this platform; where that is a terminal, one that takes pastes as they come."""
        found = super().get_driver_class()
        if found.__module__ != "textual.drivers.linux_driver":
            return found

        return TerminalDriver

    def get_default_screen(self) -> Screen[Any]:
        """The bottom of the stack: what was asked for, or Home."""
        if self._make_first is not None:
            return self._make_first()
        return self._make_inspector(self._target) if self._target is not None else self._make_home()

    def on_load(self) -> None:
        """Before the terminal is taken over: who ends the program from outside gets it back in order."""
        loop = asyncio.get_running_loop()
        # Each screen on the stack has threads that stay as long as it does. Python's own number (six on two processors)
        # is reached by a chat over a session over Home, which would then wait for them for ever.
        loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="ctxtui"))
        for sign in _ENDS:
            # Elsewhere than in the main thread of a Unix process nobody hears signals.
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(sign, self._told_to_end, sign)

    def _told_to_end(self, sign: signal.Signals) -> None:
        self.farewell = self.farewell or f"ended by {sign.name}"
        self.exit(return_code=128 + sign)

    def on_terminal_gone(self, message: TerminalGone) -> None:
        """The terminal was closed, and another program keeps its signal: it ends as if it had come here."""
        self._told_to_end(signal.SIGHUP)

    async def on_event(self, event: events.Event) -> None:
        """Keys and the mouse come first: what works in the background of the screen waits until they are answered."""
        if not isinstance(event, events.InputEvent):
            await super().on_event(event)
            return
        # A key goes to the widget that has the focus, and comes back from there to do what it is bound to.
        screen, back = self.screen, event.is_forwarded
        gives = screen if isinstance(screen, Commanded) and screen.gives_way else None
        acted = False
        if gives is not None and not back:
            gives.give_way()
            acted = isinstance(event, events.Key) and await self._acted(event.key)
        if not acted:
            await super().on_event(event)
        if gives is not None and (back or acted):
            gives.answered()

    async def _acted(self, key: str) -> bool:
        """Run what `key` is bound to, at once; false if nothing is bound to it or the focused widget reads keys itself.

        Textual sends a key to the focused widget by a message, so that a key typed ahead reaches what had the focus
        before: `y` would reach the transcript, not the question that the key before it asks.
        """
        screen = self.screen
        way = (screen.focused or screen).ancestors_with_self
        if not self.app_focus or screen.maximized is not None or any(hears_keys(type(one)) for one in way[:-1]):
            return False
        self._hover.hide()
        bound = screen.active_bindings.get(key)
        return bound is not None and await self.run_action(bound.binding.action, bound.node)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write a frame, less what stands there already."""
        super()._display(
            screen, self._cells.rest(renderable) if isinstance(renderable, CompositorUpdate) else renderable
        )

    def action_redraw(self) -> None:
        """All of the screen is written once more: another program may have written over it."""
        self._cells.forget()
        self.screen.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        """The terminal has another size: it breaks lines anew, or clears them."""
        self._cells.forget()

    def on_ready(self) -> None:
        """Behind the first frame: what there is now stays, so collections need not look at it again."""
        # A shell has written over it; Textual draws nothing then that has not changed.
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
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
        if not self._is_due(message):
            return
        screen = self._make_inspector(message.target)
        if isinstance(screen, Commanded):
            screen.aim, screen.note = message.aim, message.note
        self.push_screen(screen)

    def _is_due(self, wish: Wish) -> bool:
        """Whether only dialogs were opened since over the screen that `wish` is made on."""
        stack = self.screen_stack
        above = stack[stack.index(wish.made_on) + 1 :] if wish.made_on in stack else ()
        return all(isinstance(each, Dialog) for each in above)

    def on_opened(self, message: Opened) -> None:
        """The first session that a user ever opens begins with tips, where it is still in view."""
        if message.screen is self.screen and self._first_look is not None and self._first_look():
            self.action_tips()

    def action_tips(self) -> None:
        """Tips at the panes of a session."""
        from ctxtui.tui.dialogs.tips import TipsScreen

        self.push_screen(TipsScreen(self.screen))

    def on_talk_from(self, message: TalkFrom) -> None:
        """Go on from a recorded call."""
        if self._make_chat is not None and self._is_due(message):
            screen = self._make_chat(message.target, message.thread, message.number)
            if message.edits and isinstance(screen, Commanded):
                screen.bring(message.edits)
            self.push_screen(screen)

    async def action_quit(self) -> None:
        """Leave, unless a screen has something to ask first."""
        for place, screen in reversed(list(enumerate(self.screen_stack))):
            if isinstance(screen, Commanded) and not screen.may_quit(self.exit):
                # What it asks stands on its own line: nothing may cover that.
                while len(self.screen_stack) > place + 1:
                    self.pop_screen()
                return
        self.exit()

    async def action_back(self) -> None:
        """One level back; from the first screen out of the program."""
        if len(self.screen_stack) == 1:
            await self.action_quit()
        else:
            self._leave(self.pop_screen)

    def _leave(self, close: Callable[[], object]) -> None:
        """Close the screen on top with `close`, unless it has something to ask first."""
        screen = self.screen

        def leave() -> None:
            # A question takes its time: it may be answered when the screen has left, or lies under another one.
            if screen in self.screen_stack:
                while self.screen is not screen:
                    self.pop_screen()
                close()

        if not isinstance(screen, Commanded) or screen.may_close(leave):
            leave()

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
        self._leave(self._to_home)

    def _to_home(self) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if not self._home_below:
            self._home_below = True
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

    async def on_key_line_pressed(self, message: KeyLine.Pressed) -> None:
        """A key of the key line was clicked: it does what the key does."""
        await self.screen.run_action(message.action)

    def action_help(self) -> None:
        """Every key of the screen."""
        self._help("")

    def _help(self, words: str) -> None:
        from ctxtui.tui.dialogs.help import Help, HelpScreen

        screen = self.screen
        if isinstance(screen, HelpScreen):
            return
        now = getattr(screen, "commands_now", None)
        what = Help(
            tuple(dict.fromkeys([*getattr(screen, "commands", ()), *EVERYWHERE])),
            frozenset(now()) if now is not None else frozenset(),
            getattr(screen, "doing", ()),
            self._other_commands,
        )
        self.push_screen(HelpScreen(what, words))

    def action_explain(self) -> None:
        """What the words, signs and figures of the screen mean."""
        from ctxtui.tui.dialogs.explain import ExplainScreen

        def then(word: str | None) -> None:
            if word:
                self._help(word)

        self.push_screen(ExplainScreen(self.screen), then)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Where the mouse rests, what is under it is explained."""
        self._hover.moved(event)

    def action_switch_theme(self) -> None:
        """From dark to light and back."""
        self.theme = "ctxtui-light" if self.theme != "ctxtui-light" else "ctxtui-dark"

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print a page of locals, a recording's content among them: the caller writes a log instead.
        if self.crash is None:
            # Of a worker that broke, what broke it: the log is to hold its traceback.
            self.crash, self.crashed_in = error.error if isinstance(error, WorkerFailed) else error, self.session
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()
