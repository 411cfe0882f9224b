"""`ctxtui [PATH|ID|-]` and `ctxtui last`: the screen."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import NAME_HELP, SessionName, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.core.errors import NotFound


@click.command(
    "open",
    help=f"Open a recording on the screen; without NAME, the list of sessions.\n\nNAME is "
    f"{NAME_HELP}. A recording that grows is followed.\n\n\b\nExample: ctxtui open session.jsonl",
)
@click.argument("name", metavar="[NAME]", type=SessionName(), required=False)
@click.pass_context
def open_(context: click.Context, name: str | None) -> int:
    """Open a recording on the screen."""
    config = config_of(context)
    _need_terminal(name)
    from ctxtui.cli.screen import start

    return start(name, config.settings)


@click.command("last")
@click.pass_context
def last(context: click.Context) -> Any:
    """Open this directory's newest session and follow it.

    \b
    Example: cd my-project && ctxtui last
    """
    from ctxtui.runtime.discover import find
    from ctxtui.runtime.projects import related
    from ctxtui.runtime.whereabouts import newest_here

    cwd = Path.cwd()
    here = newest_here(find(cwd), related(cwd, os.environ))
    if here is None:
        raise NotFound(f"no session of this directory ({cwd})", way_out="`ctxtui sessions` lists all")
    return context.invoke(open_, name=str(here.path))


def _need_terminal(name: str | None) -> None:
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        what = "ctxtui sessions" if name is None else f"ctxtui show {name}"
        raise WrongUse("the screen needs a terminal", way_out=f"in a pipe or script use `{what}`")
