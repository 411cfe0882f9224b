"""`ctxtui findings`: what is the case in a session, what cures it, and what that saves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.findings.priced import Findings, PricedFinding
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, edits_of, opened
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
    help="What is the case in a session and what cures it, ranked by what it risks, then by what it saves: tools that "
    "were never called, results that nobody quoted, files read twice, a prefix that keeps changing.\n\n"
    f"NAME is {NAME_HELP}. A saving is the price tag of the edits over the next calls; with --call also what they "
    "would have saved in the recorded calls that followed. Savings overlap: what all edits save together is told, too."
    "\n\n\b\nExample: ctxtui findings last --call 40\n"
    "Example: ctxtui findings session.jsonl --json | jq '.findings[0]'",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "--call", "number", type=click.IntRange(min=1), metavar="N", help="As of the thread's Nth call (default: last)."
)
@THREAD_OPTION
@click.option("--horizon", type=click.IntRange(1, 10_000), metavar="N", help=HORIZON_HELP)
@JSON_OPTION
@click.pass_context
def findings(
    context: click.Context, name: str, number: int | None, thread: str, horizon: int | None, as_json: bool
) -> None:
    """What is the case in a session."""
    settings = config_of(context).settings
    settings = replace(settings, horizon=horizon or settings.horizon)
    loaded = opened(name, settings)
    chosen = choose_call(loaded.session, thread, number or 0)
    with counting(settings, "looking for findings") as counter:
        edits = edits_of(loaded, settings, chosen)
        found = price_findings(make_account(loaded.session, counter, settings), counter, chosen, settings, edits)
    if as_json:
        write_json({"session": loaded.session.about.id or loaded.name, **findings_json(found, name)})
        return
    painter = Painter(settings.glyphs)
    painter.lines(rule(f"findings up to call {found.number:,} of {found.calls:,}", views.note(found)))
    painter.lines(views.lines(found, name, width()))


def findings_json(found: Any, name: str) -> dict[str, Any]:
    """The members of ``findings --json`` for the session called `name`."""
    whole = found.together
    return {
        **members(found, "thread call=number calls horizon"),
        "findings": [_finding_json(one, found, name) for one in found.found],
        "together": None
        if whole is None
        else {"edits": len(found.edits), "freed_tokens": whole.freed, "saves_usd": found.saves},
        "lacks": list(found.lacks),
        "absent": list(found.absent),
    }


def _finding_json(one: PricedFinding, found: Findings, name: str) -> dict[str, Any]:
    about, moment, rest = one.finding, one.moment, one.rest
    return {
        "kind": about.kind,
        "says": views.sentence(about),
        "cure": views.cure(about),
        **members(about, "setting? tokens so_far_usd=so_far"),
        "paid_usd": about.so_far if about.edits else None,
        "calls": about.calls,
        "count": about.count,
        "names": list(about.names),
        "warning": about.warning,
        "places": [at._asdict() for at in about.places],
        "saves_usd": one.saves,
        "freed_tokens": one.freed,
        "when": moment.name if moment is not None else None,
        "once_usd": moment.once if moment is not None else None,
        "per_call_usd": moment.per_call if moment is not None else None,
        "risk": one.risk.name.lower() if one.risk is not None else None,
        "quoted_later": 0,
        "rest": None
        if rest is None
        else {"calls": rest.calls, "saved_tokens": list(rest.saved), "usd": rest.usd, "partial": rest.partial},
        "lab": {"so_far": _edited(one.proved), "followed": _edited(rest)},
        "edits": [to_json(edit) for edit in one.staged_edits],
        "staged": members(one, "blocks no_shorter=longer with_them=along") if about.edits else None,
        "not_staged": one.why_not or None,
        "command": views.command(one, name, found) or None,
    }


def _edited(one: EditedCalls | None) -> dict[str, Any] | None:
    if one is None:
        return None
    told = {"first_call": one.first, "calls": one.calls, "saved_tokens": list(one.saved)}
    return {**told, "usd": one.usd, "partial": one.partial}
