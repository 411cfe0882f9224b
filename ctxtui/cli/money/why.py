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
from ctxtui.analysis.money.savings import Cure
from ctxtui.analysis.money.statement import Statement
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, without_edits
from ctxtui.cli.money.preflight import HORIZON_HELP, advice_json
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.session_work import worked
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
from ctxtui.views.model.call_owners import counts, owned
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span

LAST, YESTERDAY = "last", "yesterday"


@click.command(
    "why",
    help="Say why a session cost what it did: the bill as a sum, the dearest blocks, what would have been cheaper.\n\n"
    "NAME is a file, a folder (every recording in it), a session's id, `last` (this directory's newest session, the "
    "default) or `yesterday` (all calls of that day).\n\n\b\nExample: ctxtui cost --why last\n"
    "Example: ctxtui cost --why yesterday --json | jq .usd",
)
@click.argument("name", metavar="[NAME]", default=LAST, type=SessionName())
@click.option("--horizon", type=click.IntRange(1, 10_000), metavar="N", help=HORIZON_HELP)
@JSON_OPTION
@click.pass_context
def why(context: click.Context, name: str, horizon: int | None, as_json: bool) -> None:
    """Say why a session cost what it did."""
    settings = config_of(context).settings
    settings = replace(settings, horizon=horizon or settings.horizon)
    what = _yesterday(settings) if name == YESTERDAY else _stated(name, settings)
    write_json(statement_json(what, name)) if as_json else _print(Painter(settings.glyphs), what, name)


def _stated(name: str, settings: Settings) -> Statement:
    if name == LAST and not os.path.lexists(LAST):
        # Its threads are named by the session.
        name = find_last(Path.cwd(), settings).name
    return _summed(expand_names([name], settings.clients), settings)


def _yesterday(settings: Settings) -> Statement:
    today = datetime.fromtimestamp(time.time()).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = (today - timedelta(days=1)).timestamp(), today.timestamp()
    listed = SessionLibrary(settings, Path.cwd()).all_sessions()
    names = [one.path or one.stored for one in listed if counts(one) and one.mtime >= start]
    what = _summed(names, settings, (start, end)) if names else Statement()
    if not what.calls:
        raise NotFound("no recorded call yesterday", way_out="`ctxtui sessions` lists what there is")
    return what


def _summed(names: list[str], settings: Settings, between: tuple[float, float] | None = None) -> Statement:
    def asked(names: list[str], own: frozenset[str] | None = None) -> list[SessionResult]:
        request = StatementRequest(settings, between, alone, own)
        return worked(WHY, names, request, settings, "adding up")

    total, alone = Statement(), len(names) == 1
    read = list(_told(asked(names), quiet=between is not None))
    for one, own in zip(read, owned([one.result.spent for one in read]), strict=True):
        found: SessionStatement = one.result
        without_edits(found.error)
        if own and not alone and len(own) < len(found.spent):
            # Others own some of its calls.
            (again,) = asked([one.name], frozenset(call.id for call in own))
            if again.error is not None:
                raise again.error
            found = again.result
        if found.statement is not None and (own or alone):
            total.add_statement(found.statement, f"{Path(one.name).name}: ")
    return total


def _told(results: list[SessionResult], *, quiet: bool) -> Iterator[SessionResult]:
    """Each session that could be read; the others are noted. Raises what the first one raised where none could."""
    failed = [one.error for one in results if one.error is not None]
    for one in results:
        if one.error is None:
            yield one
        elif len(results) > 1 and not (quiet and isinstance(one.error, NoContext)):
            note(f"{one.name}: {one.error}")
    if failed and len(failed) == len(results) and not quiet:
        raise failed[0]


def statement_json(what: Statement, name: str) -> dict[str, Any]:
    """The fields of ``why --json`` for the session called `name`; the parts' USD add up to ``total_usd``."""
    paid = what.bill
    return {
        "total_usd": paid.usd,
        "prices": bill.LABEL,
        "subscription": what.subscription,
        "parts": [{"name": name, "usd": paid.parts[name].usd, "tokens": paid.parts[name].tokens} for name in PARTS],
        "carried_in_full": {"usd": paid.in_full.usd, "tokens": paid.in_full.tokens},
        "rewrites": [_rewrite(one) for one in sort_dearest(paid.rewrites)],
        "heaviest": [to_builtins(one) for one in what.heaviest],
        "tools": [{"name": row.name, "usd": row.usd} for row in what.tools],
        "threads": dict(sorted(paid.threads.items(), key=lambda item: -item[1])),
        "subagents_share": paid.subagents,
        "cures": [_cure(cure) for cure in bill.worthwhile(what)],
        "ahead": advice_json(what.ahead, name),
        "time": [row._asdict() for row in what.times],
        "sessions": what.sessions,
        "calls": count_calls(what.calls),
        "unpriced_calls": paid.unpriced,
        "partial_calls": paid.partial,
        "residual": {"beyond": paid.beyond._asdict(), "short": paid.short._asdict()},
        "likely_more": {
            "usd": paid.likely.usd if paid.likely.usd or not paid.likely.tokens else None,
            "tokens": paid.likely.tokens,
        },
        "sentence": bill.sentence(what),
    }


_CAUSES = {
    missed.TTL: "pause",
    missed.MODEL: "model",
    missed.COMPACTION: "compaction",
    missed.CONTENT: "changed",
    missed.UNKNOWN: "",
}
"""What a rewrite's cause is called here, where it has another name than in ``cache --json``."""


def _cure(cure: Cure) -> dict[str, Any]:
    members = {key: value for key, value in to_builtins(cure).items() if key != "edits"}
    return {**members, "words": bill.cure_words(cure)}


def _rewrite(one: missed.CacheMiss) -> dict[str, Any]:
    return {
        **members(one, "thread call=number tokens usd paid_usd=paid"),
        "cause": _CAUSES.get(one.cause, one.cause),
        **members(one, "pause partial tested foreseen"),
    }


def _print(painter: Painter, what: Statement, name: str) -> None:
    room = width()
    painter.line(bill.head(what))
    for words in safe_text.wrap(bill.sentence(what), room - 2):
        painter.line([Span(" " + words)])
    for title, aside, lines in bill.sections(what, room, name):
        painter.line([])
        painter.lines(rule(title, aside))
        for line in lines:
            painter.line(line.spans)
