"""Costs of all sessions of the user, from their cached figures; every call counted once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.money.spending import OUTPUT, SpendingRow, merge_rows
from ctxtui.analysis.money.totals import NOTHING, SessionTotals, add_calls
from ctxtui.analysis.money.usage_stats import UsageSums
from ctxtui.views.model.call_owners import sessions_with_owned_calls
from ctxtui.views.model.session_summary import COMPACTED, MISSED, OVER, CallSpent, SessionSummary

MODEL, TOOL, CATEGORY, THREAD, DAY, PROJECT = "model", "tool", "category", "thread", "day", "project"
WAYS: Final = (MODEL, TOOL, CATEGORY, THREAD, DAY, PROJECT)
"""Groupings of costs."""
UNKNOWN: Final = "unknown"
QUARTER: Final = 900
"""Seconds of a period that is within one day and week in every time zone.

Offsets are quarters of an hour.
"""


def day_of(started: float | None) -> str:
    """The local date of a Unix time, ``2026-11-21``; `UNKNOWN` without one."""
    return _day_of(int(started // QUARTER)) if started else UNKNOWN


@lru_cache(maxsize=4096)
def _day_of(quarter: int) -> str:
    return datetime.fromtimestamp(quarter * QUARTER).astimezone().date().isoformat()


def spending_rows(sessions: Iterable[SessionSummary], by: str = "") -> list[SpendingRow]:
    """Rows by one of `WAYS` ("": one row) for sessions with figures, most expensive first."""
    rows: list[SpendingRow] = []
    for summary, owned in sessions_with_owned_calls(sessions):
        if by in (CATEGORY, TOOL):
            rows += _distribute(summary, owned, summary.by_category if by == CATEGORY else summary.by_tool)
        else:
            rows += [_call_row(call, row_name(summary, call, by)) for call in owned]
    return merge_rows(rows)


def session_totals_of(summary: SessionSummary) -> SessionTotals:
    """The totals of a session from its summary."""
    main = SpendingRow(
        "", summary.main_usd, summary.main_tokens, summary.main_calls, summary.main_unpriced, summary.main_partial
    )
    session_row = SpendingRow(
        "", summary.known_usd, summary.total_tokens, summary.calls, summary.unpriced, summary.partial
    )
    usd = None if session_row.usd is None else session_row.usd - (main.usd or 0.0)
    calls, unpriced = session_row.calls - main.calls, session_row.unpriced - main.unpriced
    partial = session_row.partial - main.partial
    subagents_row = (
        SpendingRow("", usd, session_row.tokens - main.tokens, calls, unpriced, partial) if calls else NOTHING
    )
    return SessionTotals(main, subagents_row, summary.subagents)


def with_sums(summary: SessionSummary) -> SessionSummary:
    """A summary with the sums of its calls, without copies."""
    sums = add_calls((call.side, _call_row(call, "")) for call in summary.spent if not call.copied)
    usd = 0.0 if summary.is_made else sums.total.usd
    return replace(
        summary,
        total_tokens=sums.total.tokens,
        cost_usd=None if sums.total.at_least else usd,
        known_usd=usd,
        unpriced=sums.total.unpriced,
        partial=sums.total.partial,
        subagents=sums.agents,
        main_calls=sums.main.calls,
        main_tokens=sums.main.tokens,
        main_usd=sums.main.usd,
        main_unpriced=sums.main.unpriced,
        main_partial=sums.main.partial,
    )


def total_sessions(sessions: Iterable[SessionSummary]) -> SessionTotals:
    """The totals of all sessions, every call counted once."""
    totals = SessionTotals()
    for _, own in sessions_with_owned_calls(sessions):
        totals = totals.plus(add_calls((call.side, _call_row(call, "")) for call in own))
    return totals


def _call_row(call: CallSpent, name: str) -> SpendingRow:
    return SpendingRow(name, call.cost, call.tokens, call.calls, int(call.unpriced), int(call.partial))


def row_name(summary: SessionSummary, call: CallSpent, by: str) -> str:
    """The row of `by` to which a session's call belongs."""
    if by == MODEL:
        return summary.models[call.model][0] if call.model >= 0 else UNKNOWN
    if by == THREAD:
        return call.thread or "main"
    if by == DAY:
        return day_of(call.started)
    return (summary.cwd or UNKNOWN) if by == PROJECT else ""


def _distribute(
    summary: SessionSummary, owned: list[CallSpent], shares: tuple[tuple[str, float], ...]
) -> list[SpendingRow]:
    """A session's costs by category or tool, scaled by the share of the calls that it owns."""
    total_usd = sum(call.cost or 0.0 for call in summary.spent if not call.copied)
    own_usd = sum(call.cost or 0.0 for call in owned)
    factor = own_usd / total_usd if total_usd else 0.0
    partial = sum(call.partial for call in owned)
    rows = [SpendingRow(name, usd * factor, partial=partial if name == OUTPUT else 0) for name, usd in shares]
    unpriced = [call for call in owned if call.unpriced]
    return [*rows, SpendingRow(UNKNOWN, None, 0, 0, len(unpriced))] if unpriced else rows


def sum_usage(name: str, parts: Iterable[UsageSums], sessions: int) -> UsageSums:
    """Add up the parts of so many sessions."""
    sums = UsageSums(name=name, sessions=sessions)
    for part in parts:
        sums.add(part)
    return sums


def usage_of_calls(summary: SessionSummary, calls: Iterable[CallSpent]) -> UsageSums:
    """The usage of some calls of a session."""
    sums = UsageSums(uncounted=int(summary.usage_only))
    for call in calls:
        sums.calls += call.calls
        sums.input += call.input
        sums.read += call.read
        sums.output += call.tokens - call.input
        if call.cost is not None:
            sums.usd = (sums.usd or 0.0) + call.cost
        sums.unpriced += call.unpriced
        sums.partial += call.partial
        if call.marks:
            sums.misses += MISSED in call.marks
            sums.unpriced_misses += MISSED in call.marks and call.lost is None
            sums.compactions += COMPACTED in call.marks
            sums.overflows += OVER in call.marks
        if call.lost is not None:
            sums.lost = (sums.lost or 0.0) + call.lost
    return sums
