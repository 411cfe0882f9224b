"""`ctxtui report-bug`: a file for a bug report, without content of sessions, paths or keys."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import FORCE_OPTION, JSON_OPTION, NAME_HELP, SessionName, config_of
from ctxtui.cli.output import note, write, write_json
from ctxtui.core.errors import BadConfig
from ctxtui.services.bug_report import make_report, terminal_size
from ctxtui.services.config.config import Config
from ctxtui.services.editing.exporting import write_private


@click.command(
    "report-bug",
    help="Write a file to attach to a bug report: versions, platform, changed settings, counts, the places of the last "
    "crash, and of the session NAME the sizes and figures. It has no text of a session, no path and no key; ids are "
    "replaced. Read it before you send it.\n\n"
    f"NAME is {NAME_HELP}.\n\n\b\nExample: ctxtui report-bug\nExample: ctxtui report-bug last -o bug.json",
)
@click.argument("name", metavar="[NAME]", type=SessionName(), required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write FILE (default: ctxtui-bug-TIME.json here).",
)
@FORCE_OPTION
@JSON_OPTION
@click.pass_context
def report_bug(context: click.Context, name: str | None, output: Path | None, force: bool, as_json: bool) -> None:
    report = make_report(_readable_config(context), Path.cwd(), os.environ, name or "", terminal_size())
    path = output or Path(f"ctxtui-bug-{time.strftime('%Y%m%d-%H%M%S')}.json")
    write_private(path, json.dumps(report, indent=1).encode() + b"\n", replace=force)
    contents = dict(_describe_contents(report))
    if as_json:
        write_json({"path": str(path), "contents": contents})
        return
    write(f"{path}: without texts of sessions, paths and keys; read it, then attach it to the report")
    for part, text in contents.items():
        write(f"  {part:<10}{text}")


def _readable_config(context: click.Context) -> Config | None:
    """The configuration; None, with a note, if it is faulty: the report may be about just that."""
    try:
        return config_of(context)
    except BadConfig as error:
        note(f"the settings are left out: {error}")
        return None


def _describe_contents(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    versions, settings = report["versions"], report["settings"]
    yield "versions", f"ctxtui {versions['ctxtui']}, Python {versions['python']}, {len(versions['packages'])} packages"
    yield (
        "platform",
        f"{report['platform']['system']} {report['platform']['machine']}; the terminal",
    )
    if settings is not None:
        yield "settings", f"{len(settings)} not at their default, texts by length alone"
    yield "clients", f"the number of sessions of each of {len(report['clients'])} clients"
    stored = report["database"]
    if "error" in stored:
        yield "database", f"it cannot be read: {stored['error']}"
    else:
        yield "database", f"schema {stored['schema']}, number of rows" if stored["exists"] else "there is none"
    crash = report["crash"]
    yield "crash", f"of {crash['at']}: types and places, no message" if crash else "none is logged"
    session = report["session"]
    if session is not None and "error" in session:
        yield "session", f"it cannot be read: {session['error']}"
    elif session is not None:
        calls = sum(len(thread["calls"]) for thread in session["threads"])
        yield "session", f"{calls:,} calls: tokens and cost; kinds, sizes and tokens of each thread's last blocks"
