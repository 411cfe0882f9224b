"""What all sessions of the user cost, from the remembered figures of each, every call counted once."""

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
UNKNOWN: Final = "unknown"
QUARTER: Final = 900
"""Seconds that lie in one day and one week everywhere: clocks differ by quarters of an hour."""


def day_of(started: float | None) -> str:
    """The local date of a Unix time, ``2026-11-21``."""
    return _day_of(int(started // QUARTER)) if started else UNKNOWN


@lru_cache(maxsize=4096)
def _day_of(quarter: int) -> str:
    return datetime.fromtimestamp(quarter * QUARTER).astimezone().date().isoformat()


def rows_of(sessions: Iterable[SessionSummary], by: str = "") -> list[SpendingRow]:
    """Rows by one of `WAYS` ("": one row) over sessions whose figures are known, dearest first."""
    rows: list[SpendingRow] = []
    for one, own in sessions_with_owned_calls(sessions):
        if by in (CATEGORY, TOOL):
            rows += _shared_out(one, own, one.by_category if by == CATEGORY else one.by_tool)
        else:
            rows += [_row(call, name_of(one, call, by)) for call in own]
    return merge_rows(rows)


def sums_of(one: SessionSummary) -> SessionTotals:
    """What a session comes to, as its summary remembers it."""
    main = SpendingRow("", one.main_usd, one.main_tokens, one.main_calls, one.main_unpriced, one.main_partial)
    whole = SpendingRow("", one.known_usd, one.total_tokens, one.calls, one.unpriced, one.partial)
    usd = None if whole.usd is None else whole.usd - (main.usd or 0.0)
    calls, unpriced = whole.calls - main.calls, whole.unpriced - main.unpriced
    partial = whole.partial - main.partial
    rest = SpendingRow("", usd, whole.tokens - main.tokens, calls, unpriced, partial) if calls else NOTHING
    return SessionTotals(main, rest, one.subagents)


def with_sums(one: SessionSummary) -> SessionSummary:
    """A summary with the sums of its calls; copies of others' are none."""
    sums = add_calls((call.side, _row(call, "")) for call in one.spent if not call.copied)
    usd = 0.0 if one.is_made else sums.total.usd
    return replace(
        one,
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


def totals_by(sessions: Iterable[SessionSummary]) -> SessionTotals:
    """What all sessions come to, every call counted once."""
    found = SessionTotals()
    for _, own in sessions_with_owned_calls(sessions):
        found = found.plus(add_calls((call.side, _row(call, "")) for call in own))
    return found


def _row(call: CallSpent, name: str) -> SpendingRow:
    return SpendingRow(name, call.cost, call.tokens, call.calls, int(call.unpriced), int(call.partial))


def name_of(one: SessionSummary, call: CallSpent, by: str) -> str:
    """The row of `by` that a call of a session belongs to."""
    if by == MODEL:
        return one.models[call.model][0] if call.model >= 0 else UNKNOWN
    if by == THREAD:
        return call.thread or "main"
    if by == DAY:
        return day_of(call.started)
    return (one.cwd or UNKNOWN) if by == PROJECT else ""


def _shared_out(one: SessionSummary, own: list[CallSpent], shares: tuple[tuple[str, float], ...]) -> list[SpendingRow]:
    """A session's money by category or tool; where other sessions have some of its calls, its own calls' share of
    it."""
    whole = sum(call.cost or 0.0 for call in one.spent if not call.copied)
    mine = sum(call.cost or 0.0 for call in own)
    factor = mine / whole if whole else 0.0
    partial = sum(call.partial for call in own)
    rows = [SpendingRow(name, usd * factor, partial=partial if name == OUTPUT else 0) for name, usd in shares]
    unpriced = [call for call in own if call.unpriced]
    return [*rows, SpendingRow(UNKNOWN, None, 0, 0, len(unpriced))] if unpriced else rows


def summed(name: str, parts: Iterable[UsageSums], sessions: int) -> UsageSums:
    """What the parts of so many sessions come to."""
    found = UsageSums(name=name, sessions=sessions)
    for part in parts:
        found.add(part)
    return found


def used_by(one: SessionSummary, calls: Iterable[CallSpent]) -> UsageSums:
    """What some calls of a session used."""
    to = UsageSums(uncounted=int(one.usage_only))
    for call in calls:
        to.calls += call.calls
        to.input += call.input
        to.read += call.read
        to.output += call.tokens - call.input
        if call.cost is not None:
            to.usd = (to.usd or 0.0) + call.cost
        to.unpriced += call.unpriced
        to.partial += call.partial
        if call.marks:
            to.misses += MISSED in call.marks
            to.unpriced_misses += MISSED in call.marks and call.lost is None
            to.compactions += COMPACTED in call.marks
            to.overflows += OVER in call.marks
        if call.lost is not None:
            to.lost = (to.lost or 0.0) + call.lost
    return to
