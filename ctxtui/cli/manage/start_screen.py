"""Starting the screen: the app, its screens, and what they need from below."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ctxtui.cli.context import named
from ctxtui.cli.exit_codes import REFUSED, ScreenCrash, WrongUse
from ctxtui.cli.output import note
from ctxtui.services.config.config import export_flags, load
from ctxtui.services.config.settings import Settings

if TYPE_CHECKING:
    from ctxtui.tui.app import CtxtuiApp


def open_screen(name: str | None, flags: Sequence[str] = ()) -> int:
    """As `start`, with the configuration read now; `flags` are ``KEY=VALUE`` texts. Raises `WrongUse`, `BadConfig`."""
    config = load(flags)
    export_flags(config)
    need_terminal(name, config.settings)
    return start(name, config.settings)


def need_terminal(name: str | None, settings: Settings) -> None:
    """Raise `WrongUse` where there is no screen; it says what does without. What does not exist is said first."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        if name is not None:
            named(name, settings, say=False)
        what = "ctxtui sessions" if name is None else f"ctxtui show {name}"
        raise WrongUse("the screen needs a terminal", way_out=f"in a pipe or script use `{what}`")


def start(name: str | None, settings: Settings) -> int:
    """Run the screen on what `name` stands for, or on the list of sessions; returns the exit code when it is left.

    Raises `WrongUse` where there is no keyboard, `ScreenCrash` where the screen broke, and what opening raises where
    `name` cannot be opened.
    """

    def make() -> CtxtuiApp:
        from ctxtui.tui.start import make_app

        return make_app(name, settings, tips=True)

    return run_app(make)


_TURN = 0.0005
"""Seconds for which a thread that reads or counts may keep the screen's thread waiting, whose own turns are short. By
Python's default it would be ten times as long, and a key takes several turns."""


def run_app(make: Callable[[], CtxtuiApp]) -> int:
    """Run the app that `make` makes; as `start`."""
    if not sys.stdin.isatty():
        _keyboard()
    prepare()
    app = make()
    app.run()
    # What there is ends with the process: it is not looked through once more for garbage.
    gc.disable()
    gc.freeze()
    if app.farewell:
        note(app.farewell)
    if app.crash is not None:
        raise ScreenCrash(app.crash, app.crashed_session)
    if app.refused is not None:
        raise app.refused
    return app.return_code or (REFUSED.number if app.unrecorded else 0)


def prepare() -> None:
    """Make the process one that runs the app."""
    # Nothing of what starting makes is garbage; the app turns collection on again behind its first frame.
    gc.disable()
    sys.setswitchinterval(_TURN)


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
