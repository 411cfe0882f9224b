"""Costs and usage of sessions, from their summaries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.money.spending import UNKNOWN, SpendingRow, mark_lower_bounds, merge_rows
from ctxtui.analysis.money.totals import SessionTotals, add_calls
from ctxtui.analysis.money.usage_stats import UsageSums
from ctxtui.views.model.call_owners import sessions_with_owned_calls
from ctxtui.views.model.session_summary import COMPACTED, MISSED, OVER, CallSpent, SessionSummary

MODEL, TOOL, CATEGORY, THREAD, DAY, PROJECT = "model", "tool", "category", "thread", "day", "project"
WAYS: Final = (MODEL, TOOL, CATEGORY, THREAD, DAY, PROJECT)
QUARTER_S: Final = 900
"""Seconds of a period that is within one day in every time zone: offsets are quarters of an hour."""


def day_of(started: float | None) -> str:
    """The local date of a Unix time, ``2026-11-21``; `UNKNOWN` without one."""
    return _day_of(int(started // QUARTER_S)) if started else UNKNOWN


@lru_cache(maxsize=4096)
def _day_of(quarter: int) -> str:
    return datetime.fromtimestamp(quarter * QUARTER_S).astimezone().date().isoformat()


def spending_rows(sessions: Iterable[SessionSummary], by: str = "") -> list[SpendingRow]:
    """Rows by one of `WAYS` ("": one row), every call counted once, most expensive first.

    Rows by category and tool have no calls and tokens. A session that was read for its usage only has no such rows;
    its unpriced and partly reported calls only mark rows as lower bounds.
    """
    rows: list[SpendingRow] = []
    for summary, owned in sessions_with_owned_calls(sessions):
        if by in (CATEGORY, TOOL):
            rows += _distribute(summary, owned, summary.by_category if by == CATEGORY else summary.by_tool)
        else:
            rows += [_call_row(call, row_name(summary, call, by)) for call in owned]
    return merge_rows(rows)


def session_totals_of(summary: SessionSummary) -> SessionTotals:
    """The totals of a session's calls, without copies."""
    return _add_calls(call for call in summary.spent if not call.copied)


def with_sums(summary: SessionSummary) -> SessionSummary:
    """A summary with the sums over its calls, without copies."""
    totals = session_totals_of(summary)
    usd = 0.0 if summary.is_made else totals.total.usd
    return replace(
        summary,
        total_tokens=totals.total.tokens,
        cost_usd=None if totals.total.at_least else usd,
        known_usd=usd,
        unpriced=totals.total.unpriced,
        partial=totals.total.partial,
        subagents=totals.agents,
        main_calls=totals.main.calls,
        main_tokens=totals.main.tokens,
        main_usd=totals.main.usd,
        main_unpriced=totals.main.unpriced,
        main_partial=totals.main.partial,
    )


def total_sessions(sessions: Iterable[SessionSummary]) -> SessionTotals:
    """The totals over `sessions`, every call counted once."""
    totals = SessionTotals()
    for _, owned in sessions_with_owned_calls(sessions):
        totals = totals.plus(_add_calls(owned))
    return totals


def _add_calls(calls: Iterable[CallSpent]) -> SessionTotals:
    return add_calls((call.side, _call_row(call, "")) for call in calls)


def _call_row(call: CallSpent, name: str) -> SpendingRow:
    return SpendingRow(name, call.cost, call.tokens, call.calls, int(call.unpriced), int(call.partial))


def row_name(summary: SessionSummary, call: CallSpent, by: str) -> str:
    """The name of a call's row by model, thread, day or project; "" for any other `by`."""
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
    """A session's costs by category or tool, scaled by the `owned` calls' share of its cost."""
    total_usd = sum(call.cost or 0.0 for call in summary.spent if not call.copied)
    own_usd = sum(call.cost or 0.0 for call in owned)
    factor = own_usd / total_usd if total_usd else 0.0
    rows = [SpendingRow(name, usd * factor) for name, usd in shares]
    return mark_lower_bounds(rows, sum(call.unpriced for call in owned), sum(call.partial for call in owned))


def sum_usage(name: str, parts: Iterable[UsageSums], sessions: int) -> UsageSums:
    """Add up `parts`, which come from `sessions` sessions."""
    sums = UsageSums(name=name, sessions=sessions)
    for part in parts:
        sums.add(part)
    return sums


def usage_of_calls(summary: SessionSummary, calls: Iterable[CallSpent]) -> UsageSums:
    """Add up `calls` of one session: tokens, USD, misses and other events."""
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
