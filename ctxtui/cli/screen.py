"""Starting the screen: the app, its screens, and what they need from below."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxtui.cli.crash import ScreenCrash
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.runtime.settings import Settings

if TYPE_CHECKING:
    from textual.screen import Screen


def open_screen(name: str | None, flags: Sequence[str] = ()) -> int:
    """As `start`, with the configuration read now; `flags` are ``KEY=VALUE`` texts. Raises `WrongUse`, `BadConfig`."""
    from ctxtui.runtime.config import load

    settings = load(flags).settings
    need_terminal(name)
    return start(name, settings)


def need_terminal(name: str | None) -> None:
    """Raise `WrongUse` where there is no screen; it says what does without."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        what = "ctxtui sessions" if name is None else f"ctxtui show {name}"
        raise WrongUse("the screen needs a terminal", way_out=f"in a pipe or script use `{what}`")


def start(name: str | None, settings: Settings) -> int:
    """Run the screen on what `name` stands for, or on the list of sessions; returns the exit code when it is left.

    Raises `WrongUse` where there is no keyboard, `ScreenCrash` where the screen broke.
    """
    if not sys.stdin.isatty():
        _keyboard()
    from ctxtui.tui.app import CtxtuiApp

    look = {"theme": settings.theme, "glyphs": settings.glyphs}
    app = CtxtuiApp(lambda: _home(settings), lambda target: _inspector(target, settings), name, **look)
    app.run()
    if app.crash is not None:
        raise ScreenCrash(app.crash, app.crashed_in)
    return app.return_code or 0


def _home(settings: Settings) -> Screen[Any]:
    from ctxtui.tui.screens.home_screen import home_screen

    return home_screen(settings, Path.cwd())


def _inspector(target: str, settings: Settings) -> Screen[Any]:
    from ctxtui.runtime.inspection import Inspection
    from ctxtui.tui.screens.inspector import InspectorScreen

    return InspectorScreen(Inspection(target, settings), pager=settings.pager, follow=settings.follow)


def _keyboard() -> None:
    """Keys come from the terminal although standard input is a pipe; that stays readable as `sys.stdin`."""
    try:
        keys = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise WrongUse("the screen needs a keyboard", way_out="without one use `ctxtui show`") from error
    pipe = os.dup(0)
    os.dup2(keys, 0)
    os.close(keys)
    sys.stdin = os.fdopen(pipe, encoding="utf-8", errors="replace")
