"""`ctxtui stats`: tokens, money and quotas over many sessions, or before and after a change."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click
from msgspec import to_builtins

from ctxtui.analysis.money.quota_windows import ReportedWindow
from ctxtui.analysis.money.usage_stats import Comparison, Estimate, Metric, Stats, UsageSums
from ctxtui.cli.all_sessions import NO_CALLS, Age, AllSessions
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.cli.progress import RedrawnOutput, can_redraw
from ctxtui.cli.session_work import CLUSTER_HELP, ClusterAddress
from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.totals import client_quotas
from ctxtui.services.library.totals.spending import TOOL
from ctxtui.services.library.totals.stat_changes import Change, parse_change
from ctxtui.services.library.totals.stats import FIVE_HOURS, SKILL, WAYS, make_stats
from ctxtui.services.members import members
from ctxtui.views.home.columns import is_empty
from ctxtui.views.lists.costs import stats as view
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

OVERVIEW_ROWS: Final = 5
CONTENT_GROUPINGS: Final = frozenset({TOOL, SKILL})


class ChangeName(click.ParamType[Change]):
    """A change: a date, ``client-version=2.1.300``, ``policy=NAME`` ..."""

    name = "change"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Change:
        try:
            return value if isinstance(value, Change) else parse_change(str(value))
        except CtxtuiError as error:
            self.fail(f"{error.message}: {error.way_out}", param, ctx)


NO_CALLS_TEXT: Final = f"{NO_CALLS} FOLDER and --since restrict it to a folder or time."


@click.command(
    "stats",
    help="Show where tokens, money and quota windows went, over all your sessions or those in FOLDER; every call is "
    "counted once. Sessions are read once and cached.\n\n"
    "--change compares the calls before and after a change, each figure with its 95 % interval: a date, "
    "client-version=V (from that version on), policy=NAME (sessions with the policy), compressor=NAME (sessions it "
    "compacted, against those compacted by others), or tag=NAME (sessions with the tag). --json lists the available "
    "changes.\n\n"
    "Misses, overflows, compactions and tools need token counts: the first time they appear after the rest; --usage "
    "leaves them out.\n\n\b\n"
    "Example: ctxtui stats --since 30d --by project\n"
    "Example: ctxtui stats --change client-version=2.1.300",
)
@click.argument("folder", metavar="[FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--since", type=Age(), metavar="AGE", help="Only calls within an age: 7d, 12h ...")
@click.option("--by", type=click.Choice(WAYS), help="One row for each.")
@click.option("--change", "changed", type=ChangeName(), metavar="WHAT", help="Compare before and after this change.")
@click.option("--usage", is_flag=True, help="Only the usage of calls: fast, also for sessions that are not read yet.")
@click.option("--cluster", type=ClusterAddress(), metavar="ADDRESS", default="", help=CLUSTER_HELP)
@JSON_OPTION
@click.pass_context
def stats(
    context: click.Context,
    folder: Path | None,
    since: float | None,
    by: str | None,
    changed: Change | None,
    usage: bool,
    cluster: str,
    as_json: bool,
) -> None:
    settings = config_of(context).settings
    if folder is not None and not folder.is_dir():
        raise WrongUse(f"{folder} is not a folder", way_out="ctxtui stats [FOLDER]; ctxtui cost FILE for one session")
    if usage and by in CONTENT_GROUPINGS:
        raise WrongUse(f"--by {by} needs the contents of contexts", way_out="remove --usage")
    at = time.time()
    beginning = at - since if since is not None else 0.0
    sessions = AllSessions(settings, folder, cluster, beginning)
    client_reports = (
        [(client_quotas.SOURCE, summary) for summary in client_quotas.read_reports(settings)] if folder is None else []
    )

    def compute() -> Stats:
        return make_stats(
            sessions.summaries,
            at,
            by=by or "",
            since=beginning,
            changed=changed,
            list_changes=as_json or changed is not None,
            quota_reports=client_reports,
        )

    if usage:
        sessions.read_usage()
    elif as_json or cluster or by in CONTENT_GROUPINGS or not sessions.unread_count or not can_redraw():
        for _ in sessions.read():
            pass
    else:
        _show_progressively(sessions, lambda so_far: _print(Painter(settings.glyphs), so_far, by or "", at), compute)
    result = compute()
    failed = [summary for summary in sessions.summaries if summary.error and not is_empty(summary)]
    if as_json:
        errors = [{"file": summary.path, "error": summary.error} for summary in failed]
        write_json({"since_seconds": since, **stats_json(result, by or "", at), "failed": errors})
    else:
        _print(Painter(settings.glyphs), result, by or "", at)
    for summary in failed:
        note(f"{summary.path}: {summary.error}")


def _show_progressively(sessions: AllSessions, show: Callable[[Stats], None], compute: Callable[[], Stats]) -> None:
    """Show the usage first, then other figures while sessions are counted.

    Nothing stays on the screen.
    """
    sessions.read_usage()
    with RedrawnOutput() as screen:
        screen.draw(lambda: show(compute()))
        for _ in sessions.read():
            if screen.is_due():
                screen.draw(lambda: show(compute()))


def _print(painter: Painter, result: Stats, by: str, at: float) -> None:
    room = width()
    painter.lines(rule("stats", "".join(span.text for span in view.summary_line(result, at))))
    if not result.total.calls:
        painter.lines([[Span(line)] for line in safe_text.wrap(NO_CALLS_TEXT, room)])
        return
    if by != TOOL:
        painter.lines(table_lines(view.table(by.replace("-", " "), mark=0), [*result.rows, result.total], room))
    tools = result.tools if by == TOOL else result.tools[:OVERVIEW_ROWS]
    if tools:
        painter.lines(rule("tools", _coverage_note(result, "" if by == TOOL else "most expensive first")))
        painter.lines(table_lines(view.tools_table(mark=0), tools, room))
    if result.worst and by != TOOL:
        painter.lines(rule("misses", _coverage_note(result, "most expensive first")))
        for miss in result.worst[:OVERVIEW_ROWS]:
            title = cells.ends(safe_text.one_line(miss.title or miss.key, 400), room - view.CAUSE_CELLS - 26)
            cause = Span(f"  {miss.cause:{view.CAUSE_CELLS}}")
            usd = Span(f"{numbers.money(miss.lost):>9}", "warn")
            painter.line([usd, cause, Span(f"  call {miss.call:,} of ", "dim"), Span(title)])
    _print_windows(painter, result, by, at, room)
    if result.comparison is not None:
        _print_change(painter, result.comparison, room)
        if not (result.comparison.before.calls and result.comparison.after.calls):
            painter.lines(
                [Span(line, "warn")]
                for line in safe_text.wrap(view.explain_missing_side(result, result.comparison.what), room)
            )


def _print_windows(painter: Painter, result: Stats, by: str, at: float, room: int) -> None:
    if by == TOOL:
        return
    if result.windows and by != FIVE_HOURS:
        painter.lines(rule("windows of 5 hours", "fullest first"))
        for window in sorted(result.windows, key=lambda window: -window.tokens)[:OVERVIEW_ROWS]:
            start = datetime.fromtimestamp(window.start).astimezone()
            painter.line([Span(f"{start:%Y-%m-%d %H:%M}"), Span(f"  {view.format_window(window)}", "dim")])
    if result.reported:
        painter.lines(rule("quota", "last reports of the providers"))
        painter.lines(table_lines(view.quota_table(at, mark=0), result.reported, room))


def _print_change(painter: Painter, comparison: Comparison, room: int) -> None:
    painter.lines(rule(f"before and after {safe_text.one_line(comparison.what, 60)}", view.describe_sides(comparison)))
    painter.lines(table_lines(view.metrics_table(), view.available_metrics(comparison.metrics), room))


def _coverage_note(result: Stats, words: str) -> str:
    uncounted = result.total.uncounted
    counted = f"{result.total.sessions - uncounted:,} sessions counted, {uncounted:,} not yet"
    return f"{words}; {counted}".removeprefix("; ") if uncounted else words


def stats_json(result: Stats, by: str, at: float) -> dict[str, Any]:
    return {
        "by": by or None,
        "total": _usage(result.total),
        "rows": [tool._asdict() for tool in result.tools] if by == TOOL else [_usage(row) for row in result.rows],
        "five_hours": [{**to_builtins(item), "open": item.is_open_at(at)} for item in result.windows],
        "week": to_builtins(result.week),
        "quota_reports": [_reported(item, at) for item in result.reported],
        "worst_misses": [miss._asdict() for miss in result.worst[:OVERVIEW_ROWS]],
        "tools": [tool._asdict() for tool in result.tools[:OVERVIEW_ROWS]],
        "changes": [item._asdict() for item in result.changes],
        "comparison": _comparison(result.comparison) if result.comparison is not None else None,
    }


def _usage(row: UsageSums) -> dict[str, Any]:
    fields = {**to_builtins(row), "read_share": row.read_share}
    fields["name"] = row.name or None
    if row.at_least:
        fields |= {"usd": None, "usd_at_least": row.usd}
    if row.uncounted:
        fields |= {"misses": None, "lost": None, "unpriced_misses": None, "compactions": None, "overflows": None}
    return fields


def _reported(window: ReportedWindow, at: float) -> dict[str, Any]:
    report = window.report
    return {
        **members(report, "limit minutes used resets? at?"),
        "open": report.resets > at,
        "ours": to_builtins(window.ours),
        "raw": _raw(report.raw),
    }


def _raw(text: str) -> Json:
    """The client's own words on a quota: as JSON, else as text, as in a masked copy."""
    try:
        return canonical.loads(text) if text else None
    except ValueError:
        return text


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "what": comparison.what,
        "before": _usage(comparison.before),
        "after": _usage(comparison.after),
        "metrics": [_metric(metric) for metric in comparison.metrics],
    }


def _metric(metric: Metric) -> dict[str, Any]:
    def fields(estimate: Estimate | None) -> dict[str, Any] | None:
        return None if estimate is None else members(estimate, "value low high")

    sides = {"before": fields(metric.before), "after": fields(metric.after), "difference": fields(metric.difference)}
    return {"name": metric.name, "unit": metric.unit, **sides, "difference_shown": metric.shown}
