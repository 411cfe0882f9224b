"""`ctxtui report`: what sessions came to, as text or as one document with charts that can be given away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from ctxtui.cli.context import FORCE_OPTION, THREAD_OPTION, SessionName, config_of
from ctxtui.cli.edit.share import emit, mask_option, masker_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.inspect.growth import growth_json
from ctxtui.cli.money.findings import findings_json
from ctxtui.cli.output import note, note_failed, refuse, write, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.session_work import worked
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.masking import Masker, describe_report, summarize_report
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.report import mask_report
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.workers.session_studies import REPORT, ReportRequest
from ctxtui.views.lists import findings as finding_view
from ctxtui.views.lists import growth as growth_view
from ctxtui.views.pages.report_page import ReportedSession, ReportPage, page
from ctxtui.views.text import cells, numbers
from ctxtui.views.text.span import Span

_STDOUT = "-"


@click.command(
    "report",
    help="Say what a session came to, or each one of a folder, or one call: how its context grew, findings with their "
    "cures, what the cache did, what it cost, its heaviest blocks.\n\n"
    "PATH is a file, a folder (every recording in it), a session's id, or `last`. With --html it is one document that "
    "loads nothing from anywhere, with charts, for light and dark screens and for paper; secrets are masked as `share` "
    "masks them, and patterns find much and not everything: read it before you give it away. Without a FILE it goes to "
    "standard output.\n\n\b\n"
    "Example: ctxtui report session.jsonl --html report.html\n"
    "Example: ctxtui report ~/.claude/projects/-home-me-app",
)
@click.argument("names", metavar="PATH...", nargs=-1, required=True, type=SessionName())
@click.option("--html", is_flag=False, flag_value=_STDOUT, metavar="[FILE]", help="Write the document (into FILE).")
@click.option("--call", "number", type=click.IntRange(min=1), metavar="N", help="About the thread's Nth call.")
@THREAD_OPTION
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Of several sessions the N dearest are told in full.",
)
@mask_option()
@FORCE_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1), masked like the document.")
@click.pass_context
def report(
    context: click.Context,
    names: tuple[str, ...],
    html: str | None,
    number: int | None,
    thread: str,
    most: int,
    mask: str,
    force: bool,
    as_json: bool,
) -> int:
    """Say what sessions came to."""
    settings = config_of(context).settings
    masker = masker_of(mask)
    every = expand_names(names, settings.clients)
    if html is not None and as_json:
        raise WrongUse("--html and --json are two forms", way_out="choose one")
    if number and len(every) > 1:
        raise WrongUse("--call is about one session", way_out="name one recording")
    if html not in (None, _STDOUT) and Path(html).exists() and not force:
        raise WrongUse(f"--html {html}: there is a file", way_out="write PATH before --html; --force replaces FILE")
    found, failed = _read(every, settings, masker, thread, number or 0)
    if not found:
        return refuse(failed[0][1], as_json=as_json)
    if as_json:
        labels = every if len(every) == len(found) else [one.title for one in found]
        write_json(
            {"sessions": [_session_json(*each) for each in zip(found, map(masker.mask_text, labels), strict=True)]}
        )
    elif html is None:
        _print(found, settings, every)
    else:
        _write(_page(found, failed, masker, most, mask), html, masker, mask, force=force)
    return note_failed(failed)


def _session_json(one: ReportedSession, name: str) -> dict[str, Any]:
    found = findings_json(one.found, name)
    # Edits hold words of the session (paths, headings): `ctxtui findings` has them.
    found["findings"] = [{key: value for key, value in each.items() if key != "edits"} for each in found["findings"]]
    return {
        "title": one.title,
        "facts": list(one.facts),
        "call": one.number or None,
        "cost_usd": None if one.partial else one.usd,
        "cost_usd_at_least": one.usd,
        "parts": [{"name": part, "usd": usd, "tokens": tokens} for part, usd, tokens in one.parts],
        "growth": growth_json(one.growth),
        "findings": found,
        "heaviest": [to_builtins(block) for block in one.blocks],
    }


def _read(
    names: list[str], settings: Settings, masker: Masker, thread: str, number: int
) -> tuple[list[ReportedSession], list[tuple[str, CtxtuiError]]]:
    found: list[ReportedSession] = []
    failed: list[tuple[str, CtxtuiError]] = []
    asked = ReportRequest(settings, thread, number)
    for one in worked(REPORT, names, asked, settings, "working out the report"):
        if one.error is not None:
            failed.append((one.name, one.error))
        else:
            # Masked here, one after the other: the same secret has the same mask in all of them.
            found.append(mask_report(one.result, masker))
    return found, failed


def _page(
    found: list[ReportedSession], failed: list[tuple[str, CtxtuiError]], masker: Masker, most: int, level: str
) -> ReportPage:
    ordered = sorted(found, key=lambda one: (-(one.usd or 0.0), -one.growth.growth.carry))
    one = len(ordered) == 1
    title = ordered[0].title if one else f"{len(ordered):,} sessions"
    if one and ordered[0].number:
        title = f"{title}: call {ordered[0].number:,}"
    told = tuple((masker.mask_text(name), masker.mask_text(str(trouble))) for name, trouble in failed)
    return ReportPage(
        title=title,
        sessions=tuple(ordered),
        rest=max(0, len(ordered) - most),
        level=level,
        masked=tuple(describe_report(masker.report)),
        failed=told,
    )


def _write(what: ReportPage, html: str, masker: Masker, level: str, *, force: bool) -> None:
    data = page(what).encode("utf-8", "replace")
    emit(data, None if html == _STDOUT else Path(html), replace=force)
    if html != _STDOUT:
        write(f"{len(data):,} bytes written to {html}")
    note(f"masked ({level}): {summarize_report(masker.report)}")


def _print(found: list[ReportedSession], settings: Settings, names: list[str]) -> None:
    painter, room = Painter(settings.glyphs), width()
    for one, name in zip(found, names if len(names) == len(found) else [""] * len(found), strict=True):
        usd = numbers.least(one.usd, one.partial) if one.usd is not None else "unknown cost"
        painter.lines(rule(cells.fit(one.title, room - 24), usd))
        painter.line([Span(" " + " · ".join(one.facts), "dim")])
        painter.lines(growth_view.wrapped(one.growth, room))
        painter.line([Span(f" findings, {finding_view.note(one.found)}:" if one.found.found else "", "bold")])
        painter.lines(finding_view.lines(one.found, name or one.title, room))
        painter.line([])
