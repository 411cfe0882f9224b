"""`ctxtui cost`: list price of sessions, in all and by model, tool, day and others."""

from __future__ import annotations

from typing import Any

import click
from msgspec import Struct

from ctxtui.analysis.money.spending import SpendingRow, merge_rows
from ctxtui.analysis.money.totals import SessionTotals
from ctxtui.cli.all_sessions import NO_CALLS, known_sessions
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import failed_as_json, note_failed, refuse, write_json
from ctxtui.cli.paint import Painter, width
from ctxtui.cli.session_work import read_sessions
from ctxtui.core.errors import CtxtuiError, NoContext, Unreadable
from ctxtui.pricing.rates import library_version
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.totals.spending import WAYS, spending_rows, total_sessions
from ctxtui.services.members import members
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.session_work import SessionResult
from ctxtui.services.workers.session_money import COST, CostRequest, SessionCost
from ctxtui.views.home.columns import is_empty
from ctxtui.views.lists.costs.bill import PRICE_KIND, describe_spending
from ctxtui.views.model.call_owners import split_owned
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


@click.command(
    "cost",
    help="Show what sessions cost at list price: every call at the rates of its time, counted once.\n\n"
    "NAME is a file, a folder (every recording in it), a session's id, or -. Subscriptions are not considered; unknown "
    "prices are shown as unknown, never as zero. With --why: the bill as a sum, and what would have been cheaper "
    "(`ctxtui cost --why --help`).\n\n\b\n"
    "Example: ctxtui cost --all --by model\n"
    "Example: ctxtui cost session.jsonl --by tool",
)
@click.argument("names", metavar="NAME...", nargs=-1, type=SessionName())
@click.option("--all", "every", is_flag=True, help="All your sessions (figures are cached).")
@click.option("--by", type=click.Choice(WAYS), help="One row for each.")
@JSON_OPTION
@click.pass_context
def cost(context: click.Context, names: tuple[str, ...], every: bool, by: str | None, as_json: bool) -> int:
    if bool(names) == every:
        raise WrongUse("give either sessions or --all", way_out="ctxtui cost --all, or ctxtui cost PATH")
    settings = config_of(context).settings
    answer = _read_all(settings, by or "") if every else _read_named(names, settings, by or "")
    if answer.failed and not answer.total.calls:
        return refuse(answer.failed[0][1], as_json=as_json)
    painter = Painter(settings.glyphs)
    if as_json:
        write_json(cost_json(answer, by or ""))
    elif every and not answer.total.calls:
        painter.lines([[Span(line)] for line in safe_text.wrap(NO_CALLS, width())])
    else:
        print_text(painter, answer)
    return note_failed(answer.failed, tolerated=(NoContext,))


def _read_named(names: tuple[str, ...], settings: Settings, by: str) -> CostAnswer:
    def read_costs(names: list[str], own: frozenset[str] | None = None) -> list[SessionResult]:
        """`own`: count only calls with these ids."""
        return read_sessions(COST, names, CostRequest(settings, by, own), settings, "adding up")

    rows: list[SpendingRow] = []
    sums, copied = SessionTotals(), 0
    recorded_pairs: list[tuple[float, float]] = []
    versions: dict[str, None] = {}
    failed: list[tuple[str, CtxtuiError]] = []
    recordings = expand_names(names, settings.clients)
    read = []
    for result in read_costs(recordings):
        if result.error is not None:
            failed.append((result.name, result.error))
        else:
            read.append(result)
    for result, owned_calls in zip(read, split_owned([result.result.spent for result in read]), strict=True):
        session_cost: SessionCost = result.result
        copied += sum(call.copied for call in session_cost.spent)
        # A call in several recordings counts in one of them.
        if len(recordings) > 1 and len(owned_calls) < len(session_cost.spent):
            if not owned_calls:
                continue
            (owned_result,) = read_costs([result.name], frozenset(call.id for call in owned_calls))
            if owned_result.error is not None:
                failed.append((result.name, owned_result.error))
                continue
            session_cost = owned_result.result
        sums = sums.plus(session_cost.sums)
        rows += session_cost.rows
        recorded_pairs += session_cost.recorded_and_listed
        versions |= dict.fromkeys(session_cost.versions)
    recorded_sum, listed = (sum(pair[i] for pair in recorded_pairs) if recorded_pairs else None for i in (0, 1))
    return CostAnswer(
        rows=merge_rows(rows) if by else [],
        sums=sums,
        sessions=len(read),
        copied=copied,
        recorded=recorded_sum,
        listed=listed,
        versions=tuple(versions),
        failed=tuple(failed),
    )


