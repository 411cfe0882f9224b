"""`ctxtui stats`: where tokens, money and quota windows went over many sessions, and before and after a change."""

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
from ctxtui.cli.all_sessions import Age, AllSessions
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.cli.progress import Redrawn, redrawn
from ctxtui.cli.session_work import CLUSTER_HELP, ClusterAddress
from ctxtui.core import canonical
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

_DEAREST: Final = 5
"""Tools, misses and windows that are named where they were not asked for."""
_OF_CONTEXTS: Final = frozenset({TOOL, SKILL})
"""Ways that take what stands in contexts."""


class ChangeName(click.ParamType[Change]):
    """What was changed: a date, ``client-version=2.1.300``, ``policy=NAME`` ..."""

    name = "change"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Change:
        """The change that a text names."""
        try:
            return value if isinstance(value, Change) else parse_change(str(value))
        except CtxtuiError as error:
            self.fail(f"{error.message}: {error.way_out}", param, ctx)


_NONE: Final = (
    "No call was found. ctxtui sums up what agents recorded on this machine (ctxtui sessions lists it; samples do not "
    "count), calls of ctxtui chat and ctxtui exec, and files taken in with ctxtui import FILE. With FOLDER or --since "
    "it is only what is of that folder or time."
)


@click.command(
    "stats",
    help="Say where tokens, money and quota windows went, over all your sessions or those in FOLDER; every call counts "
    "once. Sessions are read once and remembered.\n\n"
    "With --change the calls before and after it are held against each other, each figure with the interval in which "
    "95 of 100 such differences lie: a date, client-version=V (from that version on), policy=NAME (sessions that ran "
    "under it), compressor=NAME (sessions that it made smaller, against those that others did), or tag=NAME (sessions "
    "that you tagged so). --json lists what there is as changes.\n\n"
    "Misses, overflows, compactions and tools take counts of tokens: the first time they come in behind the rest, "
    "and with --usage they stay out.\n\n\b\n"
    "Example: ctxtui stats --since 30d --by project\n"
    "Example: ctxtui stats --change client-version=2.1.300",
)
@click.argument("folder", metavar="[FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--since", type=Age(), metavar="AGE", help="Only calls within an age: 7d, 12h ...")
@click.option("--by", type=click.Choice(WAYS), help="One row for each.")
@click.option("--change", "changed", type=ChangeName(), metavar="WHAT", help="Hold before against after.")
@click.option("--usage", is_flag=True, help="Only what calls used: at once, also of sessions never read.")
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
    """Say where it all went."""
    settings = config_of(context).settings
    if folder is not None and not folder.is_dir():
        raise WrongUse(f"{folder} is no folder", way_out="ctxtui stats [FOLDER]; ctxtui cost FILE for one session")
    if usage and by in _OF_CONTEXTS:
        raise WrongUse(f"--by {by} takes what stands in contexts", way_out="leave out --usage")
    at = time.time()
    beginning = at - since if since is not None else 0.0
    sessions = AllSessions(settings, folder, cluster, beginning)
    told = [(client_quotas.SOURCE, one) for one in client_quotas.read_reports(settings)] if folder is None else []

    def made() -> Stats:
        return make_stats(
            sessions.known,
            at,
            by=by or "",
            since=beginning,
            changed=changed,
            seen_changes=as_json or changed is not None,
            told=told,
        )

    if usage:
        sessions.read_usage()
    elif as_json or cluster or by in _OF_CONTEXTS or not sessions.left or not redrawn():
        for _ in sessions.read():
            pass
    else:
        _fill_in(sessions, lambda found: _print(Painter(settings.glyphs), found, by or "", at), made)
    found = made()
    failed = [one for one in sessions.known if one.error and not is_empty(one)]
    if as_json:
        errors = [{"file": one.path, "error": one.error} for one in failed]
        write_json({"since_seconds": since, **stats_json(found, by or "", at), "failed": errors})
    else:
        _print(Painter(settings.glyphs), found, by or "", at)
    for one in failed:
        note(f"{one.path}: {one.error}")


def _fill_in(sessions: AllSessions, show: Callable[[Stats], None], made: Callable[[], Stats]) -> None:
    """Show what calls used, and what takes counts as sessions are counted; nothing of it stays on the screen."""
    sessions.read_usage()
    with Redrawn() as screen:
        screen.draw(lambda: show(made()))
        for _ in sessions.read():
            if screen.due():
                screen.draw(lambda: show(made()))


