"""`ctxtui doctor`: checks what ctxtui needs, and lists the clients that it finds."""

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
    """Check this machine: packages, vocabularies, database, clients, plug-ins, terminal.

    Exits with 8 if a check fails. In a terminal it also measures how wide an ambiguous glyph is drawn.

    \b
    Example: ctxtui doctor --json | jq '.clients[] | select(.sessions > 0) | .name'
    Example: ctxtui doctor
    """
    config = config_of(context)
    painter = None if as_json else Painter(config.settings.glyphs)
    findings = []
    for finding in _findings(config.settings):
        findings.append(finding)
        if painter:
            _print(painter, finding)
    if as_json:
        clients = clients_found(Path.cwd(), os.environ, config.settings.clients)
        checks_json = [to_builtins(finding) for finding in findings]
        write_json({"checks": checks_json, "clients": list(map(_client_json, clients))})
    failed = any(finding.state == FAILED for finding in findings)
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


def _findings(settings: Settings) -> Iterator[DoctorFinding]:
    yield from checks(Path.cwd(), settings.data_dir, os.environ, settings.clients)
    yield from terminal.checks(os.environ)


def _print(painter: Painter, finding: DoctorFinding) -> None:
    sign = _SIGN[finding.state]
    line = [sign.span, Span(f" {finding.name:<24}"), Span(finding.text, "dim" if finding.state == OK else "ink")]
    painter.line([*line, Span(f"; {finding.way_out}", "warn")] if finding.way_out else line)
