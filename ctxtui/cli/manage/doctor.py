"""`ctxtui doctor`: is everything here that ctxtui needs?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from ctxtui.cli import exit_codes, terminal
from ctxtui.cli.context import config_of
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter
from ctxtui.services.doctor import FAILED, OK, WARNING, Finding, checks
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span

_SIGN = {OK: MARK["ok"], WARNING: MARK["warning"], FAILED: MARK["refused"]}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> int:
    """Check this machine: Python, packages, terminal, vocabularies, database, sessions.

    Exits 8 if something does not work. In a terminal it also asks how wide it draws the glyphs of the screen.

    \b
    Example: ctxtui doctor --json | jq '.checks[] | select(.state != "ok")'
    """
    config = config_of(context)
    painter = None if as_json else Painter(config.settings.glyphs)
    found = []
    for check in _checks(config.settings.data_dir):
        found.append(check)
        if painter:
            _print(painter, check)
    if as_json:
        write_json({"checks": [asdict(check) for check in found]})
    failed = any(check.state == FAILED for check in found)
    return exit_codes.FAILED.number if failed else exit_codes.OK.number


def _checks(data_dir: str) -> Iterator[Finding]:
    yield from checks(Path.cwd(), data_dir, os.environ)
    yield from terminal.checks(os.environ)


def _print(painter: Painter, check: Finding) -> None:
    sign = _SIGN[check.state]
    line = [sign.span, Span(f" {check.name:<24}"), Span(check.text, "dim" if check.state == OK else "ink")]
    painter.line([*line, Span(f"; {check.way_out}", "warn")] if check.way_out else line)
