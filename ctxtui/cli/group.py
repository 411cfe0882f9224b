"""The root of the command tree: commands are imported when they run.

A first word that is no command names a recording to open.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from ctxtui import __version__
from ctxtui.cli.commands import EDITS, ENTRIES, OLD_NAMES, PURPOSE, WHY, CommandEntry, help_text
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.manage.start_screen import open_screen
from ctxtui.cli.output import note
from ctxtui.core.deprecation import describe_rename


class LazyGroup(click.Group):
    """A group of commands from table entries, each imported when it runs."""

    def __init__(self, *args: Any, entries: dict[str, CommandEntry], **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        return None if entry is None else import_command(entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.line) for entry in self.entries.values()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        entries = [entry for entry in self.entries.values() if entry.name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(entry.name, help=entry.line) for entry in entries), *options]


def import_command(entry: CommandEntry) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    command: click.Command = getattr(import_module(f"ctxtui.cli.{module}"), attribute)
    return command


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class ClosedPipe(Exception):
    """The output was closed. Click would handle a `BrokenPipeError` itself and exit with 1."""


class MainGroup(LazyGroup):
    """The root group; ``ctxtui PATH`` is ``ctxtui open PATH``."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """A word that is no command or option is the name of a file to open."""
        return super().shell_complete(ctx, incomplete) or [CompletionItem(incomplete, type="file")]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click, but a first word that is no command is opened.

        It also resolves old names, ``cost --why`` and the subcommands of ``edits``.
        """
        if args and args[0] in OLD_NAMES:
            words = OLD_NAMES[args[0]]
            note(describe_rename(f"ctxtui {args[0]}", f"ctxtui {' '.join(words)}"))
            args = [*words, *args[1:]]
        if args[:1] == ["cost"] and "--why" in args:
            return "cost --why", import_command(WHY), [word for word in args[1:] if word != "--why"]
        if args[:1] == ["edits"] and args[1:2] and args[1] in EDITS:
            return " ".join(args[:2]), import_command(EDITS[args[1]]), args[2:]
        if args and args[0] not in ENTRIES:
            if len(args) > 1 and not any(word.startswith("-") for word in args[1:]) and not os.path.lexists(args[0]):
                matches = get_close_matches(args[0], ENTRIES, 1)
                raise click.UsageError(
                    f"no such command: {args[0]}{f'; did you mean {matches[0]}?' if matches else ''}"
                )
            return "open", self.get_command(ctx, "open"), args
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipe from error

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
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
    """Run the command line `arguments`; return the exit code.

    Raises `WrongUse`, `KeyboardInterrupt`, `BrokenPipeError`, and errors of the command.
    """
    try:
        result = main_group.main(args=list(arguments), prog_name="ctxtui", standalone_mode=False)
    except ClosedPipe as error:
        raise BrokenPipeError from error
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        # Click names no command where an option lacks its argument.
        words = [word for word in arguments[:1] if word in ENTRIES]
        error_context = getattr(error, "ctx", None)
        command = " ".join(["ctxtui", *words]) if error_context is None else error_context.command_path
        message = error.format_message().rstrip(".").replace("\n\t", " ").replace("\n", " ")
        raise WrongUse(message, way_out=f"see `{command} --help`") from error
    return result if isinstance(result, int) else 0
