"""The Textual app: the screen stack, theme, quitting and crash handling."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

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
from ctxtui.tui.copied import KeepsCopiedBlocks
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.dialogs.hover import Hover
from ctxtui.tui.messages import GoHome, Open, Opened, OpenRequest, Refused, TalkFrom, TerminalGone
from ctxtui.tui.shown_cells import ShownCells
from ctxtui.tui.terminal import TerminalDriver
from ctxtui.tui.theme.theme import apply_theme, native_colours
from ctxtui.tui.widgets.keyline import KeyLine
from ctxtui.tui.widgets.still import handles_keys
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.services.config.own_commands import OwnCommand
    from ctxtui.services.own_command import Target
    from ctxtui.services.workers.index_worker import BackgroundIndexer


MakeScreen = Callable[[], Screen[Any]]
_MAX_THREADS = 128
"""Most threads of the pool, which starts one only when it is needed."""


_END_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that ask a program to end."""
_SECONDS_TO_FREEZE = 1.0
"""Seconds after the first frame until garbage collection skips all present objects: by then a screen is loaded."""
_SECONDS_TO_BACKGROUND = 5.0
"""Seconds after the first frame until sessions are indexed in the background."""


def _freeze_garbage() -> None:
    gc.freeze()
    # An open session keeps many long-lived objects: a full collection would freeze the screen.
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


