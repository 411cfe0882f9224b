"""Write docs/man/ctxtui.1 from the commands: `make man`. Read it with ``man -l docs/man/ctxtui.1``."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from ctxtui.cli import exit_codes
from ctxtui.cli.commands import MAIN_COMMANDS, OTHER_COMMANDS, PURPOSE
from ctxtui.cli.group import import_command, main_group

PAGE = Path(__file__).resolve().parent.parent / "docs" / "man" / "ctxtui.1"


def escape(text: str) -> str:
    """`text` for roff: backslashes and hyphens as they are, and no line that reads as a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in text.split("\n"))


def paragraphs(text: str) -> Iterator[str]:
    """A help text in roff; paragraphs marked with ``\\b`` keep their lines."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept, _, rest = paragraph.rpartition("\b\n")
        yield ".PP"
        yield f".nf\n{escape(rest)}\n.fi" if kept or paragraph.startswith("\b") else escape(" ".join(rest.split()))


def describe(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """The section of a command, then those of its subcommands."""
    context = click.Context(command, info_name=name, parent=parent)
    yield f".SS {escape(' '.join([context.command_path, *command.collect_usage_pieces(context)]))}"
    yield from paragraphs(command.help or "")
    yield from options(command.params, context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            if subcommand is not None and not subcommand.hidden:
                yield from describe(subcommand, child, context)


def options(params: Iterable[click.Parameter], context: click.Context) -> Iterator[str]:
    """The options that have a help text."""
    for names, text in filter(None, (param.get_help_record(context) for param in params)):
        if text:
            yield f".TP\n.B {escape(names)}\n{escape(' '.join(text.split()))}"


def page() -> Iterator[str]:
    """The lines of the page."""
    root = click.Context(main_group, info_name="ctxtui", **main_group.context_settings)
    yield '.\\" Made by scripts/man.py.\n.TH CTXTUI 1'
    name, _, about = PURPOSE.rstrip(".").partition(": ")
    yield f".SH NAME\nctxtui \\- {escape(about)}"
    yield ".SH SYNOPSIS\n.B ctxtui\n[OPTIONS] [PATH | ID | \\-]\n.br\n.B ctxtui\n[OPTIONS] COMMAND [ARGS]..."
    yield f".SH DESCRIPTION\n{escape(name)}. Without arguments, ctxtui lists your recorded sessions; with one, it opens"
    yield "its calls, block by block, with tokens, cache state and money. Recordings are only read."
    yield ".SH OPTIONS"
    yield from options(main_group.get_params(root), root)
    for title, entries in {**MAIN_COMMANDS, **OTHER_COMMANDS}.items():
        yield f".SH {escape(title.upper())}"
        for entry in entries:
            yield from describe(import_command(entry), entry.name, root)
    yield f".SH EXIT STATUS\n.nf\n{escape(exit_codes.table())}\n.fi"


def text() -> str:
    """The page."""
    return "\n".join(page()) + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text(), encoding="utf-8")
