"""Usage over many sessions: tables of rows, tools, quota windows and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, cast

from ctxtui.analysis.money.quota_windows import QuotaWindow, ReportedWindow
from ctxtui.analysis.money.usage_stats import (
    Comparison,
    Estimate,
    HeavyTool,
    Metric,
    SeenChange,
    Stats,
    UsageSums,
    WorstMiss,
)
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


def quota_table(at: float, *, mark: int = 1) -> Table[ReportedWindow]:
    """The table of reported quotas at Unix time `at`, next to ctxtui's own sums."""

    def resets(row: ReportedWindow, room: int) -> Span:
        report = row.report
        if not report.resets:
            return Span(numbers.NONE, "faint")
        over = report.resets <= at
        return Span(f"{'over ' if over else ''}{_format_time(report.resets, at)}", "faint" if over else "ink")

    def used(row: ReportedWindow, room: int) -> Span:
        report = row.report
        is_over = 0 < report.resets <= at
        return Span(
            numbers.share(report.used, 0),
            "dim" if is_over else "warn" if report.used >= WARN_FROM_SHARE else "ink bold",
        )

    def our_sum(row: ReportedWindow, room: int) -> Span:
        return Span(format_window(row.ours) if row.ours.calls else numbers.NONE, "dim")

    def reported(row: ReportedWindow, room: int) -> Span:
        return Span(_format_time(row.report.at, at) if row.report.at else numbers.NONE, "dim")

    return Table(
        (
            Column("quota", 0, _limit, "left", least=10, sort=lambda row: row.report.limit),
            Column("window", 8, lambda row, _: Span(window_words(row.report.minutes)), "left", gap=1),
            Column("used", 5, used, gap=1, sort=lambda row: row.report.used),
            Column("resets", 16, resets, "left", gap=2, sort=lambda row: row.report.resets),
            Column("reported", 11, reported, "left", gap=2, sort=lambda row: row.report.at),
            Column("our sum", 18, our_sum, gap=1, from_width=66, sort=lambda row: row.ours.tokens),
        ),
        mark=mark,
    )


WARN_FROM_SHARE: Final = 0.9


def window_words(minutes: int) -> str:
    """``5 hours``, ``7 days``; tolerates one minute, since some client versions are off by one."""
    for size, noun in ((1440, "day"), (60, "hour")):
        count = round(minutes / size)
        if count and abs(minutes - count * size) <= 1:
            return numbers.many(count, noun)
    return numbers.many(minutes, "minute")


def _limit(row: ReportedWindow, room: int) -> Span:
    return Span(cells.ends(safe_text.one_line(row.report.limit, 200), room))


def _format_time(when: float, at: float) -> str:
    """``11-23 14:05`` in local time.

    ``2025-06-26`` if half a year or more from the Unix time `at`.
    """
    near = abs(when - at) < _HALF_A_YEAR
    return f"{datetime.fromtimestamp(when).astimezone():{'%m-%d %H:%M' if near else '%Y-%m-%d'}}"


_HALF_A_YEAR: Final = 180 * 86_400


def format_window(window: QuotaWindow) -> str:
    return f"{numbers.least_tokens(window.tokens, window.partial > 0)}, {numbers.least(window.usd, window.at_least)}"


def _open_quotas(windows: Iterable[ReportedWindow], at: float) -> Iterator[str]:
    for window in windows:
        report = window.report
        if report.resets > at:
            words = f"{safe_text.one_line(report.limit, 30)} {window_words(report.minutes)}"
            yield f"{words} {numbers.share(report.used, 0)} used"


StatRow = UsageSums | HeavyTool | WorstMiss | SeenChange | ReportedWindow

CAUSE_CELLS: Final = 17
PENDING: Final = Span("…", "faint")
_COUNTED: Final = frozenset({"misses", "overflows", "compactions"})


