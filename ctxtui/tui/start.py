"""Making the app: what its screens need from below. The one place where screens and services meet."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from ctxtui.services.config.settings import Settings
from ctxtui.tui.app import Background, CtxtuiApp

if TYPE_CHECKING:
    from ctxtui.services.chat.chat_model import ModelChoice
    from ctxtui.services.config.config import Config


def make_app(name: str | None, settings: Settings) -> CtxtuiApp:
    """The app on what `name` stands for, or on the list of sessions."""
    return _app(name, settings, Path.cwd(), None)


def make_chat(wish: ModelChoice, config: Config, cwd: Path, clock: Callable[[], float] = time.time) -> CtxtuiApp:
    """The app on a chat as `wish` says; `clock` gives its time in Unix seconds."""
    return _app(None, config.settings, cwd, lambda: _chat(wish, config, cwd, clock))


def _chat(wish: ModelChoice, config: Config, cwd: Path, clock: Callable[[], float]) -> Screen[Any]:
    from ctxtui.services.chat.chat_source import ChatSource
    from ctxtui.services.chat.host import Host
    from ctxtui.tui.chat.screen import ChatScreen

    return ChatScreen(ChatSource(Host(wish, config, cwd, clock)), pager=config.settings.pager)


def _app(name: str | None, settings: Settings, cwd: Path, first: Callable[[], Screen[Any]] | None) -> CtxtuiApp:

    def home() -> Screen[Any]:
        from ctxtui.tui.home.screen import home_screen

        return home_screen(settings, cwd)

    def inspector(target: str) -> Screen[Any]:
        from ctxtui.services.session_source import SessionSource
        from ctxtui.tui.inspector.screen import InspectorScreen

        return InspectorScreen(SessionSource(target, settings), pager=settings.pager, follow=settings.follow)

    def filler() -> Background:
        from ctxtui.services.workers.index_worker import Filler

        return Filler(settings, cwd)

    def chat(target: str, thread: str, number: int) -> Screen[Any]:
        from ctxtui.services.chat.chat_model import ModelChoice
        from ctxtui.services.config.config import Config

        return _chat(ModelChoice(name=target, thread=thread, call=number), Config(settings, {}), cwd, time.time)

    return CtxtuiApp(
        home, inspector, name, theme=settings.theme, glyphs=settings.glyphs, background=filler, chat=chat, first=first
    )
