"""Build the app: its first screen, and functions that make the others when they are opened."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from ctxtui.services.config.config import Config
from ctxtui.services.config.own_commands import parse_command
from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.commands import EVERYWHERE, Command, bindings

if TYPE_CHECKING:
    from ctxtui.services.chat.chat_model import ModelChoice
    from ctxtui.services.chat.host import Host
    from ctxtui.services.workers.index_worker import BackgroundIndexer


def make_app(name: str | None, config: Config, *, tips: bool = False) -> CtxtuiApp:
    """Make the app on the session `name`, or on Home.

    `tips`: show tips at the first session ever opened.
    """
    return _app(name, config, Path.cwd(), None, tips=tips)


def make_chat(
    model_choice: ModelChoice,
    config: Config,
    cwd: Path,
    clock: Callable[[], float] = time.time,
    *,
    tools: tuple[Path, ...] = (),
) -> CtxtuiApp:
    """Make the app on a chat with this model choice and the user's own tool files `tools`."""

    def chat() -> Screen[Any]:
        from ctxtui.services.chat.host import Host

        host = Host(model_choice, config, cwd, clock)
        host.own.files = tools
        return _chat(host, config)

    return _app(None, config, cwd, chat)


def _chat(host: Host, config: Config) -> Screen[Any]:
    from ctxtui.services.chat.chat_source import ChatSource
    from ctxtui.tui.chat.screen import ChatScreen

    return ChatScreen(ChatSource(host), pager=config.settings.pager)


def _app(
    name: str | None,
    config: Config,
    cwd: Path,
    first: Callable[[], Screen[Any]] | None,
    *,
    tips: bool = False,
) -> CtxtuiApp:
    settings = config.settings

    def home() -> Screen[Any]:
        from ctxtui.tui.home.screen import home_screen

        return home_screen(settings, cwd)

    def inspector(target: str) -> Screen[Any]:
        from ctxtui.services.session_source import SessionSource
        from ctxtui.tui.inspector.screen import InspectorScreen

        return InspectorScreen(SessionSource(target, settings), pager=settings.pager, follow=settings.follow)

    def indexer() -> BackgroundIndexer:
        from ctxtui.services.workers.index_worker import BackgroundIndexer

        return BackgroundIndexer(settings, cwd)

    def chat(target: str, thread: str, number: int) -> Screen[Any]:
        from ctxtui.services.chat.chat_model import ModelChoice
        from ctxtui.services.chat.host import Host

        return _chat(Host(ModelChoice(session=target, thread=thread, call=number), config, cwd), config)

    def is_first_session() -> bool:
        from ctxtui.services.library.session_actions import mark_first_session

        return mark_first_session(settings)

    own_commands = [parse_command(name, table) for name, table in settings.commands.items()]
    app: type[CtxtuiApp] = CtxtuiApp
    keymap: dict[str, str] = {}
    if settings.keys or settings.commands:
        # Imported here, with the commands of all screens: few users have keys or commands of their own.
        from ctxtui.tui.chat.commands import CHAT_COMMANDS
        from ctxtui.tui.commands.own import assign_keys, make_commands

        all_commands = {**screen_commands(), "a chat": CHAT_COMMANDS}
        screens = {name: (*commands, *EVERYWHERE) for name, commands in all_commands.items()}
        keymap = assign_keys(settings.keys, screens)
        own = tuple(make_commands(own_commands, screens))

        class OwnApp(CtxtuiApp):
            """The app with the user's own commands and their keys."""

            OWN_COMMANDS = own
            BINDINGS = bindings(own)

        app = OwnApp
    application = app(
        home,
        inspector,
        name,
        theme=settings.theme,
        glyphs=settings.glyphs,
        background=indexer,
        chat=chat,
        first=first,
        first_look=is_first_session if tips else None,
        other_commands=screen_commands,
        own=own_commands,
        themes=settings.themes,
        pager=settings.pager,
    )
    application.set_keymap(keymap)
    return application


def screen_commands() -> dict[str, tuple[type[Command], ...]]:
    """Return commands by screen: Home, inspector, every list, and a chat's own."""
    from pkgutil import walk_packages

    from ctxtui.tui import lists
    from ctxtui.tui.chat.commands import CHAT_ONLY
    from ctxtui.tui.home.screen import HOME
    from ctxtui.tui.inspector.screen import RECORDED
    from ctxtui.tui.lists.list_screen import PageScreen

    for module in walk_packages(lists.__path__, f"{lists.__name__}."):
        import_module(module.name)
    commands_by_screen = {"Home": HOME, "the inspector": RECORDED, "a chat": CHAT_ONLY}
    pages: list[Any] = [PageScreen]
    while pages:
        page = pages.pop()
        pages += page.__subclasses__()
        is_screen = page.__name__.endswith("Screen")  # other classes are bases of screens
        if is_screen and page.commands and page.__module__.startswith(lists.__name__):
            name = getattr(page, "heading", "") or page.__name__.removesuffix("Screen").lower()
            commands_by_screen.setdefault(name, page.commands)
    return commands_by_screen
