"""`ctxtui growth`: how a context grew, by category and phase, and where that leads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.growth.feasible import GrowthReport
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, opened
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

_ROWS = 40
_CHART = 12


@click.command(
    "growth",
    help="How a context grew: each call by category, what grew in each phase, its shape (linear or quadratic) with the "
    "evidence, what was carried, sent again and never quoted, and whether more phases fit.\n\n"
    f"NAME is {NAME_HELP}. A range holds what comes in four of five cases; it is the forecast of `ctxtui preflight`."
    "\n\n\b\nExample: ctxtui growth last --phases 20\n"
    "Example: ctxtui growth session.jsonl --phase-rule call",
)
@click.argument("name", metavar="NAME", type=SessionName())
@THREAD_OPTION
@click.option(
    "--phases", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="Do N more phases fit?"
)
@click.option(
    "--phase-rule",
    "rule",
    default="",
    metavar="RULE",
    help="Phases begin at each turn, epoch or call, or where this regular expression hits (default: the names that you "
    "gave, else turns).",
)
@JSON_OPTION
@click.pass_context
def growth(context: click.Context, name: str, thread: str, phases: int, rule: str, as_json: bool) -> None:
    """How a context grew."""
    settings = config_of(context).settings
    loaded = opened(name, settings)
    chosen = choose_call(loaded.session, thread, 0)
    rule = rule or settings.phases
    with counting(settings, "measuring growth") as counter:
        made = make_account(loaded.session, counter, settings)
        found = growth_report(made, chosen, Notebook(loaded, settings).read(), rule, phases)
    if as_json:
        write_json({"session": loaded.session.about.id or loaded.name, **growth_json(found)})
        return

    painter = Painter(settings.glyphs)
    painter.lines(_lines(found))


def growth_json(found: Any) -> dict[str, Any]:
    """The members of ``growth --json``."""
    grown, shape, seen, fits = found.growth, found.growth.shape, found.ahead, found.feasible
    return {
        "thread": grown.thread,
        "calls": [
            {
                **members(call, "call=number turn context_tokens=tokens method"),
                "categories": dict(call.parts),
                "cut_before": call.broken,
            }
            for call in grown.calls
        ],
        "since": None if grown.since is None else members(grown.since, "context_tokens=tokens method"),
        "rule": grown.rule or None,
        "phases": [
            {
                **members(row, "name? first_call=first last_call=last growth"),
                "growth_per_call": round(row.growth / row.calls),
                **members(row, "end_tokens=end peak_tokens=peak input_tokens=sent cost_usd=usd"),
                "grew": {part.name: part.growth for part in parts},
            }
            for row, parts in zip(grown.phases, grown.by_phase, strict=True)
        ],
        "stretch": {"first_call": grown.stretch[0], "last_call": grown.stretch[1]},
        "shape": None
        if shape is None
        else members(
            shape,
            "context=kind sent growth_per_call=per_call growth_per_call_first=begins "
            "growth_per_call_last=ends r2_line=r2 r2_bend=r2_bent twice_the_calls_send_times=doubled",
        ),
        "categories": [members(part, "name begin_tokens=begins end_tokens=ends carry") for part in grown.parts],
        "carry": grown.carry,
        "sent_again": members(
            grown,
            "input_tokens=again.sent sent_before_tokens=again.before share=again.share "
            "standing_twice_tokens=again.twice",
        ),
        "never_quoted": {
            "judged": grown.dead.judged,
            "not_judged": grown.dead.unjudged,
            "results": [
                {"digest": digest, "tokens": one.tokens, "since_call": one.entered, "calls": one.calls}
                for digest, one in zip(grown.dead_digests, grown.dead.dead, strict=True)
            ],
            "carry": grown.dead.carry,
            "cost_usd": grown.dead_usd,
        },
        "ahead": None
        if seen is None or fits is None
        else {
            "unit": fits.unit,
            "phases": fits.ahead,
            "after_tokens": range_json(fits.after),
            "answer": fits.answer,
            "usable": limit_json(fits.usable),
            "window": limit_json(fits.window),
            "compaction": limit_json(seen.compaction),
            "context_window": seen.window.as_fields(),
        },
        "lacks": list(grown.lacks),
    }


def _lines(found: GrowthReport) -> Iterator[list[Span]]:
    room, grown = width(), found.growth
    chart = stacked_chart.of(grown, found.ahead.window if found.ahead is not None else None)
    yield from rule("growth", plain(stacked_chart.legend(chart, room - 12)))
    yield from map(list, stacked_chart.lines(chart, room, _CHART))
    yield from map(list, views.wrapped(found, room))
    if len(grown.phases) > 1:
        rows = phase_view.grown(grown.phases, grown.by_phase)
        table = phase_view.grown_table(rows, len(grown.calls))
        yield from rule("phases", plain(phase_view.summary(grown.phases)))
        yield from table_lines(table, rows[-_ROWS:], room - 1)
        if len(rows) > _ROWS:
            yield [Span(f"   the last {_ROWS} of {len(rows):,}; --json has all", "dim")]
