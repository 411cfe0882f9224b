"""`ctxtui findings`: problems in a session, their fixes, and the savings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.findings.priced import Findings, PricedFinding
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.cli.context import (
    CALL_OPTION,
    JSON_OPTION,
    NAME_HELP,
    THREAD_OPTION,
    SessionName,
    applied_edits_of,
    config_of,
    open_recording,
)
from ctxtui.cli.money.preflight import HORIZON_HELP
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.progress import counting
from ctxtui.core.edit_json import to_json
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.library.findings import price_findings
from ctxtui.services.members import members
from ctxtui.views.lists import findings as views


@click.command(
    "findings",
    help="List problems in a session with their fixes, ranked by risk, then by savings: tools that were never called, "
    "results that were never quoted, files read twice, a prefix that keeps changing.\n\n"
    f"NAME is {NAME_HELP}. Savings are those of the edits over the next calls; with --call also over the recorded "
    "calls that followed. They overlap, so the savings of all edits together are listed as well."
    "\n\n\b\nExample: ctxtui findings last --call 40\n"
    "Example: ctxtui findings session.jsonl --json | jq '.findings[0]'",
)
@click.argument("name", metavar="NAME", type=SessionName())
@CALL_OPTION
@THREAD_OPTION
@click.option("--horizon", type=click.IntRange(1, 10_000), metavar="N", help=HORIZON_HELP)
@JSON_OPTION
@click.pass_context
def findings(
    context: click.Context, name: str, number: int | None, thread: str, horizon: int | None, as_json: bool
) -> None:
    settings = config_of(context).settings
    settings = replace(settings, horizon=horizon or settings.horizon)
    loaded = open_recording(name, settings)
    chosen = choose_call(loaded.session, thread, number or 0)
    with counting(settings, "looking for findings") as counter:
        edits = applied_edits_of(loaded, settings, chosen)
        result = price_findings(make_account(loaded.session, counter, settings), counter, chosen, settings, edits)
    if as_json:
        write_json({"session": loaded.session.about.id or loaded.name, **findings_json(result, name)})
        return
    painter = Painter(settings.glyphs)
    painter.lines(rule(f"findings up to call {result.number:,} of {result.calls:,}", views.note(result)))
    painter.lines(views.lines(result, name, width()))


def findings_json(all_findings: Any, name: str) -> dict[str, Any]:
    together = all_findings.together
    return {
        **members(all_findings, "thread call=number calls horizon"),
        "findings": [_finding_json(priced, all_findings, name) for priced in all_findings.priced],
        "together": None
        if together is None
        else {"edits": len(all_findings.edits), "freed_tokens": together.freed, "saves_usd": all_findings.saves},
        "lacks": list(all_findings.lacks),
        "absent": list(all_findings.absent),
    }


def _finding_json(priced: PricedFinding, all_findings: Findings, name: str) -> dict[str, Any]:
    finding, moment, rest = priced.finding, priced.moment, priced.rest
    return {
        "kind": finding.kind,
        "says": views.sentence(finding),
        "cure": views.fix(finding),
        **members(finding, "setting? tokens so_far_usd=so_far"),
        "paid_usd": finding.so_far if finding.edits else None,
        "calls": finding.calls,
        "count": finding.count,
        "names": list(finding.names),
        "warning": finding.warning,
        "places": [at._asdict() for at in finding.places],
        "saves_usd": priced.saves,
        "freed_tokens": priced.freed,
        "when": moment.name if moment is not None else None,
        "once_usd": moment.once if moment is not None else None,
        "per_call_usd": moment.per_call if moment is not None else None,
        "risk": priced.risk.name.lower() if priced.risk is not None else None,
        "quoted_later": len(priced.tag.quotes) if priced.tag is not None else 0,
        "rest": None
        if rest is None
        else {"calls": rest.calls, "saved_tokens": list(rest.saved), "usd": rest.usd, "partial": rest.partial},
        "lab": {"so_far": _edited(priced.proved), "followed": _edited(rest)},
        "edits": [to_json(edit) for edit in priced.staged_edits],
        "staged": members(priced, "blocks no_shorter=longer with_them=along") if finding.edits else None,
        "not_staged": priced.why_not or None,
        "command": views.command(priced, name, all_findings) or None,
    }


def _edited(result: EditedCalls | None) -> dict[str, Any] | None:
    if result is None:
        return None
    fields = {"first_call": result.first, "calls": result.calls, "saved_tokens": list(result.saved)}
    return {**fields, "usd": result.usd, "partial": result.partial}
