"""The top of the command tree: commands are imported when they run, and anything else is something to open."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from ctxtui import __version__
from ctxtui.cli.commands import EDITS, ENTRIES, OLDER, PURPOSE, WHY, CommandEntry, help_text
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.manage.start_screen import open_screen
from ctxtui.cli.output import note


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
    command: click.Command = getattr(import_module(f"ctxtui.cli.{module}"), attribute)
    return command


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class ClosedPipe(Exception):
    """The reader of the output went away. Click would take a `BrokenPipeError` for itself and exit 1."""


class MainGroup(LazyGroup):
    """``ctxtui PATH`` is ``ctxtui open PATH``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, but a first word that is no command is something to open."""
        if args and args[0] in OLDER:
            words = OLDER[args[0]]
            note(f"`ctxtui {args[0]}` is `ctxtui {' '.join(words)}` now")
            args = [*words, *args[1:]]
        if args[:1] == ["cost"] and "--why" in args:
            return "cost --why", imported(WHY), [word for word in args[1:] if word != "--why"]
        if args[:1] == ["edits"] and args[1:2] and args[1] in EDITS:
            return " ".join(args[:2]), imported(EDITS[args[1]]), args[2:]
        if args and args[0] not in ENTRIES:
            if len(args) > 1 and not any(word.startswith("-") for word in args[1:]) and not os.path.lexists(args[0]):
                near = get_close_matches(args[0], ENTRIES, 1)
                raise click.UsageError(f"no such command: {args[0]}{f'; did you mean {near[0]}?' if near else ''}")
            return "open", self.get_command(ctx, "open"), args
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it, with a closed pipe by another name."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipe from error

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The text of the table, which needs no command imported."""
        formatter.write(help_text())


@click.group(cls=MainGroup, entries=ENTRIES, context_settings=CONTEXT, invoke_without_command=True, help=PURPOSE)
@click.version_option(__version__, "-V", "--version", message="ctxtui %(version)s")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Override a setting.")
@click.pass_context
def main_group(context: click.Context, settings: tuple[str, ...]) -> Any:
    """See what a language model read."""
    context.obj = settings
    if context.invoked_subcommand is None:
        return open_screen(None, settings)
    return None


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` name; returns its exit code.

    Raises `WrongUse` for what click refuses, `KeyboardInterrupt`, `BrokenPipeError`, and what the command raises.
    """
    try:
        result = main_group.main(args=list(arguments), prog_name="ctxtui", standalone_mode=False)
    except ClosedPipe as error:
        raise BrokenPipeError from error
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        way_out = f"see `{where.command_path if where is not None else 'ctxtui'} --help`"
        raise WrongUse(error.format_message().rstrip(".").replace("\n", " "), way_out=way_out) from error
    return result if isinstance(result, int) else 0
