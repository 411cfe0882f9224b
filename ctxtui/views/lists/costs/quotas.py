"""What providers report of quota windows, beside what ctxtui adds up itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from ctxtui.analysis.money.quota_windows import QuotaWindow, ReportedWindow
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


def quota_table(at: float, *, mark: int = 1) -> Table[ReportedWindow]:
    """The table of what providers reported of quota windows, at the Unix time `at`."""

    def resets(row: ReportedWindow, room: int) -> Span:
        report = row.report
        if not report.resets:
            return Span(numbers.NONE, "faint")
        over = report.resets <= at
        return Span(f"{'over ' if over else ''}{_moment(report.resets, at)}", "faint" if over else "ink")

    def used(row: ReportedWindow, room: int) -> Span:
        report = row.report
        gone = 0 < report.resets <= at
        return Span(numbers.share(report.used, 0), "dim" if gone else "warn" if report.used >= _TIGHT else "ink bold")

    def reported(row: ReportedWindow, room: int) -> Span:
        return Span(_moment(row.report.at, at) if row.report.at else numbers.NONE, "dim")

    return Table(
        (
            Column("quota", 0, _limit, "left", least=10, sort=lambda row: row.report.limit),
            Column("window", 8, lambda row, _: Span(window_words(row.report.minutes), "ink"), "left", gap=1),
            Column("used", 5, used, gap=1, sort=lambda row: row.report.used),
            Column("resets", 16, resets, "left", gap=2, sort=lambda row: row.report.resets),
            Column("reported", 11, reported, "left", gap=2, sort=lambda row: row.report.at),
            Column("our sum", 18, _our_sum, gap=1, from_width=66, sort=lambda row: row.ours.tokens),
        ),
        mark=mark,
    )


_TIGHT: Final = 0.9
"""Share from which on a quota is nearly gone."""


def window_words(minutes: int) -> str:
    """``5 hours``, ``7 days``; to within a minute, as some versions of a client are off by one."""
    for size, noun in ((1440, "day"), (60, "hour")):
        count = round(minutes / size)
        if count and abs(minutes - count * size) <= 1:
            return numbers.many(count, noun)
    return numbers.many(minutes, "minute")


def _limit(row: ReportedWindow, room: int) -> Span:
    return Span(cells.ends(safe_text.one_line(row.report.limit, 200), room), "ink")


def _our_sum(row: ReportedWindow, room: int) -> Span:
    return Span(of_window(row.ours) if row.ours.calls else numbers.NONE, "dim")


def _moment(when: float, at: float) -> str:
    """``11-23 14:05``, local time, seen at the Unix time `at`; the day alone, ``2025-06-26``, of half a year ago."""
    near = abs(when - at) < _HALF_A_YEAR
    return f"{datetime.fromtimestamp(when).astimezone():{'%m-%d %H:%M' if near else '%Y-%m-%d'}}"


_HALF_A_YEAR: Final = 180 * 86_400


def of_window(window: QuotaWindow) -> str:
    """``1.2M, $3.40``."""
    return f"{numbers.least_tokens(window.tokens, window.partial > 0)}, {numbers.least(window.usd, window.at_least)}"


def reported_now(reported: Iterable[ReportedWindow], at: float) -> Iterator[str]:
    """``codex 5 hours 32 % used``, of each window that is open."""
    for one in reported:
        report = one.report
        if report.resets > at:
            words = f"{safe_text.one_line(report.limit, 30)} {window_words(report.minutes)}"
            yield f"{words} {numbers.share(report.used, 0)} used"
