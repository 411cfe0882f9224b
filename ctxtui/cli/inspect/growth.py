"""`ctxtui growth`: growth of a context by category and phase, with an outlook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.growth.feasible import GrowthReport
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, open_recording
from ctxtui.cli.money.preflight import limit_json, range_json
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.cli.progress import counting
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.library.growth import growth_report
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.members import members
from ctxtui.views.inspector import stacked_chart
from ctxtui.views.lists import growth as views
from ctxtui.views.lists import phases as phase_view
from ctxtui.views.text.span import Span, plain

_MAX_PHASES = 40
_CHART_LINES = 12
_TITLE_CELLS = 12
"""Cells of a rule with the title `growth`, without its note."""


@click.command(
    "growth",
    help="Show how a context grew: each call by category, growth in each phase, its shape (linear, quadratic ...) with "
    "evidence, tokens carried, sent again and never quoted, and whether more turns fit.\n\n"
    f"NAME is {NAME_HELP}. Ranges cover four of five cases and come from `ctxtui preflight`."
    "\n\n\b\nExample: ctxtui growth last --phases 20\n"
    "Example: ctxtui growth session.jsonl --phase-rule call",
)
@click.argument("name", metavar="NAME", type=SessionName())
@THREAD_OPTION
@click.option(
    "--phases",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    metavar="N",
    help="Check whether N more turns fit (rounds in a session without user turns; phases if your notes name two or "
    "more).",
)
@click.option(
    "--phase-rule",
    default="",
    metavar="RULE",
    help="Start phases at each turn, epoch or call, or at matches of this regular expression (default: the setting "
    "phases; without it at your notes 'phase: NAME', else at turns). Your notes always start one, too.",
)
@JSON_OPTION
@click.pass_context
def growth(context: click.Context, name: str, thread: str, phases: int, phase_rule: str, as_json: bool) -> None:
    settings = config_of(context).settings
    loaded = open_recording(name, settings)
    chosen = choose_call(loaded.session, thread, 0)
    with counting(settings, "measuring growth") as counter:
        account = make_account(loaded.session, counter, settings)
        notes = Notebook(loaded, settings).read()
        report = growth_report(account, chosen, notes, phase_rule or settings.phases, phases)
    if as_json:
        write_json({"session": loaded.session.about.id or loaded.name, **growth_json(report)})
        return
    Painter(settings.glyphs).lines(_lines(report))


def growth_json(report: GrowthReport) -> dict[str, Any]:
    growth, shape, ahead, feasible = report.growth, report.growth.shape, report.ahead, report.feasible
    return {
        "thread": growth.thread,
        "calls": [
            {
                **members(call, "call=number turn context_tokens=tokens method"),
                "categories": dict(call.parts),
                "cut_before": call.broken,
            }
            for call in growth.calls
        ],
        "since": None if growth.since is None else members(growth.since, "context_tokens=tokens method"),
        "rule": growth.rule or None,
        "phases": [
            {
                **members(row, "name? first_call=first last_call=last growth"),
                "growth_per_call": round(row.growth / row.calls),
                **members(row, "end_tokens=end peak_tokens=peak input_tokens=sent cost_usd=usd"),
                "grew": {part.name: part.growth for part in parts},
            }
            for row, parts in zip(growth.phases, growth.by_phase, strict=True)
        ],
        "stretch": {"first_call": growth.stretch[0], "last_call": growth.stretch[1]},
        "shape": None
        if shape is None
        else members(
            shape,
            "context=kind sent growth_per_call=per_call growth_per_call_first=begins "
            "growth_per_call_last=ends r2_line=r2 r2_bend=r2_bent twice_the_calls_send_times=doubled",
        ),
        "categories": [members(part, "name begin_tokens=begins end_tokens=ends carry") for part in growth.parts],
        "carry": growth.carry,
        "sent_again": members(
            growth,
            "input_tokens=again.sent sent_before_tokens=again.before share=again.share "
            "standing_twice_tokens=again.twice",
        ),
        "never_quoted": {
            "judged": growth.dead.judged,
            "not_judged": growth.dead.unjudged,
            "results": [
                {"digest": digest, "tokens": result.tokens, "since_call": result.entered, "calls": result.calls}
                for digest, result in zip(growth.dead_digests, growth.dead.dead, strict=True)
            ],
            "carry": growth.dead.carry,
            "cost_usd": growth.dead_usd,
        },
        "ahead": None
        if ahead is None or feasible is None
        else {
            "unit": feasible.unit,
            "phases": feasible.ahead,
            "after_tokens": range_json(feasible.after),
            "answer": feasible.answer,
            "usable": limit_json(feasible.usable),
            "window": limit_json(feasible.window),
            "compaction": limit_json(ahead.compaction),
            "context_window": ahead.window.as_fields(),
        },
        "lacks": list(growth.lacks),
    }


def _lines(report: GrowthReport) -> Iterator[list[Span]]:
    columns, growth = width(), report.growth
    chart = stacked_chart.from_growth(growth, report.ahead.window if report.ahead is not None else None)
    yield from rule("growth", plain(stacked_chart.legend(chart, columns - _TITLE_CELLS)))
    yield from map(list, stacked_chart.lines(chart, columns, _CHART_LINES))
    yield from map(list, views.wrap(report, columns))
    if len(growth.phases) > 1:
        rows = phase_view.combine(growth.phases, growth.by_phase)
        table = phase_view.grown_table(rows, len(growth.calls))
        yield from rule("phases", plain(phase_view.summary(growth.phases)))
        yield from table_lines(table, rows[-_MAX_PHASES:], columns - 1)
        if len(rows) > _MAX_PHASES:
            yield [Span(f"   the last {_MAX_PHASES} of {len(rows):,}; --json has all", "dim")]