def _read_all(settings: Settings, by: str) -> CostAnswer:
    summaries = known_sessions(settings)
    failed = tuple(
        (summary.path or summary.id, Unreadable(summary.error))
        for summary in summaries
        if summary.error and not is_empty(summary)
    )
    rows = spending_rows(summaries, by) if by else []
    return CostAnswer(
        rows=rows,
        sums=total_sessions(summaries),
        sessions=len(summaries),
        copied=sum(summary.copied for summary in summaries),
        versions=(library_version(),),
        failed=failed,
    )


class CostAnswer(Struct, frozen=True, kw_only=True):
    """The answer to `ctxtui cost`.

    - `rows`: one per value of ``--by``, empty without it; their USD add up to that of `total`.
    - `sums`: of the main threads and of subagents.
    - `copied`: number of calls that ctxtui copied from other sessions; sums over several sessions leave them out.
    - `recorded`, `listed`: USD over calls that have both.
    - `versions`: those of the price tables.
    """

    rows: list[SpendingRow]
    sums: SessionTotals
    sessions: int
    copied: int
    recorded: float | None = None
    listed: float | None = None
    versions: tuple[str, ...] = ()
    failed: tuple[tuple[str, CtxtuiError], ...] = ()

    @property
    def total(self) -> SpendingRow:
        return self.sums.total._replace(name="total")


def cost_json(answer: CostAnswer, by: str) -> dict[str, Any]:
    total = answer.total
    return {
        "total_usd": total.usd,
        "prices": PRICE_KIND,
        "sessions": answer.sessions,
        "copied_calls": answer.copied,
        **members(total, "calls tokens unpriced_calls=unpriced partial_calls=partial"),
        "totals": answer.sums.as_fields(),
        "recorded_usd": answer.recorded,
        "list_usd_where_recorded": answer.listed,
        "price_versions": list(answer.versions),
        "by": by or None,
        "rows": [
            members(row, "name usd tokens calls unpriced_calls=unpriced partial_calls=partial") for row in answer.rows
        ],
        "failed": failed_as_json(answer.failed),
    }


def print_text(painter: Painter, answer: CostAnswer) -> None:
    for row in answer.rows:
        painter.line(_line(row, bold=False))
    painter.line(_line(answer.total, bold=True))
    if answer.sums.is_split:
        painter.line([Span(f"  {describe_spending(answer.sums)}", "dim")])
    if answer.copied:
        painter.line([Span(f"  {_copies_note(answer)}", "dim")])
    if answer.recorded is not None:
        comparison = f"{numbers.money(answer.recorded)} by recorded cost, {numbers.money(answer.listed)} by list price"
        painter.line([Span(f"  calls with both: {comparison}", "dim")])


def _copies_note(answer: CostAnswer) -> str:
    calls = numbers.many(answer.copied, "call")
    if answer.sessions == 1:
        return f"{calls} copied by ctxtui from another session; not counted in sums over sessions"
    return f"{calls} copied by ctxtui from other sessions; not counted"


def _line(row: SpendingRow, *, bold: bool) -> list[Span]:
    unknown = f"  {row.unpriced:,} call{'s' if row.unpriced != 1 else ''} without a price" if row.unpriced else ""
    partial = f"  {row.partial:,} answer{'s' if row.partial != 1 else ''} not reported in full" if row.partial else ""
    return [
        *(_SUM if bold else _ROWS).draw(row, 0),
        Span(f"{f'  {PRICE_KIND}' if bold else ''}{unknown}{partial}", "dim"),
    ]


def _table(style: str) -> Table[SpendingRow]:
    def usd(row: SpendingRow, room: int) -> Span:
        return Span(numbers.least(row.usd, row.at_least), style)

    return Table(
        (
            Column("", 12, usd),
            Column("", 44, lambda row, _: Span(safe_text.one_line(row.name), style), "left", gap=2),
            Column("", 14, lambda row, _: Span(numbers.many(row.calls, "call") if row.calls else "", "dim")),
            Column(
                "",
                9,
                lambda row, _: Span(numbers.least_tokens(row.tokens, row.partial > 0) if row.tokens else "", "dim"),
            ),
        ),
        mark=0,
        tail=0,
    )


_ROWS, _SUM = _table("ink"), _table("ink bold")
