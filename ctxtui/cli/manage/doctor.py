"""`ctxtui doctor`: checks that everything ctxtui needs is available."""

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

    Exits with 8 if a check fails. In a terminal it also measures the width of the screen's glyphs.

    \b
    Example: ctxtui doctor --json | jq '.checks[] | select(.state != "ok")'
    Example: ctxtui doctor
    """
    config = config_of(context)
    painter = None if as_json else Painter(config.settings.glyphs)
    findings = []
    for check in _checks(config.settings):
        findings.append(check)
        if painter:
            _print(painter, check)
    if as_json:
        clients = clients_found(Path.cwd(), os.environ, config.settings.clients)
        write_json({"checks": [to_builtins(check) for check in findings], "clients": list(map(_client_json, clients))})
    failed = any(check.state == FAILED for check in findings)
    return exit_codes.FAILED.number if failed else exit_codes.OK.number


def _client_json(client: ClientFound) -> dict[str, object]:
    return {
        **members(client, "name=client.name source=client.source on"),
        "places": [{"path": str(place), "there": place not in client.missing} for place in client.places],
        "projects": client.projects,
        # Environment variables that move the client's folders.
        "moved_by": list(client.client.variables),
        **members(client, "sessions here newest"),
    }


def _checks(settings: Settings) -> Iterator[DoctorFinding]:
    yield from checks(Path.cwd(), settings.data_dir, os.environ, settings.clients)
    yield from terminal.checks(os.environ)


def _print(painter: Painter, check: DoctorFinding) -> None:
    sign = _SIGN[check.state]
    line = [sign.span, Span(f" {check.name:<24}"), Span(check.text, "dim" if check.state == OK else "ink")]
    painter.line([*line, Span(f"; {check.way_out}", "warn")] if check.way_out else line)