def table(head: str, *, mark: int = 1) -> Table[UsageSums]:
    """The table of rows grouped by `head`: a project, a model, a week ..."""
    return Table(
        (
            Column(head, 0, _name, "left", least=14, sort=lambda row: row.name),
            Column("sessions", 8, _count("sessions"), gap=1, from_width=90, sort=lambda row: row.sessions),
            Column("calls", 7, _count("calls"), gap=1, sort=lambda row: row.calls),
            Column("input", 7, _input, gap=1, sum=_explain_input, sort=lambda row: row.input),
            Column("read", 5, _read, gap=1, sum=_explain_read, sort=lambda row: row.read_share or 0.0),
            Column("output", 7, _output, gap=1, from_width=90, sort=lambda row: row.output),
            Column("misses", 6, _count("misses", "warn"), gap=1, from_width=66, sort=lambda row: row.misses),
            Column("lost", 8, _lost, gap=1, sum=_explain_lost, sort=lambda row: row.lost or 0.0),
            Column("over", 5, _count("overflows", "warn"), gap=1, from_width=74, sort=lambda row: row.overflows),
            Column("comp.", 5, _count("compactions"), gap=1, from_width=74, sort=lambda row: row.compactions),
            Column("cost", 9, _cost, gap=1, sum=_explain_cost, sort=lambda row: row.usd or 0.0),
        ),
        mark=mark,
    )


def tools_table(*, mark: int = 1) -> Table[HeavyTool]:
    return Table(
        (
            Column("server, tool", 0, _tool, "left", least=16, sort=lambda row: row.name),
            Column("called", 8, lambda row, _: Span(f"{row.called:,}"), gap=1, sort=lambda row: row.called),
            Column("results", 9, _results, gap=1, sort=lambda row: row.results),
            Column("cost", 9, lambda row, _: Span(numbers.money(row.usd)), gap=1, sort=lambda row: row.usd),
        ),
        mark=mark,
    )


def _misses_table() -> Table[WorstMiss]:
    return Table(
        (
            Column("lost", 8, lambda row, _: Span(numbers.money(row.lost), "warn"), sort=lambda row: row.lost),
            Column("cause", CAUSE_CELLS, lambda row, _: Span(row.cause or numbers.NONE), "left", gap=2, from_width=60),
            Column("day", 10, _day, "left", gap=1, from_width=100, sort=lambda row: row.at),
            Column("call", 7, lambda row, _: Span(f"{row.call:,}"), gap=1, sort=lambda row: row.call),
            Column("title", 0, _session, "left", gap=2, least=20, sort=lambda row: row.title or row.key),
        )
    )


def _changes_table() -> Table[SeenChange]:
    return Table(
        (
            Column("change", 0, _words, "left", least=20, sort=lambda row: row.words),
            Column("since", 10, _since, "left", gap=1, sort=lambda row: row.first),
            Column("sessions", 15, lambda row, _: _sides(row.before, row.after), gap=1, sort=lambda row: row.after),
            Column("calls", 15, lambda row, _: _sides(row.calls_before, row.calls_after), gap=1, from_width=66),
        )
    )


def _words(row: SeenChange, room: int) -> Span:
    return Span(cells.ends(safe_text.one_line(row.words, 400), room))


def _since(row: SeenChange, room: int) -> Span:
    return Span(f"{datetime.fromtimestamp(row.first).astimezone():%Y-%m-%d}" if row.first else numbers.NONE, "dim")


def _sides(before: int, after: int) -> list[Span]:
    return [Span(f"{before:,}", "dim"), Span(" → ", "faint"), Span(f"{after:,}")]


def _day(row: WorstMiss, room: int) -> Span:
    return Span(f"{datetime.fromtimestamp(row.at).astimezone():%Y-%m-%d}" if row.at else numbers.NONE, "dim")


def _session(row: WorstMiss, room: int) -> Span:
    return Span(cells.ends(safe_text.one_line(row.title or row.key, 400), room))


def table_for_rows(rows: Sequence[StatRow], head: str, at: float) -> Table[StatRow]:
    """The table for rows of one kind, at the Unix time `at`; `head` names the grouping."""
    if any(isinstance(row, WorstMiss) for row in rows):
        return cast(Table[StatRow], _misses_table())
    if any(isinstance(row, SeenChange) for row in rows):
        return cast(Table[StatRow], _changes_table())
    if any(isinstance(row, ReportedWindow) for row in rows):
        return cast(Table[StatRow], quota_table(at))
    chosen = tools_table() if any(isinstance(row, HeavyTool) for row in rows) else table(head)
    return cast(Table[StatRow], chosen)


def explain_summary(stats: Stats) -> dict[str, str]:
    return {"list price": _explain_cost(stats.total)}


