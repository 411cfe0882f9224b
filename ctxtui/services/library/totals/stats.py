"""Where tokens, money and quota windows went over many sessions, from the remembered figures of each; every call
counted once."""

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
from ctxtui.analysis.money.usage_stats import HeavyTool, Stats, UsageSums, WorstMiss
from ctxtui.core.usage import QuotaReport, newest_quotas
from ctxtui.services.library.tool_ledger import tools_ledger
from ctxtui.services.library.totals.spending import (
    DAY,
    MODEL,
    PROJECT,
    QUARTER,
    TOOL,
    UNKNOWN,
    name_of,
    summed,
    used_by,
)
from ctxtui.services.library.totals.stat_changes import VERSION, Change, OwnCalls, changes_in, compared
from ctxtui.views.model.call_owners import sessions_with_owned_calls
from ctxtui.views.model.session_summary import CallSpent, SessionSummary

SOURCE, SKILL, WEEK, FIVE_HOURS = "source", "skill", "week", "5-hours"
WAYS: Final = (PROJECT, MODEL, TOOL, SOURCE, VERSION, SKILL, DAY, WEEK, FIVE_HOURS)
_IN_TIME: Final = frozenset({DAY, WEEK, FIVE_HOURS})
NO_SKILL: Final = "no skill"
NO_VERSION: Final = "no version"
UNCOUNTED: Final = "not counted yet"
"""The skill of calls in sessions of which only the usage is known."""
_WORST: Final = 50


def stats_of(
    sessions: Iterable[SessionSummary],
    at: float,
    *,
    by: str = "",
    since: float = 0.0,
    changed: Change | None = None,
    seen_changes: bool = False,
    told: Iterable[tuple[str, QuotaReport]] = (),
) -> Stats:
    """The stats at the Unix time `at` of sessions whose figures are known, of their calls from `since` (Unix seconds)
    on; a call without a time is as old as its session. `by` is one of `WAYS` ("": no rows); with `seen_changes` also
    which changes there are to compare by. `told` are reports on quotas that are in no recording, each with the client
    that made it."""
    known = list(sessions)
    every = list(sessions_with_owned_calls(known))
    own = [(one, [call for call in calls if (call.started or one.mtime) >= since]) for one, calls in every]
    own = [(one, calls) for one, calls in own if calls]
    used = [CallUse(call.started, call.tokens, call.cost, call.partial) for _, calls in own for call in calls]
    windows = five_hour_windows(used)
    starts = [window.start for window in windows]
    parts = [_by_name(one, calls, by, starts) for one, calls in own]
    within = [one for one in known if max((c.started or one.mtime for c in one.spent), default=one.mtime) >= since]
    total = summed("", [usage for part in parts for usage in part.values()], len(within))
    total.uncounted = sum(one.usage_only for one in within)
    return Stats(
        total=total,
        rows=_rows(parts, by) if by and by != TOOL else [],
        windows=windows,
        week=last_week(used, at),
        reported=_reported(every, since, told),
        worst=_worst(own),
        tools=_tools(known, since),
        comparison=compared(own, changed) if changed is not None else None,
        changes=changes_in(own) if seen_changes else [],
    )


def _by_name(one: SessionSummary, calls: list[CallSpent], by: str, starts: list[int]) -> dict[str, UsageSums]:
    """What calls of a session used, by the rows of `by` that they belong to."""
    named: dict[str, list[CallSpent]] = {}
    for call in calls:
        name = _window(call, starts) if by == FIVE_HOURS else _name(one, call, by)
        named.setdefault(name, []).append(call)
    return {name: used_by(one, own) for name, own in named.items()}


def _rows(parts: list[dict[str, UsageSums]], by: str) -> list[UsageSums]:
    named: dict[str, list[UsageSums]] = {}
    for part in parts:
        for name, usage in part.items():
            named.setdefault(name, []).append(usage)
    found = [summed(name, usages, len(usages)) for name, usages in named.items()]
    if by in _IN_TIME:
        return sorted(found, key=lambda row: (row.name != UNKNOWN, row.name), reverse=True)
    return sorted(found, key=lambda row: (-(row.usd or 0.0), -row.tokens, row.name))


def _window(call: CallSpent, starts: list[int]) -> str:
    """The window of five hours that a call lies in: ``2026-11-22 14:00``, the local time of its beginning."""
    if not call.started:
        return UNKNOWN
    return _moment(starts[bisect_right(starts, call.started) - 1])


@lru_cache(maxsize=4096)
def _moment(start: int) -> str:
    return f"{datetime.fromtimestamp(start).astimezone():%Y-%m-%d %H:%M}"


def _name(one: SessionSummary, call: CallSpent, by: str) -> str:
    if by == WEEK:
        return week_of(call.started)
    if by == SKILL:
        return UNCOUNTED if one.usage_only else call.skill or NO_SKILL
    if by == VERSION:
        unknown = f"{one.source}, {NO_VERSION}" if one.source else UNKNOWN
        return f"{one.source} {one.client_version}".strip() if one.client_version else unknown
    return one.source or UNKNOWN if by == SOURCE else name_of(one, call, by)


def week_of(started: float | None) -> str:
    """The local week of a Unix time by ISO 8601, ``2026-W47``."""
    return _week_of(int(started // QUARTER)) if started else UNKNOWN


@lru_cache(maxsize=4096)
def _week_of(quarter: int) -> str:
    year, week, _ = datetime.fromtimestamp(quarter * QUARTER).astimezone().isocalendar()
    return f"{year}-W{week:02}"


def _reported(every: OwnCalls, since: float, told: Iterable[tuple[str, QuotaReport]]) -> list[ReportedWindow]:
    """The newest report on each window of a quota, of those made from `since` on (Unix seconds)."""
    reports = [*((one.source, report) for one, _ in every for report in one.quotas), *told]
    to: dict[str, set[str]] = {}
    for source, report in reports:
        to.setdefault(report.limit, set()).add(source)
    known = newest_quotas(report for _, report in reports if report.at >= since)
    return [
        reported_window(
            report,
            (
                CallUse(call.started, call.tokens, call.cost, call.partial)
                for one, calls in every
                if one.source in to[report.limit]
                for call in calls
            ),
        )
        for report in sorted(known, key=lambda report: report.window)
    ]


def _worst(own: OwnCalls) -> list[WorstMiss]:
    found = [
        WorstMiss(one.key, one.title, number, call.lost, call.cause, call.started)
        for one, calls in own
        for number, call in _numbered(one, calls)
        if call.lost
    ]
    return sorted(found, key=lambda miss: (-miss.lost, miss.key, miss.call))[:_WORST]


def _numbered(one: SessionSummary, calls: list[CallSpent]) -> Iterator[tuple[int, CallSpent]]:
    ids = {call.id for call in calls}
    return ((number, call) for number, call in enumerate(one.spent, 1) if call.id in ids)


def _tools(known: list[SessionSummary], since: float) -> list[HeavyTool]:
    found = [
        HeavyTool(
            server.name,
            tool.name,
            tool.called,
            tool.results,
            tool.use_usd + (tool.schema_usd or 0.0),
        )
        for server in tools_ledger(known, since).servers
        for tool in server.tools
    ]
    return sorted(found, key=lambda tool: (-(tool.usd or 0.0), -tool.results, tool.server, tool.name))
