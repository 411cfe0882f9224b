"""Tokens, money and quota windows over many sessions, from their cached figures.

Every call is counted once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Final

from ctxtui.analysis.money.quota_windows import (
    CallUse,
    ReportedWindow,
    five_hour_windows,
    last_week,
    reported_window,
)
from ctxtui.analysis.money.spending import UNKNOWN
from ctxtui.analysis.money.usage_stats import HeavyTool, Stats, UsageSums, WorstMiss
from ctxtui.core.usage import QuotaReport, newest_quotas
from ctxtui.services.library.tool_ledger import tools_ledger
from ctxtui.services.library.totals.spending import (
    DAY,
    MODEL,
    PROJECT,
    QUARTER_S,
    TOOL,
    row_name,
    sum_usage,
    usage_of_calls,
)
from ctxtui.services.library.totals.stat_changes import VERSION, Change, OwnCalls, compare, find_changes
from ctxtui.views.model.call_owners import sessions_with_owned_calls
from ctxtui.views.model.session_summary import CallSpent, SessionSummary

SOURCE, SKILL, WEEK, FIVE_HOURS = "source", "skill", "week", "5-hours"
WAYS: Final = (PROJECT, MODEL, TOOL, SOURCE, VERSION, SKILL, DAY, WEEK, FIVE_HOURS)
_IN_TIME: Final = frozenset({DAY, WEEK, FIVE_HOURS})
NO_SKILL: Final = "no skill"
NO_VERSION: Final = "no version"
UNCOUNTED: Final = "not counted yet"
"""The skill of calls in sessions that were read for usage only."""
_WORST: Final = 50


def make_stats(
    sessions: Iterable[SessionSummary],
    at: float,
    *,
    by: str = "",
    since: float = 0.0,
    changed: Change | None = None,
    list_changes: bool = False,
    quota_reports: Iterable[tuple[str, QuotaReport]] = (),
) -> Stats:
    """Make the stats at the Unix time `at` for sessions with figures.

    - `since`: only calls from this Unix time on; a call without a time has that of its session.
    - `by`: the rows, one of `WAYS`; "": none. Those by tool are always in `Stats.tools`, not in `Stats.rows`.
    - `changed`: divides the calls into before and after.
    - `list_changes`: also list the changes that can be compared.
    - `quota_reports`: those that are in no recording, each with its client.
    """
    sessions_list = list(sessions)
    all_calls = list(sessions_with_owned_calls(sessions_list))
    owned = [
        (summary, [call for call in calls if (call.started or summary.mtime) >= since]) for summary, calls in all_calls
    ]
    owned = [(summary, calls) for summary, calls in owned if calls]
    used = [CallUse(call.started, call.tokens, call.cost, call.partial) for _, calls in owned for call in calls]
    windows = five_hour_windows(used)
    starts = [window.start for window in windows]
    parts = [_group_usage(summary, calls, by, starts) for summary, calls in owned]
    recent = [
        summary
        for summary in sessions_list
        if max((c.started or summary.mtime for c in summary.spent), default=summary.mtime) >= since
    ]
    total = sum_usage("", [usage for part in parts for usage in part.values()], len(recent))
    total.uncounted = sum(summary.usage_only for summary in recent)
    return Stats(
        total=total,
        rows=_sum_rows(parts, by) if by and by != TOOL else [],
        windows=windows,
        week=last_week(used, at),
        reported=_newest_reports(all_calls, since, quota_reports),
        worst=_worst_misses(owned),
        tools=_heavy_tools(sessions_list, since),
        comparison=compare(owned, changed) if changed is not None else None,
        changes=find_changes(owned) if list_changes else [],
    )


def _group_usage(summary: SessionSummary, calls: list[CallSpent], by: str, starts: list[int]) -> dict[str, UsageSums]:
    calls_by_name: dict[str, list[CallSpent]] = {}
    for call in calls:
        name = _window_name(call, starts) if by == FIVE_HOURS else _row_name(summary, call, by)
        calls_by_name.setdefault(name, []).append(call)
    return {name: usage_of_calls(summary, own) for name, own in calls_by_name.items()}


def _sum_rows(parts: list[dict[str, UsageSums]], by: str) -> list[UsageSums]:
    usages_by_name: dict[str, list[UsageSums]] = {}
    for part in parts:
        for name, usage in part.items():
            usages_by_name.setdefault(name, []).append(usage)
    rows = [sum_usage(name, usages, len(usages)) for name, usages in usages_by_name.items()]
    if by in _IN_TIME:
        return sorted(rows, key=lambda row: (row.name != UNKNOWN, row.name), reverse=True)
    return sorted(rows, key=lambda row: (-(row.usd or 0.0), -row.tokens, row.name))


def _window_name(call: CallSpent, starts: list[int]) -> str:
    """The start of a call's five-hour window in local time: ``2026-11-22 14:00``."""
    if not call.started:
        return UNKNOWN
    return _format_time(starts[bisect_right(starts, call.started) - 1])


