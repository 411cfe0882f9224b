"""`ctxtui cost`: what sessions cost by list price, as a sum and by model, tool, category, thread, day or project."""

from __future__ import annotations

from typing import Any

import click
from msgspec import Struct

from ctxtui.analysis.money.spending import SpendingRow, merge_rows
from ctxtui.analysis.money.totals import SessionTotals
from ctxtui.cli.all_sessions import known_sessions
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note_failed, refuse, write_json
from ctxtui.cli.paint import Painter
from ctxtui.cli.session_work import worked
from ctxtui.core.errors import CtxtuiError, NoContext, Unreadable
from ctxtui.pricing.rates import library_version
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.totals.spending import WAYS, spending_rows, total_sessions
from ctxtui.services.members import members
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.session_work import SessionResult
from ctxtui.services.workers.session_money import COST, CostRequest, SessionCost
from ctxtui.views.home.columns import is_empty
from ctxtui.views.lists.costs.bill import LABEL, spent_words
from ctxtui.views.model.call_owners import owned
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


@click.command(
    "cost",
    help="Show what sessions cost by list price: every call at its own time's rates, counted once.\n\n"
    "NAME is a file, a folder (every recording in it), a session's id, or -. What a subscription pays is another "
    "matter; a price that nobody knows is unknown, never zero. With --why: the bill as a sum and what would have been "
    "cheaper (`ctxtui cost --why --help`).\n\n\b\n"
    "Example: ctxtui cost --all --by model\n"
    "Example: ctxtui cost session.jsonl --by tool",
)
@click.argument("names", metavar="NAME...", nargs=-1, type=SessionName())
@click.option("--all", "every", is_flag=True, help="All your sessions (figures are remembered).")
@click.option("--by", type=click.Choice(WAYS), help="One row for each.")
@JSON_OPTION
@click.pass_context
def cost(context: click.Context, names: tuple[str, ...], every: bool, by: str | None, as_json: bool) -> int:
    """Print what sessions cost."""
    if bool(names) == every:
        raise WrongUse("name sessions, or ask for --all of them", way_out="ctxtui cost --all, or ctxtui cost PATH")
    settings = config_of(context).settings
    found = _all(settings, by or "") if every else _named(names, settings, by or "")
    if found.failed and not found.total.calls:
        return refuse(found.failed[0][1], as_json=as_json)
    write_json(cost_json(found, by or "")) if as_json else print_text(Painter(settings.glyphs), found)
    return note_failed(found.failed, passing=(NoContext,))


def _named(names: tuple[str, ...], settings: Settings, by: str) -> CostAnswer:
    """Read now: nothing is remembered of files that are merely named."""

    def asked(names: list[str], own: frozenset[str] | None = None) -> list[SessionResult]:
        return worked(COST, names, CostRequest(settings, by, own), settings, "adding up")

    rows: list[SpendingRow] = []
    sums, copied = SessionTotals(), 0
    both: list[tuple[float, float]] = []
    versions: dict[str, None] = {}
    failed: list[tuple[str, CtxtuiError]] = []
    recordings = expand_names(names, settings.clients)
    read = []
    for one in asked(recordings):
        if one.error is not None:
            failed.append((one.name, one.error))
        else:
            read.append(one)
    for one, own in zip(read, owned([one.result.spent for one in read]), strict=True):
        found: SessionCost = one.result
        copied += sum(call.copied for call in found.spent)
        # Of several recordings each call counts in one.
        if len(recordings) > 1 and len(own) < len(found.spent):
            if not own:
                continue
            (again,) = asked([one.name], frozenset(call.id for call in own))
            if again.error is not None:
                failed.append((one.name, again.error))
                continue
            found = again.result
        sums = sums.plus(found.sums)
        rows += found.rows
        both += found.both
        versions |= dict.fromkeys(found.versions)
    recorded_sum, listed = (sum(pair[i] for pair in both) if both else None for i in (0, 1))
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


def _all(settings: Settings, by: str) -> CostAnswer:
    known = known_sessions(settings)
    failed = tuple((one.path or one.id, Unreadable(one.error)) for one in known if one.error and not is_empty(one))
    rows = spending_rows(known, by) if by else []
    return CostAnswer(
        rows=rows,
        sums=total_sessions(known),
        sessions=len(known),
        copied=sum(one.copied for one in known),
        versions=(library_version(),),
        failed=failed,
    )


class CostAnswer(Struct, frozen=True, kw_only=True):
    """What was asked for: `rows` that add up to `total`, which is `sums` with the subagents in it. How many `sessions`,
    and how many calls of theirs ctxtui `copied` from another one. USD `recorded` and `listed` over the calls that have
    both; the `versions` of the price tables; recordings that could not be read."""

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
        """Everything."""
        return self.sums.total._replace(name="total")


def cost_json(found: CostAnswer, by: str) -> dict[str, Any]:
    """The fields of ``cost --json``; the rows' USD add up to ``total_usd``."""
    total = found.total
    return {
        "total_usd": total.usd,
        "prices": LABEL,
        "sessions": found.sessions,
        "copied_calls": found.copied,
        **members(total, "calls tokens unpriced_calls=unpriced partial_calls=partial"),
        "totals": found.sums.as_fields(),
        "recorded_usd": found.recorded,
        "list_usd_where_recorded": found.listed,
        "price_versions": list(found.versions),
        "by": by or None,
        "rows": [
            {
                "name": row.name,
                "usd": row.usd,
                **members(row, "tokens calls unpriced_calls=unpriced partial_calls=partial"),
            }
            for row in found.rows
        ],
        "failed": [{"file": name, "error": str(error)} for name, error in found.failed],
    }


def print_text(painter: Painter, found: CostAnswer) -> None:
    """Print the rows and their sum."""
    for row in found.rows:
        painter.line(_line(row, bold=False))
    painter.line(_line(found.total, bold=True))
    if found.sums.is_split:
        painter.line([Span(f"  {spent_words(found.sums)}", "dim")])
    if found.copied:
        painter.line([Span(f"  {_copies(found)}", "dim")])
    if found.recorded is not None:
        same = (
            f"{numbers.money(found.recorded)} by the records' own figures, {numbers.money(found.listed)} by list price"
        )
        painter.line([Span(f"  of calls with both: {same}", "dim")])


def _copies(found: CostAnswer) -> str:
    """What is to be known of calls that ctxtui copied: of one session their recorded figures are told."""
    calls = numbers.many(found.copied, "call")
    if found.sessions == 1:
        return f"{calls} of it ctxtui copied from another session: no sum over sessions counts them"
    return f"{calls} that ctxtui copied from other sessions are not counted again"


def _line(row: SpendingRow, *, bold: bool) -> list[Span]:
    unknown = f"  {row.unpriced:,} call{'s' if row.unpriced != 1 else ''} without a price" if row.unpriced else ""
    partial = f"  {row.partial:,} answer{'s' if row.partial != 1 else ''} not reported in full" if row.partial else ""
    return [*(_SUM if bold else _ROWS).draw(row, 0), Span(f"{f'  {LABEL}' if bold else ''}{unknown}{partial}", "dim")]


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
