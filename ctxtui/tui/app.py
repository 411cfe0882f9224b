"""The app: screens on a stack, the look, and what happens when something breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.app import App
from textual.screen import Screen

from ctxtui.tui.messages import GoHome, Open

MakeScreen = Callable[[], Screen[Any]]


class CtxtuiApp(App[None]):
    """The shell around Home and the Inspector.

    `home` makes the list of sessions, `inspector` the screen for one session (given its path or stored id). With
    `target` the app opens on that session, else on Home.
    """

    TITLE = "ctxtui"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = True
    COMMANDS = set()  # filled when the palette is first opened: it is not needed for the first frame

    def __init__(self, home: MakeScreen, inspector: Callable[[str], Screen[Any]], target: str | None = None) -> None:
        super().__init__()
        self._make_home = home
        self._make_inspector = inspector
        self._target = target

    def get_default_screen(self) -> Screen[Any]:
        """The bottom of the stack: the session asked for, or Home."""
        return self._make_inspector(self._target) if self._target is not None else self._make_home()

    def on_open(self, message: Open) -> None:
        """Open a session over Home."""
        self.push_screen(self._make_inspector(message.target))

    def on_go_home(self, message: GoHome) -> None:
        """Back to the list; it is made anew where the app began with a session."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.switch_screen(self._make_home())
