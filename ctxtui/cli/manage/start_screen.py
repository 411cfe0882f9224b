"""Starts the screen: the app, and the process state it needs."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ctxtui.cli.context import resolve_name
from ctxtui.cli.exit_codes import REFUSED, ScreenCrash, WrongUse
from ctxtui.cli.output import note
from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Config, export_flags, load
from ctxtui.services.config.settings import Settings

if TYPE_CHECKING:
    from ctxtui.tui.app import CtxtuiApp


def open_screen(name: str | None, flags: Sequence[str] = ()) -> int:
    """Open the screen on the recording `name`, or on Home; return the exit code.

    `flags` are the ``KEY=VALUE`` of ``--set``. Raises `WrongUse`, `BadConfig`.
    """
    config = load(flags)
    export_flags(config)
    need_terminal(name, config.settings)
    with setting_places(config):
        return start(name, config)


@contextmanager
def setting_places(config: Config) -> Iterator[None]:
    """Name file and line in a `BadConfig` about a setting: the screen does not know its origin."""
    try:
        yield
    except BadConfig as error:
        origin = config.origins.get(error.place)
        if origin is not None:
            error.place = f"{error.place} in {origin.place}"
        raise


def need_terminal(name: str | None, settings: Settings) -> None:
    """Raise `WrongUse` if there is no terminal; a missing recording is reported first."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        if name is not None:
            resolve_name(name, settings, with_note=False)
        what = "ctxtui sessions" if name is None else f"ctxtui show {name}"
        raise WrongUse("the screen needs a terminal", way_out=f"in a pipe or script use `{what}`")


def start(name: str | None, config: Config) -> int:
    """Run the screen on the recording `name`, or on the list of sessions; return the exit code.

    Raises `WrongUse` without a keyboard, `ScreenCrash`, and errors of opening `name`.
    """

    def make() -> CtxtuiApp:
        from ctxtui.tui.start import make_app

        return make_app(name, config, tips=True)

    return run_app(make)


THREAD_SWITCH_SECONDS = 0.0005
"""Seconds that a thread may delay the screen's; a key press takes several turns."""


def run_app(make: Callable[[], CtxtuiApp]) -> int:
    """Run the app that `make` returns; return the exit code."""
    if not sys.stdin.isatty():
        _attach_keyboard()
    prepare()
    app = make()
    app.run()
    # Skip a last garbage collection: the process ends.
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
    # Startup creates no garbage; the app enables collection again after its first frame.
    gc.disable()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)


def _attach_keyboard() -> None:
    """Read keys from the terminal; the pipe at standard input stays readable as `sys.stdin`."""
    try:
        keys = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise WrongUse("the screen needs a keyboard", way_out="without one use `ctxtui show`") from error
    pipe = os.dup(0)
    os.dup2(keys, 0)
    os.close(keys)
    sys.stdin = os.fdopen(pipe, encoding="utf-8", errors="replace")
