"""Groups of commands that are imported when they run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from ctxtui.cli.commands import CommandEntry


class LazyGroup(click.Group):
    """Commands by the entries of a table, each imported when it runs."""

    def __init__(self, *args: Any, entries: dict[str, CommandEntry], **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of help."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None for a name that is none."""
        entry = self.entries.get(cmd_name)
        return None if entry is None else imported(entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The lines of the table, which need no command imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.line) for entry in self.entries.values()])


def imported(entry: CommandEntry) -> click.Command:
    """The command of an entry."""
    module, _, attribute = entry.target.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    return command
