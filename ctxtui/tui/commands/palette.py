"""The command palette: every command of the screen on top, found by a part of its name."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from ctxtui.tui.commands.command import Command


class Commanded(Protocol):
    """A screen that lists what can be done on it now."""

    def commands_now(self) -> list[type[Command]]:
        """The commands that are available, in the order of their use."""

    async def run_action(self, action: str) -> Any:
        """Textual's own."""


class Commands(Provider):
    """Feeds Textual's palette from the command classes of the active screen."""

    @property
    def _screen(self) -> Commanded | None:
        found = self.screen
        return cast(Commanded, found) if hasattr(found, "commands_now") else None

    async def discover(self) -> Hits:
        """All commands, before anything is typed."""
        screen = self._screen
        if screen is None:
            return
        for command in screen.commands_now():
            run = partial(screen.run_action, command.action)
            yield DiscoveryHit(self._title(command), run, text=command.name, help=command.help())

    async def search(self, query: str) -> Hits:
        """Commands whose name or help matches `query`."""
        screen, matcher = self._screen, self.matcher(query)
        if screen is None:
            return
        for command in screen.commands_now():
            score = matcher.match(command.name)
            if score > 0:
                run = partial(screen.run_action, command.action)
                yield Hit(score, matcher.highlight(command.name), run, text=command.name, help=command.help())

    @staticmethod
    def _title(command: type[Command]) -> str:
        key = command.key_shown()
        return f"{command.name}  ({key})" if key else command.name
