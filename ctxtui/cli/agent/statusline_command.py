"""The command `ctxtui statusline` with its actions; without any it is answered without click, see `ctxtui.cli.run`."""

from __future__ import annotations

import click

from ctxtui.cli.agent import statusline as line
from ctxtui.cli.context import JSON_OPTION, config_of


@click.command("statusline")
@click.argument("action", type=click.Choice(["install", "remove"]), default=None, required=False)
@click.option("--replace", is_flag=True, help="With install: where another status line stands, until it is removed.")
@JSON_OPTION
@click.pass_context
def statusline(context: click.Context, /, action: str | None, replace: bool, as_json: bool) -> int:
    """Print a status line for Claude Code: context, the next call's price, what is left of the cache, one warning.

    `install` has Claude Code run it: one member of its settings.json is written, every other byte stays, and a copy of
    the file is made. `remove` takes it out again, as does `ctxtui proxy off`, and puts back what stood there. Without
    an action it reads what Claude Code says on standard input and prints the line.

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