class CtxtuiApp(KeepsCopiedBlocks, App[None]):
    """The app around Home and the Inspector.

    - `home` makes the list of sessions, `inspector` the screen of a session (its path or stored id), `chat` the screen
      that continues from a call (session, thread, number).
    - The first screen is what `first` makes; without it, the session `target`; without both, Home.
    - `first_look`: returns True once, before any session was opened; then tips are shown.
    - `own`: the user's own commands; a subclass has their palette entries (`OWN_COMMANDS`) and keys (`BINDINGS`).
    """

    TITLE = "ctxtui"
    BINDINGS = bindings(EVERYWHERE)
    ENABLE_COMMAND_PALETTE = False  # our own palette is built from the command classes
    OWN_COMMANDS: ClassVar[tuple[type[Command], ...]] = ()
    _has_theme = False

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
        own: Sequence[OwnCommand] = (),
        themes: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        pager: str = "",
    ) -> None:
        super().__init__(ansi_color=native_colours(os.environ))
        self._make_home = home
        self._make_inspector = inspector
        self._target = target
        self._make_chat = chat
        self._make_first = first
        self._first_look = first_look
        self._other_commands = other_commands
        self._own = {command.name: command for command in own}
        self._pager = pager
        self._has_home = target is None and first is None
        """Whether Home was made."""
        self._make_background = background
        self._background: BackgroundIndexer | None = None
        self._is_unmounted = False
        self._hover = Hover(self)
        self._cells = ShownCells()
        self.crash: BaseException | None = None
        """The exception that ended the app, if it crashed."""
        self.refused: CtxtuiError | None = None
        """Why the session that the user named could not be opened; the app ends then."""
        self.farewell = ""
        """Text to print after the screen is closed."""
        self.unrecorded = False
        """Whether part of a chat could not be recorded."""
        self.crashed_session = ""
        self._has_theme = True
        apply_theme(self, os.environ, theme, glyphs, themes)

    def get_css_variables(self) -> dict[str, str]:
        return super().get_css_variables() if self._has_theme else {}

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()
        if driver.__module__ != "textual.drivers.linux_driver":
            return driver
        return TerminalDriver

    def get_default_screen(self) -> Screen[Any]:
        if self._make_first is not None:
            return self._make_first()
        return self._make_inspector(self._target) if self._target is not None else self._make_home()

    def on_load(self) -> None:
        loop = asyncio.get_running_loop()
        # Each screen on the stack keeps its threads while it is open. Python's default (six on two processors)
        # is used up by a chat over a session over Home: the chat would wait for ever.
        loop.set_default_executor(ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="ctxtui"))
        for sign in _END_SIGNALS:
            # Only the main thread of a Unix process receives signals.
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(sign, self._end_by_signal, sign)

    def _end_by_signal(self, sign: signal.Signals) -> None:
        self.farewell = self.farewell or f"ended by {sign.name}"
        self.exit(return_code=128 + sign)

    def on_terminal_gone(self, message: TerminalGone) -> None:
        # Another program may have received that signal.
        self._end_by_signal(signal.SIGHUP)

    async def on_event(self, event: events.Event) -> None:
        """Pause the screen's background work while a key or the mouse is handled."""
        if not isinstance(event, events.InputEvent):
            await super().on_event(event)
            return
        # Textual forwards a key to the focused widget, and from there back to the app, which runs its binding.
        screen, back = self.screen, event.is_forwarded
        paused = screen if isinstance(screen, Commanded) and screen.has_background_work else None
        is_handled = False
        if paused is not None and not back:
            paused.pause_background()
            is_handled = isinstance(event, events.Key) and await self._run_binding(event.key)
        if not is_handled:
            await super().on_event(event)
        if paused is not None and (back or is_handled):
            paused.resume_background()

    async def _run_binding(self, key: str) -> bool:
        """Run the binding of `key` at once; return whether its action ran.

        Textual sends a key to the focused widget by a message, so a key typed ahead would go to the previous focus.
        """
        screen = self.screen
        path = (screen.focused or screen).ancestors_with_self
        if not self.app_focus or screen.maximized is not None or any(handles_keys(type(node)) for node in path[:-1]):
            return False
        self._hover.hide()
        bound = screen.active_bindings.get(key)
        return bound is not None and await self.run_action(bound.binding.action, bound.node)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        super()._display(
            screen, self._cells.limit_to_changes(renderable) if isinstance(renderable, CompositorUpdate) else renderable
        )

    def action_redraw(self) -> None:
        self._cells.forget()
        self.screen.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        # A terminal that changes size rewraps or clears its lines.
        self._cells.forget()

    def on_ready(self) -> None:
        # A shell wrote over the screen while suspended; Textual only draws what changed.
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
        self.set_timer(_SECONDS_TO_FREEZE, _freeze_garbage)
        self.set_timer(_SECONDS_TO_BACKGROUND, self._begin_background)

    def _begin_background(self) -> None:
        # The timer may still fire while the app ends; the worker would then never be closed.
        if self._make_background is not None and not self._is_unmounted:
            self._background = self._make_background()
            self.run_worker(self._background.run, thread=True, group="background")

    def on_unmount(self) -> None:
        self._is_unmounted = True
        if self._background is not None:
            self._background.close()
        loop = asyncio.get_running_loop()
        for sign in _END_SIGNALS:
            with suppress(NotImplementedError, ValueError, RuntimeError):
                loop.remove_signal_handler(sign)

    @property
    def session(self) -> str:
        """Name of the open session, for a crash message; "" if none is open."""
        names = [name for screen in self.screen_stack if (name := getattr(screen, "session_name", ""))]
        return names[-1] if names else ""

    def on_open(self, message: Open) -> None:
        if not self._is_still_wanted(message):
            return
        screen = self._make_inspector(message.target)
        if isinstance(screen, Commanded):
            screen.aim, screen.note = message.aim, message.note
        self.push_screen(screen)

    def _is_still_wanted(self, request: OpenRequest) -> bool:
        """True if only dialogs are over the screen that sent `request`, or if that screen is closed."""
        stack = self.screen_stack
        above = stack[stack.index(request.sender_screen) + 1 :] if request.sender_screen in stack else ()
        return all(isinstance(each, Dialog) for each in above)

    def on_opened(self, message: Opened) -> None:
        """Show tips over the user's first session, if it is still in view."""
        if message.screen is self.screen and self._first_look is not None and self._first_look():
            self.action_tips()

    def action_tips(self) -> None:
        from ctxtui.tui.dialogs.tips import TipsScreen

        self.push_screen(TipsScreen(self.screen))

    def on_talk_from(self, message: TalkFrom) -> None:
        if self._make_chat is not None and self._is_still_wanted(message):
            screen = self._make_chat(message.target, message.thread, message.number)
            if message.edits and isinstance(screen, Commanded):
                screen.apply_when_ready(message.edits)
            self.push_screen(screen)

    async def action_quit(self) -> None:
        for index, screen in reversed(list(enumerate(self.screen_stack))):
            if isinstance(screen, Commanded) and not screen.may_quit(self.exit):
                # Close what covers the question.
                while len(self.screen_stack) > index + 1:
                    self.pop_screen()
                return
        self.exit()

    async def action_back(self) -> None:
        if len(self.screen_stack) == 1:
            await self.action_quit()
        else:
            self._leave(self.pop_screen)

    def _leave(self, close: Callable[[], object]) -> None:
        screen = self.screen

        def leave() -> None:
            # The screen may be closed or covered when the question is answered.
            if screen in self.screen_stack:
                while self.screen is not screen:
                    self.pop_screen()
                close()

        if not isinstance(screen, Commanded) or screen.may_close(leave):
            leave()

    def on_refused(self, message: Refused) -> None:
        """Handle a session that cannot be opened.

        A chat that another process hosts is shown as its recording. For another error, the app ends if the user named
        the session on the command line.
        """
        if isinstance(message.error, InUse):
            self._replace(self._make_inspector(message.error.session))
        elif len(self.screen_stack) == 1 and self._target is not None:
            self.refused = message.error
            self.exit(return_code=1)

    def on_go_home(self, message: GoHome) -> None:
        self._leave(self._to_home)

    def _to_home(self) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if not self._has_home:
            self._has_home = True
            self._replace(self._make_home())

    def _replace(self, screen: Screen[Any]) -> None:
        if len(self.screen_stack) == 1:
            # Textual's switch pops the result callback of a pushed screen; the first screen was not pushed.
            self.screen._push_result_callback(self.screen, None)
        self.switch_screen(screen)

    def action_palette(self) -> None:
        from ctxtui.tui.dialogs.command_palette import PaletteScreen

        screen = self.screen
        now = getattr(screen, "commands_now", None)
        if now is None:
            return

        async def run(command: type[Command] | None) -> None:
            if command is not None:
                await screen.run_action(command.binding())

        available = [each for each in now() if each is not OpenPalette]
        if isinstance(screen, Commanded) and screen.target() is not None:
            available += self.OWN_COMMANDS
        self.push_screen(PaletteScreen(available), run)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Give the terminal to another program; ctrl+c there does not interrupt this one."""
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            with super().suspend():
                yield
        finally:
            signal.signal(signal.SIGINT, before or signal.SIG_DFL)

    def action_own_command(self, name: str) -> None:
        screen, command = self.screen, self._own[name]
        if not isinstance(screen, Commanded):
            return
        target = screen.target()
        if target is None:
            screen.show_message([Span(f"{name} runs on Home and in a session: press esc first.", "dim")])
        elif command.output == "message":
            screen.show_message([Span(f"{name} …", "dim")])
            self.run_worker(lambda: self._run_own(screen, command, target), thread=True, group="own commands")
        else:
            with self.suspend():
                self._run_own(screen, command, target)
            self.refresh()

    def _run_own(self, screen: Commanded, command: OwnCommand, target: Target) -> None:
        # Imported here: few users have commands of their own.
        from ctxtui.services.external_editor import show_in_pager
        from ctxtui.services.own_command import run_command

        try:
            code, output = run_command(command, target)
            if command.output == "pager" and output:
                show_in_pager(safe_text.lines(output), self._pager)
        except CtxtuiError as error:
            message = failed(str(error))
        else:
            first = next(iter(output.strip().splitlines()), "") if command.output == "message" or code else ""
            end = f"{command.name} ended with exit code {code}" if code else command.name
            text = safe_text.one_line(": ".join(filter(None, (end, first))))
            message = failed(text) if code else [Span("✓ ", "ok"), Span(text, "dim")]
        if command.output == "message":
            self.call_from_thread(screen.show_message, message)
        else:
            screen.show_message(message)

    async def on_key_line_pressed(self, message: KeyLine.Pressed) -> None:
        await self.screen.run_action(message.action)

    def action_help(self) -> None:
        self._help("")

    def _help(self, query: str) -> None:
        from ctxtui.tui.dialogs.help import Help, HelpScreen

        screen = self.screen
        if isinstance(screen, HelpScreen):
            return
        now = getattr(screen, "commands_now", None)
        page = Help(
            tuple(dict.fromkeys([*getattr(screen, "commands", ()), *EVERYWHERE, *self.OWN_COMMANDS])),
            frozenset([*now(), *self.OWN_COMMANDS]) if now is not None else frozenset(),
            getattr(screen, "current_groups", ()),
            self._other_commands,
        )
        self.push_screen(HelpScreen(page, query))

    def action_explain(self) -> None:
        from ctxtui.tui.dialogs.explain import ExplainScreen

        def show_help(word: str | None) -> None:
            if word:
                self._help(word)

        self.push_screen(ExplainScreen(self.screen), show_help)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._hover.on_move(event)

    def action_switch_theme(self) -> None:
        self.theme = "ctxtui-light" if self.theme != "ctxtui-light" else "ctxtui-dark"

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print locals, including content of a recording; the caller writes a log instead.
        if self.crash is None:
            # For a failed worker, log the traceback of its own error.
            self.crash, self.crashed_session = error.error if isinstance(error, WorkerFailed) else error, self.session
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()