def _name(row: UsageSums, room: int) -> Span:
    words = safe_text.one_line(row.name, 400) or "all"
    return Span(_shorten_name(words, room), "ink" if row.name else "ink bold")


def _shorten_name(words: str, room: int) -> str:
    """The end of a path, or both ends of a model name, so that different rows differ."""
    if words.startswith(("/", "~")):
        return words if cells.width(words) <= room else f"…{cells.tail(words, room - 1)}"
    return words if cells.width(words) <= room else cells.ends(words.removeprefix("claude-"), room)


def _count(field: str, style: str = "ink") -> Callable[[UsageSums, int], Span]:
    def cell(row: UsageSums, room: int) -> Span:
        if row.uncounted and field in _COUNTED:
            return PENDING
        value: int = getattr(row, field)
        return Span(f"{value:,}", style) if value else Span(numbers.NONE, "faint")

    return cell


def _input(row: UsageSums, room: int) -> Span:
    return Span(numbers.tokens(row.input) if row.input else numbers.NONE, "ink" if row.input else "faint")


def _output(row: UsageSums, room: int) -> Span:
    shown = numbers.least_tokens(row.output, row.partial > 0) if row.output else numbers.NONE
    return Span(shown, "ink" if row.output else "faint")


def _read(row: UsageSums, room: int) -> Span:
    return Span(numbers.NONE, "faint") if row.read_share is None else Span(numbers.share(row.read_share, 0))


def _lost(row: UsageSums, room: int) -> Span:
    if row.uncounted:
        return PENDING
    if not row.misses:
        return Span(numbers.NONE, "faint")
    return Span(numbers.least(row.lost, row.unpriced_misses > 0).replace(" ", ""), "warn")


def _cost(row: UsageSums, room: int) -> Span:
    if not row.calls:
        return Span(numbers.NONE, "faint")
    return Span(numbers.least(row.usd, row.at_least), "ink" if row.name else "ink bold")


def _tool(row: HeavyTool, room: int) -> list[Span]:
    server = safe_text.one_line(row.server, 60)
    return [Span(safe_text.one_line(row.name, 200) or "all tools"), Span(f"  {server}" if server else "", "dim")]


def _results(row: HeavyTool, room: int) -> Span:
    return Span(numbers.tokens(row.results) if row.results else numbers.NONE, "ink" if row.results else "faint")


def _explain_input(row: UsageSums) -> str:
    return f"{row.input:,} tokens = {row.read:,} read from the cache + {row.input - row.read:,} others."


def _explain_read(row: UsageSums) -> str:
    return sums.share(row.read, row.input, " of input")


def _explain_lost(row: UsageSums) -> str:
    if row.uncounted:
        return f"{numbers.many(row.uncounted, 'session')} not counted yet."
    share_text = sums.share_of_money(row.lost, row.usd)
    if not row.unpriced_misses:
        return share_text
    return f"{share_text} The price of {numbers.many(row.unpriced_misses, 'miss', 'misses')} is not known.".strip()


def _explain_cost(row: UsageSums) -> str:
    least = f" {numbers.many(row.unpriced, 'call')} without a price." if row.unpriced else ""
    least += f" {numbers.many(row.partial, 'answer')} only partly reported." if row.partial else ""
    return sums.rate(row.usd, row.input + row.output) + least


NONE_YET: Final = "No call of yours yet; samples do not count. Run an agent, or `ctxtui import`."


def summary_line(stats: Stats, at: float, room: int | None = None) -> list[Span]:
    """Summary line at the Unix time `at`: sessions, tokens, money, open window and week.

    To fit in `room` cells (None: no limit), parts are left out as in `OMITTED_PARTS`.
    """
    total = stats.total
    parts = [
        numbers.many(total.sessions, "session"),
        numbers.many(total.calls, "call"),
        f"{numbers.least_tokens(total.tokens, total.partial > 0)} tokens",
        f"{numbers.least(total.usd, total.at_least)} list price" if total.calls else "",
        *(f"5 hours {format_window(window)}" for window in stats.windows if window.is_open_at(at)),
        f"7 days {format_window(stats.week)}" if stats.week.calls else "",
        ", ".join(_open_quotas(stats.reported, at)),
    ]
    quota_text = parts.pop()
    line = ""
    for without in OMITTED_PARTS:
        remaining = [part for n, part in enumerate(parts) if n not in without]
        line = SEPARATOR.join(filter(None, [*remaining, "" if _REPORTS in without else quota_text]))
        if room is None or len(line) <= room:
            break
    return [Span(line, "dim")]


