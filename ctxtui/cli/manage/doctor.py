"""`ctxtui doctor`: is everything here that ctxtui needs?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import to_builtins

from ctxtui.cli import exit_codes, terminal
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter
from ctxtui.services.config.settings import Settings
from ctxtui.services.doctor import FAILED, OK, WARNING, ClientFound, DoctorFinding, checks, clients_found
from ctxtui.services.members import members
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span

_SIGN = {OK: MARK["ok"], WARNING: MARK["warning"], FAILED: MARK["error"]}


@click.command("doctor")
@JSON_OPTION
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> int:
    """Check this machine: Python, packages, terminal, vocabularies, database, sessions.

    Exits 8 if something does not work. In a terminal it also asks how wide it draws the glyphs of the screen.

    \b
    Example: ctxtui doctor --json | jq '.checks[] | select(.state != "ok")'
    Example: ctxtui doctor
    """
    config = config_of(context)
    painter = None if as_json else Painter(config.settings.glyphs)
    found = []
    for check in _checks(config.settings):
        found.append(check)
        if painter:
            _print(painter, check)
    if as_json:
        clients = clients_found(Path.cwd(), os.environ, config.settings.clients)
        write_json({"checks": [to_builtins(check) for check in found], "clients": list(map(_client_json, clients))})
    failed = any(check.state == FAILED for check in found)
    return exit_codes.FAILED.number if failed else exit_codes.OK.number


def _client_json(one: ClientFound) -> dict[str, object]:
    return {
        **members(one, "name=client.name source=client.source on"),
        "places": [{"path": str(place), "there": place not in one.missing} for place in one.places],
        "projects": one.projects,
        "moved_by": list(one.client.variables),
        **members(one, "sessions here newest"),
    }


def _checks(settings: Settings) -> Iterator[DoctorFinding]:
    yield from checks(Path.cwd(), settings.data_dir, os.environ, settings.clients)
    yield from terminal.checks(os.environ)


def _print(painter: Painter, check: DoctorFinding) -> None:
    sign = _SIGN[check.state]
    line = [sign.span, Span(f" {check.name:<24}"), Span(check.text, "dim" if check.state == OK else "ink")]
    painter.line([*line, Span(f"; {check.way_out}", "warn")] if check.way_out else line)
