"""Starting the app: what its screens need from below, and the message when it breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.screen import Screen

from ctxtui.runtime.config import Config
from ctxtui.tui.app import CtxtuiApp


def make_app(name: str | None, config: Config) -> CtxtuiApp:
    """The app on what `name` stands for, or on the list of sessions."""
    settings, cwd = config.settings, Path.cwd()

    def home() -> Screen[Any]:
        from ctxtui.tui.screens.home_screen import home_screen

        return home_screen(settings, cwd)

    def inspector(target: str) -> Screen[Any]:
        from ctxtui.runtime.inspection import Inspection
        from ctxtui.tui.screens.inspector import InspectorScreen

        return InspectorScreen(Inspection(target, settings), pager=settings.pager, follow=settings.follow)

    return CtxtuiApp(home, inspector, name, theme=settings.theme, glyphs=settings.glyphs)


def start(name: str | None, config: Config) -> None:
    """Run the app until it is left. A crash comes out as the exception that it was, with the session's name noted."""
    app = make_app(name, config)
    app.run()
    if app.crash is not None:
        app.crash.add_note(f"session: {app.session or name or 'none'}")
        raise app.crash
