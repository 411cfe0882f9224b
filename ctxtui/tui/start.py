"""Making the app: what its screens need from below. The one place where screens and runtime meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.screen import Screen

from ctxtui.runtime.settings import Settings
from ctxtui.tui.app import Background, CtxtuiApp


def make_app(name: str | None, settings: Settings) -> CtxtuiApp:
    """The app on what `name` stands for, or on the list of sessions."""
    cwd = Path.cwd()

    def home() -> Screen[Any]:
        from ctxtui.tui.screens.home_screen import home_screen

        return home_screen(settings, cwd)

    def inspector(target: str) -> Screen[Any]:
        from ctxtui.runtime.inspection import Inspection
        from ctxtui.tui.screens.inspector import InspectorScreen

        return InspectorScreen(Inspection(target, settings), pager=settings.pager, follow=settings.follow)

    def filler() -> Background:
        from ctxtui.runtime.fulltext_apart import Filler

        return Filler(settings, cwd)

    return CtxtuiApp(home, inspector, name, theme=settings.theme, glyphs=settings.glyphs, background=filler)
