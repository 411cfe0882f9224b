"""The command `ctxtui statusline`.

Without arguments `ctxtui.cli.run` bypasses it, for speed.
"""

from __future__ import annotations

import click

from ctxtui.cli.agent import statusline as status_line
from ctxtui.cli.context import JSON_OPTION, config_of


@click.command("statusline")
@click.argument("action", type=click.Choice(["install", "remove"]), default=None, required=False)
@click.option("--replace", is_flag=True, help="With install: replace an existing status line; `remove` restores it.")
@JSON_OPTION
@click.pass_context
def statusline(context: click.Context, /, action: str | None, replace: bool, as_json: bool) -> int:
    """Print a status line for Claude Code: context, next price, cache lifetime, one warning.

    `install` changes only "statusLine" in Claude Code's settings.json and keeps a backup of the file. `remove`
    restores the previous status line, as does `ctxtui proxy off`. Without an action, reads Claude Code's JSON from
    standard input and prints the line.

    \b
    Example: ctxtui statusline install
    Example: ctxtui statusline remove
    """
    settings = config_of(context).settings
    if action == "install":
        return status_line.install(settings, replace=replace, as_json=as_json)
    if action == "remove":
        return status_line.remove(settings, as_json=as_json)
    return status_line.print_line(settings, as_json=as_json)
