"""`ctxtui config`: all settings with their values and origins."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.output import write, write_json
from ctxtui.cli.paint import abbreviate_home
from ctxtui.services.config.config import Config, find_upwards, settings_schema
from ctxtui.services.config.paths import config_file, database, log_dir


@click.command("config")
@click.option("--show", is_flag=True, help="Print the settings (the default).")
@click.option("--schema", is_flag=True, help="Print the JSON schema of the configuration files, for editors.")
@JSON_OPTION
@click.pass_context
def config(context: click.Context, show: bool, schema: bool, as_json: bool) -> None:
    """Show every setting with its value and origin.

    In order of precedence: --set KEY=VALUE, CTXTUI_KEY in the environment, ctxtui.toml in this directory or above, your
    own configuration file, the default. `ctxtui help settings` explains each setting.

    \b
    Example: CTXTUI_USABLE_SHARE=0.8 ctxtui config --json
    Example: ctxtui config --show
    Example: ctxtui config --schema > ctxtui.schema.json
    """
    if schema:
        write(json.dumps(settings_schema(), indent=2))
        return
    configuration = config_of(context)
    if as_json:
        write_json(_config_json(configuration))
        return
    rows = [
        (name, _format_value(value), f"{origin.kind}  {abbreviate_home(origin.place)}".rstrip())
        for name, value, origin in configuration.rows()
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, value, origin in rows:
        write(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}")
    for ignored in configuration.ignored:
        write(f"ignored: {abbreviate_home(str(ignored.path))}: {ignored.reason}")


def _config_json(configuration: Config) -> dict[str, object]:
    settings = [
        {"name": name, "value": value, "origin": origin.kind, "place": origin.place}
        for name, value, origin in configuration.rows()
    ]
    project = find_upwards(Path.cwd())[0]
    files = {
        "user": str(config_file()),
        "project": str(project) if project else None,
        "database": str(database(configuration.settings.data_dir)),
        "log": str(log_dir()),
    }
    ignored = [{"path": str(entry.path), "reason": entry.reason} for entry in configuration.ignored]
    return {"settings": settings, "files": files, "ignored": ignored}


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return '""' if value == "" else str(value) if value != {} else "-"
