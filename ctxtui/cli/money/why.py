"""`ctxtui cost --why`: the bill as a sum, and what would have been cheaper."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from ctxtui.analysis.cache import miss as missed
from ctxtui.analysis.cache.miss_finder import sort_dearest
from ctxtui.analysis.money.bill import PARTS
from ctxtui.analysis.money.savings import Saving
from ctxtui.analysis.money.statement import Statement
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, note_ignored_edits
from ctxtui.cli.money.preflight import HORIZON_HELP, advice_json
from ctxtui.cli.output import note, note_skipped_database, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.session_work import read_sessions
from ctxtui.core.call import count_calls
from ctxtui.core.errors import NoContext, NotFound
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.members import members
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.recordings.open_by_name import find_last
from ctxtui.services.session_work import SessionResult
from ctxtui.services.workers.session_money import WHY, SessionStatement, StatementRequest
from ctxtui.views.lists.costs import bill
from ctxtui.views.model.call_owners import is_own_session, split_owned
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span

LAST_SESSION, YESTERDAY = "last", "yesterday"


@click.command(
    "why",
    help="Explain the cost of a session: the bill as a sum, the most expensive blocks, and what would have been "
    "cheaper.\n\n"
    "NAME is a file, a folder (every recording in it), a session's id, `last` (this directory's newest session, the "
    "default) or `yesterday` (all calls of that day).\n\n\b\nExample: ctxtui cost --why last\n"
    "Example: ctxtui cost --why yesterday --json | jq .total_usd",
)
@click.argument("name", metavar="[NAME]", default=LAST_SESSION, type=SessionName())
@click.option("--horizon", type=click.IntRange(1, 10_000), metavar="N", help=HORIZON_HELP)
@JSON_OPTION
@click.pass_context
def why(context: click.Context, name: str, horizon: int | None, as_json: bool) -> None:
    settings = config_of(context).settings
    settings = replace(settings, horizon=horizon or settings.horizon)
    statement = _statement_of_yesterday(settings) if name == YESTERDAY else _statement_of(name, settings)
    write_json(statement_json(statement, name)) if as_json else _print(Painter(settings.glyphs), statement, name)


def _statement_of(name: str, settings: Settings) -> Statement:
    if name == LAST_SESSION and not os.path.lexists(LAST_SESSION):
        # Thread names depend on the session's name.
        newest = find_last(Path.cwd(), settings)
        note_skipped_database(newest.named.trouble)
        name = newest.name
    return _sum_statements(expand_names([name], settings.clients), settings)


def _statement_of_yesterday(settings: Settings) -> Statement:
    today = datetime.fromtimestamp(time.time()).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = (today - timedelta(days=1)).timestamp(), today.timestamp()
    library = SessionLibrary(settings, Path.cwd())
    own_sessions = [summary for summary in library.all_sessions() if is_own_session(summary)]
    note_skipped_database(library.trouble)
    names = [summary.path or summary.stored for summary in own_sessions if summary.mtime >= start]
    statement = _sum_statements(names, settings, (start, end)) if names else Statement()
    if not statement.calls:
        raise NotFound("no recorded call yesterday", way_out="`ctxtui sessions` lists the sessions")
    return statement


def _sum_statements(names: list[str], settings: Settings, time_range: tuple[float, float] | None = None) -> Statement:
    def read_statements(names: list[str], own: frozenset[str] | None = None) -> list[SessionResult]:
        request = StatementRequest(settings, time_range, alone, own)
        return read_sessions(WHY, names, request, settings, "adding up")

    total, alone = Statement(), len(names) == 1
    results = list(_readable_results(read_statements(names), quiet=time_range is not None))
    for result, owned_calls in zip(results, split_owned([result.result.spent for result in results]), strict=True):
        session_statement: SessionStatement = result.result
        note_ignored_edits(session_statement.error)
        if owned_calls and not alone and len(owned_calls) < len(session_statement.spent):
            # Some of its calls are counted in other sessions.
            (owned_result,) = read_statements([result.name], frozenset(call.id for call in owned_calls))
            if owned_result.error is not None:
                raise owned_result.error
            session_statement = owned_result.result
        if session_statement.statement is not None and (owned_calls or alone):
            total.add_statement(session_statement.statement, f"{Path(result.name).name}: ")
    return total


def _readable_results(results: list[SessionResult], *, quiet: bool) -> Iterator[SessionResult]:
    """Yield each readable session.

    Note the others, or raise the first error if none is readable. With `quiet` nothing is raised, and sessions without
    context are not noted.
    """
    failed = [result.error for result in results if result.error is not None]
    for result in results:
        if result.error is None:
            yield result
        elif len(results) > 1 and not (quiet and isinstance(result.error, NoContext)):
            note(f"{result.name}: {result.error}")
    if failed and len(failed) == len(results) and not quiet:
        raise failed[0]


def statement_json(statement: Statement, name: str) -> dict[str, Any]:
    the_bill = statement.bill
    return {
        "total_usd": the_bill.usd,
        "prices": bill.PRICE_KIND,
        "subscription": statement.subscription,
        "parts": [
            {"name": name, "usd": the_bill.parts[name].usd, "tokens": the_bill.parts[name].tokens} for name in PARTS
        ],
        "carried_in_full": {"usd": the_bill.in_full.usd, "tokens": the_bill.in_full.tokens},
        "rewrites": [_rewrite_to_json(miss) for miss in sort_dearest(the_bill.rewrites)],
        "heaviest": [to_builtins(block) for block in statement.heaviest],
        "tools": [{"name": row.name, "usd": row.usd} for row in statement.tools],
        "threads": dict(sorted(the_bill.threads.items(), key=lambda item: -item[1])),
        "subagents_share": the_bill.subagents,
        "cures": [_saving_to_json(saving) for saving in bill.select_savings(statement)],
        "ahead": advice_json(statement.ahead, name),
        "time": [row._asdict() for row in statement.times],
        "sessions": statement.sessions,
        "calls": count_calls(statement.calls),
        "unpriced_calls": the_bill.unpriced,
        "partial_calls": the_bill.partial,
        "residual": {"beyond": the_bill.beyond._asdict(), "short": the_bill.short._asdict()},
        "likely_more": {
            "usd": the_bill.likely.usd if the_bill.likely.usd or not the_bill.likely.tokens else None,
            "tokens": the_bill.likely.tokens,
        },
        "sentence": bill.sentence(statement),
    }


_CAUSES = {
    missed.TTL: "pause",
    missed.MODEL: "model",
    missed.COMPACTION: "compaction",
    missed.CONTENT: "changed",
    missed.UNKNOWN: "",
}
"""Names of causes that differ from ``cache --json``."""


def _saving_to_json(saving: Saving) -> dict[str, Any]:
    fields = {key: value for key, value in to_builtins(saving).items() if key != "edits"}
    return {**fields, "words": bill.describe_saving(saving)}


def _rewrite_to_json(miss: missed.CacheMiss) -> dict[str, Any]:
    return {
        **members(miss, "thread call=number tokens usd paid_usd=paid"),
        "cause": _CAUSES.get(miss.cause, miss.cause),
        **members(miss, "pause partial tested foreseen"),
    }


def _print(painter: Painter, statement: Statement, name: str) -> None:
    room = width()
    painter.line(bill.heading(statement))
    for words in safe_text.wrap(bill.sentence(statement), room - 2):
        painter.line([Span(" " + words)])
    for title, aside, lines in bill.sections(statement, room, name):
        painter.line([])
        painter.lines(rule(title, aside))
        for line in lines:
            painter.line(line.spans)