def _print(painter: Painter, found: Stats, by: str, at: float) -> None:
    room = width()
    painter.lines(rule("stats", "".join(span.text for span in view.told(found, at))))
    if not found.total.calls:
        painter.lines([[Span(line)] for line in safe_text.wrap(_NONE, room)])
        return
    if by != TOOL:
        painter.lines(table_lines(view.table(by.replace("-", " "), mark=0), [*found.rows, found.total], room))
    tools = found.tools if by == TOOL else found.tools[:_DEAREST]
    if tools:
        painter.lines(rule("tools", _counted(found, "" if by == TOOL else "the dearest")))
        painter.lines(table_lines(view.tools_table(mark=0), tools, room))
    if found.worst and by != TOOL:
        painter.lines(rule("misses", _counted(found, "the worst")))
        for miss in found.worst[:_DEAREST]:
            painter.line(
                [
                    Span(f"{numbers.money(miss.lost):>9}", "warn"),
                    Span(f"  {miss.cause:{view.CAUSE}}"),
                    Span(f"  call {miss.call:,} of ", "dim"),
                    Span(cells.ends(safe_text.one_line(miss.title or miss.key, 400), room - view.CAUSE - 26)),
                ]
            )
    _print_windows(painter, found, by, at, room)
    if found.comparison is not None:
        _print_change(painter, found.comparison, room)
        if not (found.comparison.before.calls and found.comparison.after.calls):
            painter.lines(
                [Span(line, "warn")] for line in safe_text.wrap(view.one_sided(found, found.comparison.what), room)
            )


def _print_windows(painter: Painter, found: Stats, by: str, at: float, room: int) -> None:
    if by == TOOL:
        return
    if found.windows and by != FIVE_HOURS:
        painter.lines(rule("windows of 5 hours", "the fullest"))
        for window in sorted(found.windows, key=lambda one: -one.tokens)[:_DEAREST]:
            start = datetime.fromtimestamp(window.start).astimezone()
            painter.line([Span(f"{start:%Y-%m-%d %H:%M}"), Span(f"  {view.of_window(window)}", "dim")])
    if found.reported:
        painter.lines(rule("quota", "as the providers reported it last"))
        painter.lines(table_lines(view.quota_table(at, mark=0), found.reported, room))


def _print_change(painter: Painter, found: Comparison, room: int) -> None:
    painter.lines(rule(f"before and after {safe_text.one_line(found.what, 60)}", view.sides_of(found)))
    painter.lines(table_lines(view.metrics_table(), view.shown_metrics(found.metrics), room))


def _counted(found: Stats, words: str) -> str:
    left = found.total.uncounted
    return f"{words} of {found.total.sessions - left:,}; {left:,} sessions are not counted yet" if left else words


def stats_json(found: Stats, by: str, at: float) -> dict[str, Any]:
    """The fields of ``stats --json``."""
    return {
        "by": by or None,
        "total": _usage(found.total),
        "rows": [tool._asdict() for tool in found.tools] if by == TOOL else [_usage(row) for row in found.rows],
        "five_hours": [{**to_builtins(one), "open": one.is_open_at(at)} for one in found.windows],
        "week": to_builtins(found.week),
        "quota_reports": [_reported(one, at) for one in found.reported],
        "worst_misses": [miss._asdict() for miss in found.worst[:_DEAREST]],
        "tools": [tool._asdict() for tool in found.tools[:_DEAREST]],
        "changes": [one._asdict() for one in found.changes],
        "comparison": _comparison(found.comparison) if found.comparison is not None else None,
    }


def _usage(row: UsageSums) -> dict[str, Any]:
    known = {**to_builtins(row), "read_share": row.read_share}
    known["name"] = row.name or None
    if row.at_least:
        known |= {"usd": None, "usd_at_least": row.usd}
    if row.uncounted:
        known |= {"misses": None, "lost": None, "unpriced_misses": None, "compactions": None, "overflows": None}
    return known


def _reported(one: ReportedWindow, at: float) -> dict[str, Any]:
    report = one.report
    return {
        **members(report, "limit minutes used resets? at?"),
        "open": report.resets > at,
        "ours": to_builtins(one.ours),
        "raw": canonical.loads(report.raw) if report.raw else None,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "what": found.what,
        "before": _usage(found.before),
        "after": _usage(found.after),
        "metrics": [_metric(one) for one in found.metrics],
    }


def _metric(one: Metric) -> dict[str, Any]:
    def fields(found: Estimate | None) -> dict[str, Any] | None:
        return None if found is None else members(found, "value low high")

    sides = {"before": fields(one.before), "after": fields(one.after), "difference": fields(one.difference)}
    return {"name": one.name, "unit": one.unit, **sides, "difference_shown": one.shown}