@lru_cache(maxsize=4096)
def _format_time(start: int) -> str:
    return f"{datetime.fromtimestamp(start).astimezone():%Y-%m-%d %H:%M}"


def _row_name(summary: SessionSummary, call: CallSpent, by: str) -> str:
    if by == WEEK:
        return _week_of(call.started // QUARTER_S) if call.started else UNKNOWN
    if by == SKILL:
        return UNCOUNTED if summary.usage_only else call.skill or NO_SKILL
    if by == VERSION:
        unknown = f"{summary.source}, {NO_VERSION}" if summary.source else UNKNOWN
        return f"{summary.source} {summary.client_version}".strip() if summary.client_version else unknown
    return summary.source or UNKNOWN if by == SOURCE else row_name(summary, call, by)


@lru_cache(maxsize=4096)
def _week_of(quarter: int) -> str:
    """The local ISO 8601 week of a period of `QUARTER_S`: ``2026-W47``."""
    year, week, _ = datetime.fromtimestamp(quarter * QUARTER_S).astimezone().isocalendar()
    return f"{year}-W{week:02}"


def _newest_reports(
    all_calls: OwnCalls, since: float, quota_reports: Iterable[tuple[str, QuotaReport]]
) -> list[ReportedWindow]:
    """The newest report on each quota window, made from `since` on (Unix seconds)."""
    reports = [*((summary.source, report) for summary, _ in all_calls for report in summary.quotas), *quota_reports]
    clients: dict[str, set[str]] = {}
    for source, report in reports:
        clients.setdefault(report.limit, set()).add(source)
    quotas = newest_quotas(report for _, report in reports if report.at >= since)
    return [
        reported_window(
            report,
            (
                CallUse(call.started, call.tokens, call.cost, call.partial)
                for summary, calls in all_calls
                if summary.source in clients[report.limit]
                for call in calls
            ),
        )
        for report in sorted(quotas, key=lambda report: report.window)
    ]


def _worst_misses(own: OwnCalls) -> list[WorstMiss]:
    misses = [
        WorstMiss(summary.key, summary.title, number, call.lost, call.cause, call.started)
        for summary, calls in own
        for number, call in _number_calls(summary, calls)
        if call.lost
    ]
    return sorted(misses, key=lambda miss: (-miss.lost, miss.key, miss.call))[:_WORST]


def _number_calls(summary: SessionSummary, calls: list[CallSpent]) -> Iterator[tuple[int, CallSpent]]:
    # Two calls of a session may have one id.
    own = set(map(id, calls))
    return ((number, call) for number, call in enumerate(summary.spent, 1) if id(call) in own)


def _heavy_tools(summaries: list[SessionSummary], since: float) -> list[HeavyTool]:
    tools = [
        HeavyTool(
            server.name,
            tool.name,
            tool.called,
            tool.results,
            tool.use_usd + (tool.schema_usd or 0.0),
        )
        for server in tools_ledger(summaries, since).servers
        for tool in server.tools
    ]
    return sorted(tools, key=lambda tool: (-tool.usd, -tool.results, tool.server, tool.name))
