"""`ctxtui open`, also as `ctxtui [PATH|ID|-]`, and `ctxtui last`: open the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import NAME_HELP, SessionName, config_of
from ctxtui.cli.manage.start_screen import need_terminal, setting_places, start
from ctxtui.cli.output import note_skipped_database, write_json
from ctxtui.services.recordings.open_by_name import find_last


@click.command(
    "open",
    help=f"Open a recording on the screen; without NAME, the list of sessions.\n\nNAME is "
    f"{NAME_HELP}. A growing recording is followed.\n\n\b\nExample: ctxtui open session.jsonl\n"
    "Example: ctxtui open 7f3a",
)
@click.argument("name", metavar="[NAME]", type=SessionName(), required=False)
@click.pass_context
def open_(context: click.Context, name: str | None) -> int:
    config = config_of(context)
    need_terminal(name, config.settings)
    with setting_places(config):
        return start(name, config)


@click.command("last")
@click.option("--json", "as_json", is_flag=True, help="Only print the session as JSON (schema_version 1).")
@click.pass_context
def last(context: click.Context, as_json: bool) -> Any:
    """Open this directory's newest session and follow it.

    \b
    Example: cd my-project && ctxtui last
    Example: ctxtui last --json
    """
    newest = find_last(Path.cwd(), config_of(context).settings)
    note_skipped_database(newest.named.trouble)
    if as_json:
        path, stored = newest.named.path, newest.named.stored
        place = {"path": str(path) if path is not None else None, "stored": stored or None}
        return write_json({"session": {"id": newest.id, "source": newest.source, **place}})
    return context.invoke(open_, name=newest.name)