SEPARATOR: Final = " · "
# Indices of parts in the summary line; the quota reports come last.
_REPORTS: Final = -1
_CALLS, _TOKENS, _MONEY, _SESSIONS = 1, 2, 3, 0
OMITTED_PARTS: Final = (
    (),
    (_CALLS,),
    (_CALLS, _TOKENS),
    (_REPORTS,),
    (_REPORTS, _CALLS),
    (_REPORTS, _CALLS, _TOKENS),
    (_REPORTS, _CALLS, _TOKENS, _MONEY),
    (_REPORTS, _CALLS, _TOKENS, _MONEY, _SESSIONS),
)
"""Parts left out of the summary line; the first alternative whose line fits is used, else the last."""


_UNITS: Final[dict[str, Callable[[float], str]]] = {
    "usd": numbers.money,
    "tokens": numbers.tokens,
    "share": numbers.share,
    "calls": lambda value: f"{value:,.2f}",
}


def describe_sides(comparison: Comparison) -> str:
    """``9 sessions, 120 calls → 4 sessions, 31 calls``."""
    sides = (comparison.before, comparison.after)
    return " → ".join(f"{numbers.many(side.sessions, 'session')}, {numbers.many(side.calls, 'call')}" for side in sides)


def explain_missing_side(stats: Stats, change: str) -> str:
    """Explain that `change` cannot be compared, and name some changes that can."""
    kind = change.partition("=")[0] + "="
    available = [safe_text.one_line(change.words, 60) for change in stats.changes]
    available = [words for words in available if words.startswith(kind)] or available
    known_changes = (
        f" Known: {', '.join(available[:MAX_NAMED_CHANGES])}{', ...' if len(available) > MAX_NAMED_CHANGES else ''}."
        if available
        else ""
    )
    return f"One of the two sides has no call, so there is nothing to compare.{known_changes}"


MAX_NAMED_CHANGES: Final = 6


def session_counts(comparison: Comparison) -> str:
    """``9 → 4 sessions``."""
    return f"{comparison.before.sessions:,} → {numbers.many(comparison.after.sessions, 'session')}"


def metrics_table(*, mark: int = 0) -> Table[Metric]:
    """The table of a comparison: each figure before and after a change."""
    return Table(
        (
            Column("figure", 25, lambda row, _: Span(row.name), "left"),
            Column("before", 8, lambda row, _: Span(_value(row, row.before)), gap=1),
            Column("after", 8, lambda row, _: Span(_value(row, row.after)), gap=1),
            Column("difference", 10, lambda row, _: Span(_signed(row), "accent bold" if row.shown else "dim"), gap=1),
            Column("95 % interval", 0, _range, "left", gap=2, least=16),
        ),
        mark=mark,
    )


def _value(row: Metric, estimate: Estimate | None) -> str:
    return numbers.NONE if estimate is None else _in_unit(row.unit, estimate.value)


def _in_unit(unit: str, value: float) -> str:
    return (numbers.MINUS if value < 0 else "") + _UNITS[unit](abs(value))


def _signed(row: Metric) -> str:
    if row.difference is None:
        return numbers.NONE
    words = _in_unit(row.unit, row.difference.value)
    return f"+{words}" if row.difference.value > 0 else words


CHANCE_NOTES: Final = ("  no difference shown", "  chance")


def _range(row: Metric, room: int) -> Span:
    difference = row.difference
    if difference is None or difference.low is None or difference.high is None:
        return Span("too few sessions", "faint")
    words = f"{_in_unit(row.unit, difference.low)} … {_in_unit(row.unit, difference.high)}"
    if row.shown:
        return Span(words)
    note = next((text for text in CHANCE_NOTES if len(words) + len(text) <= room), "")
    return Span(words + note, "dim")


def available_metrics(metrics: Iterable[Metric]) -> list[Metric]:
    return [metric for metric in metrics if metric.before is not None or metric.after is not None]
