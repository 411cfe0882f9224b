"""`ctxtui report`: report on sessions, as text or as an HTML document with charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from ctxtui.cli.context import FORCE_OPTION, THREAD_OPTION, SessionName, config_of
from ctxtui.cli.edit.share import emit, mask_option, masker_of, refuse_source
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.inspect.growth import growth_json
from ctxtui.cli.money.findings import findings_json
from ctxtui.cli.output import note, note_failed, refuse, write, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.session_work import read_sessions
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.masking import Masker, describe_report, summarize_report
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.report import mask_report
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.workers.session_studies import REPORT, ReportRequest
from ctxtui.views.lists import findings as finding_view
from ctxtui.views.lists import growth as growth_view
from ctxtui.views.pages.report_page import ReportedSession, ReportPage, page
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

_STDOUT = "-"


@click.command(
    "report",
    help="Report on a session, on each one in a folder, or on one call: growth of the context and findings with fixes; "
    "with --html also cache, cost and heaviest blocks.\n\n"
    "PATH is a file, a folder (every recording in it), a session's id, or `last`. --html writes one self-contained "
    "document with charts, for light and dark screens and for print, to standard output if there is no FILE. Secrets "
    "are masked as with `share`; masking patterns are not complete: read the document before you share it.\n\n\b\n"
    "Example: ctxtui report session.jsonl --html report.html\n"
    "Example: ctxtui report ~/.claude/projects/-home-me-app",
)
@click.argument("names", metavar="PATH...", nargs=-1, required=True, type=SessionName())
@click.option("--html", is_flag=False, flag_value=_STDOUT, metavar="[FILE]", help="Write the document (into FILE).")
@click.option("--call", "number", type=click.IntRange(min=1), metavar="N", help="Report on the thread's Nth call.")
@THREAD_OPTION
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="With --html, of several sessions: report the N most expensive in full.",
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
    settings = config_of(context).settings
    masker = masker_of(mask)
    names_expanded = expand_names(names, settings.clients)
    if html is not None and as_json:
        raise WrongUse("--html and --json exclude each other", way_out="choose one")
    if number and len(names_expanded) > 1:
        raise WrongUse("--call needs a single session", way_out="give one recording")
    if html not in (None, _STDOUT) and Path(html).exists() and not force:
        raise WrongUse(f"--html {html}: the file exists", way_out="write PATH before --html; --force replaces FILE")
    refuse_source(None if html in (None, _STDOUT) else Path(html), *names_expanded)
    sessions, failed = _read(names_expanded, settings, masker, thread, number or 0)
    if not sessions:
        return refuse(failed[0][1], as_json=as_json)
    if as_json:
        write_json({"sessions": [_session_json(session, masker.mask_text(name)) for name, session in sessions]})
    elif html is None:
        _print(sessions, settings)
    else:
        reports = [session for _, session in sessions]
        _write(_page(reports, failed, masker, most, mask), html, masker, mask, force=force)
    return note_failed(failed)


def _session_json(session: ReportedSession, name: str) -> dict[str, Any]:
    findings = findings_json(session.findings, name)
    # Edits contain texts of the session (paths, headings); `ctxtui findings` prints them.
    findings["findings"] = [
        {key: value for key, value in finding.items() if key != "edits"} for finding in findings["findings"]
    ]
    return {
        "title": session.title,
        "facts": list(session.facts),
        "call": session.number or None,
        "cost_usd": None if session.partial else session.usd,
        "cost_usd_at_least": session.usd,
        "parts": [{"name": part, "usd": usd, "tokens": tokens} for part, usd, tokens in session.parts],
        "growth": growth_json(session.growth),
        "findings": findings,
        "heaviest": [to_builtins(block) for block in session.blocks],
    }


def _read(
    names: list[str], settings: Settings, masker: Masker, thread: str, number: int
) -> tuple[list[tuple[str, ReportedSession]], list[tuple[str, CtxtuiError]]]:
    sessions: list[tuple[str, ReportedSession]] = []
    failed: list[tuple[str, CtxtuiError]] = []
    request = ReportRequest(settings, thread, number)
    for result in read_sessions(REPORT, names, request, settings, "computing the report"):
        if result.error is not None:
            failed.append((result.name, result.error))
        else:
            # Masked sequentially, so that a secret has the same mask in all sessions.
            sessions.append((result.name, mask_report(result.result, masker)))
    return sessions, failed


def _page(
    sessions: list[ReportedSession], failed: list[tuple[str, CtxtuiError]], masker: Masker, most: int, level: str
) -> ReportPage:
    ordered = sorted(sessions, key=lambda session: (-(session.usd or 0.0), -session.growth.growth.carry))
    is_single = len(ordered) == 1
    title = ordered[0].title if is_single else f"{len(ordered):,} sessions"
    if is_single and ordered[0].number:
        title = f"{title}: call {ordered[0].number:,}"
    failures = tuple((masker.mask_text(name), masker.mask_text(str(trouble))) for name, trouble in failed)
    return ReportPage(
        title=title,
        sessions=tuple(ordered),
        rest=max(0, len(ordered) - most),
        level=level,
        masked=tuple(describe_report(masker.report)),
        failed=failures,
    )


def _write(report_page: ReportPage, html: str, masker: Masker, level: str, *, force: bool) -> None:
    data = page(report_page).encode("utf-8", "replace")
    emit(data, None if html == _STDOUT else Path(html), replace=force)
    if html != _STDOUT:
        write(f"{len(data):,} bytes written to {html}")
    note(f"masked ({level}): {summarize_report(masker.report)}")


def _print(sessions: list[tuple[str, ReportedSession]], settings: Settings) -> None:
    painter, room = Painter(settings.glyphs), width()
    for name, session in sessions:
        usd = numbers.least(session.usd, session.partial) if session.usd is not None else "unknown cost"
        painter.lines(rule(cells.fit(safe_text.one_line(session.title), room - 24), usd))
        painter.line([Span(" " + safe_text.one_line(" · ".join(session.facts)), "dim")])
        painter.lines(growth_view.wrap(session.growth, room))
        painter.line(
            [Span(f" findings, {finding_view.note(session.findings)}:" if session.findings.priced else "", "bold")]
        )
        painter.lines(finding_view.lines(session.findings, name, room))
        painter.line([])
