"""Quota windows of subscriptions: usage in each window of five hours, and in the last week."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.usage import QuotaReport

HOUR: Final = 3600
FIVE_HOURS: Final = 5 * HOUR
WEEK: Final = 7 * 24 * HOUR


class CallUse(NamedTuple):
    """Usage of one call: its start (Unix seconds), tokens in and out, USD.

    `partial`: it is not fully reported.
    """

    started: int
    tokens: int
    usd: float | None = None
    partial: bool = False


class QuotaWindow(Struct, frozen=True, kw_only=True):
    """Usage from `start` (Unix seconds) for `seconds`.

    `last` is the start of the last call in it. USD is a lower bound if calls are `unpriced`; tokens and USD are if
    calls are not fully reported (`partial`).
    """

    start: int
    seconds: int
    last: int
    calls: int
    tokens: int
    usd: float | None
    unpriced: int
    partial: int = 0

    @property
    def at_least(self) -> bool:
        return self.unpriced > 0 or self.partial > 0

    @property
    def end(self) -> int:
        return self.start + self.seconds

    def is_open_at(self, at: float) -> bool:
        return self.start <= at < self.end


def five_hour_windows(calls: Iterable[CallUse]) -> list[QuotaWindow]:
    """Windows of five hours, oldest first.

    Each begins with the full hour of the first call outside a window.
    """
    windows: list[tuple[int, list[CallUse]]] = []
    end = 0
    for call in sorted((use for use in calls if use.started), key=attrgetter("started")):
        if not windows or call.started >= end:
            start = call.started - call.started % HOUR
            windows.append((start, []))
            end = start + FIVE_HOURS
        windows[-1][1].append(call)
    return [_make_window(start, FIVE_HOURS, calls_in_window) for start, calls_in_window in windows]


def last_week(calls: Iterable[CallUse], time: float) -> QuotaWindow:
    """The seven days before `time` (Unix seconds)."""
    start = int(time) - WEEK
    return _make_window(start, WEEK, [call for call in calls if start < call.started <= time])


class ReportedWindow(NamedTuple):
    """A provider's `report` on a window, and our own count up to its time (`ours`)."""

    report: QuotaReport
    ours: QuotaWindow


def reported_window(report: QuotaReport, calls: Iterable[CallUse]) -> ReportedWindow:
    """Pair a report with our own sum over `calls`, those that count for its quota."""
    report_time = report.at or report.resets
    calls_in_window = [call for call in calls if report.begins <= call.started <= report_time]
    return ReportedWindow(report, _make_window(report.begins, 60 * report.minutes, calls_in_window))


def _make_window(start: int, seconds: int, calls: list[CallUse]) -> QuotaWindow:
    priced = [call.usd for call in calls if call.usd is not None]
    return QuotaWindow(
        start=start,
        seconds=seconds,
        last=max((call.started for call in calls), default=start),
        calls=len(calls),
        tokens=sum(call.tokens for call in calls),
        usd=sum(priced) if priced else None,
        unpriced=sum(call.usd is None and call.tokens > 0 for call in calls),
        partial=sum(call.partial for call in calls),
    )
