"""`ctxtui config`: every setting with its value and where that comes from."""

from __future__ import annotations

from pathlib import Path

import click

from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.output import write, write_json
from ctxtui.cli.paint import home_short
from ctxtui.services.config.config import Config, project_file
from ctxtui.services.config.paths import config_file, database, log_dir


@click.command("config")
@click.option("--show", is_flag=True, help="Print the settings (the default).")
@JSON_OPTION
@click.pass_context
def config(context: click.Context, show: bool, as_json: bool) -> None:
    """Show every setting with its value and where it comes from.

    A value is taken from --set KEY=VALUE, then CTXTUI_KEY in the environment, then ctxtui.toml in this directory or
    above, then your own file, then the default. What each setting means: ctxtui help settings.

    \b
    Example: CTXTUI_USABLE_SHARE=0.8 ctxtui config --json
    Example: ctxtui config --show
    """
    found = config_of(context)
    if as_json:
        write_json(_config_json(found))
        return
    rows = [
        (name, _spelled(value), f"{origin.kind}  {home_short(origin.place)}".rstrip())
        for name, value, origin in found.rows()
    ]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, value, origin in rows:
        write(f"{name:<{wide[0]}}  {value:<{wide[1]}}  {origin}")
    for one in found.ignored:
        write(f"not read: {home_short(str(one.path))}: {one.reason}")


def _config_json(found: Config) -> dict[str, object]:
    settings = [
        {"name": name, "value": value, "origin": origin.kind, "place": origin.place}
        for name, value, origin in found.rows()
    ]
    project = project_file(Path.cwd())
    files = {
        "user": str(config_file()),
        "project": str(project) if project else None,
        "database": str(database(found.settings.data_dir)),
        "log": str(log_dir()),
    }
    ignored = [{"path": str(one.path), "reason": one.reason} for one in found.ignored]
    return {"settings": settings, "files": files, "ignored": ignored}


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return '""' if value == "" else str(value) if value != {} else "-"
