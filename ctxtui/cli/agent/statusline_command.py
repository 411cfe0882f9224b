"""The command `ctxtui statusline` with its actions; without an action it runs without click, see `ctxtui.cli.run`."""

from __future__ import annotations

import click

from ctxtui.cli.agent import statusline as line
from ctxtui.cli.context import JSON_OPTION, config_of


@click.command("statusline")
@click.argument("action", type=click.Choice(["install", "remove"]), default=None, required=False)
@click.option("--replace", is_flag=True, help="With install: replace another status line, which `remove` restores.")
@JSON_OPTION
@click.pass_context
def statusline(context: click.Context, /, action: str | None, replace: bool, as_json: bool) -> int:
    """Print a status line for Claude Code: context, price of the next call, cache lifetime, one warning.

    `install` adds it to Claude Code's settings.json: one member is written, every other byte stays, and a copy of the
    file is made. `remove` removes it and restores the previous status line, as does `ctxtui proxy off`. Without an
    action it reads Claude Code's JSON from standard input and prints the line.

    \b
    Example: ctxtui statusline install
    Example: ctxtui statusline remove
    """
    settings = config_of(context).settings
    if action == "install":
        return line.install(settings, replace=replace, as_json=as_json)
    if action == "remove":
        return line.remove(settings, as_json=as_json)
    return line.print_line(settings, as_json=as_json)
