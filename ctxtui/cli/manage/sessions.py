"""`ctxtui sessions`: what can be opened, newest first."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from threading import Event, Timer
from typing import Any, Final

import click

from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, home_short, width
from ctxtui.cli.progress import Working
from ctxtui.services.config.clients import find_client
from ctxtui.services.config.paths import database
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.spending import session_totals_of
from ctxtui.services.members import members
from ctxtui.services.recordings.databases.address import MARK, split_address
from ctxtui.views.home.columns import MADE, HomeColumn, age_of, home_columns
from ctxtui.views.model.session_summary import HERE, SAMPLES, SessionSummary
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table

FIGURES_SECONDS: Final = 3.0
"""Seconds for which a list on a terminal reads sessions of which nothing is remembered, from the first on; elsewhere
only what the database alone holds."""
HEADS_SECONDS: Final = 1.0
"""Seconds for which the heads of files are read of which nothing is remembered."""


@click.command("sessions")
@click.argument("folder", metavar="[FOLDER]", required=False)
@click.option("--here", is_flag=True, help="Only those of this directory and its worktrees.")
@click.option("--figures", is_flag=True, help="Read each one for model, calls, tokens and money (remembered).")
@click.option("--archived", is_flag=True, help="Those that were archived, instead of the others.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N sessions.")
@JSON_OPTION
@click.pass_context
def sessions(
    context: click.Context,
    folder: str | None,
    here: bool,
    figures: bool,
    archived: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """List the sessions that can be opened: those of all known clients, ctxtui's own, newest first; then samples.

    With FOLDER, the recordings in it, by path. Every id is accepted by show, export and open.

    \b
    Example: ctxtui show "$(ctxtui sessions --json | jq -r '.sessions[0].id')"
    Example: ctxtui sessions --here --figures
    """
    settings = config_of(context).settings
    shelf = SessionLibrary(settings, Path.cwd())
    found = _found(shelf, folder, archived)
    found = [s for s in found if s.group == HERE or not here][:limit]
    known = {one.key: one for one in shelf.each_remembered(found)}
    found = [known.get(one.key, one) for one in found]
    if figures:
        found = _with_figures(shelf, found)
    else:
        # What only the database holds has no head to look into.
        found = _with_figures(shelf, found, FIGURES_SECONDS, files=False)
        found, left = shelf.read_heads(found, HEADS_SECONDS)
        if not as_json and sys.stdout.isatty():
            found = _with_figures(shelf, found, FIGURES_SECONDS)
            left = sum(not one.known for one in found)
            if left:
                note(f"{left:,} sessions are not read yet: --figures reads all")
        elif left:
            on = "the next run reads on, " if database(settings.data_dir).exists() else ""
            note(f"{left:,} sessions have no title yet: {on}--figures reads all")
    ids = {one.key: one.path for one in found} if folder else ids_of(found)
    write_json({"sessions": _rows(found, ids)}) if as_json else _print(Painter(settings.glyphs), found, ids)


def _found(shelf: SessionLibrary, folder: str | None, archived: bool) -> list[SessionSummary]:
    """Sessions newest first, samples behind them, and a note where the database could not be asked."""
    found = shelf.in_folder(Path(folder)) if folder else shelf.all_sessions()
    if shelf.trouble:
        note(f"the database was left out: {shelf.trouble}")
    return sorted((s for s in found if s.archived == archived), key=lambda s: (s.group == SAMPLES, -s.mtime))


def _with_figures(
    shelf: SessionLibrary, found: list[SessionSummary], seconds: float | None = None, *, files: bool = True
) -> list[SessionSummary]:
    """With what Home shows of each, as far as `seconds` reach (None: of all); without `files` only of those that the
    database alone holds."""
    unread = [one for one in found if not one.known and (files or not one.path)]
    if not unread:
        return found
    stop = Event()
    timer = Timer(seconds or 0.0, stop.set)
    timer.daemon = True
    read: dict[str, SessionSummary] = {}
    with Working("reading") as work:
        for one in shelf.figures(unread, stop):
            if seconds is not None and not read:
                # On a busy machine a reader may take as long to start.
                timer.start()
            read[one.key] = one
            work.say(f"{len(read)} of {len(unread)} sessions")
    timer.cancel()
    return [read.get(one.key, one) for one in found]


def ids_of(found: Iterable[SessionSummary]) -> dict[str, str]:
    """The id of each session by its key; where two recordings share one, the path is the id."""
    ids = {one.key: one.id or one.stored or one.path for one in found}
    tally = Counter(ids.values())
    return {key: id_ if tally[id_] == 1 else key for key, id_ in ids.items()}


def _rows(found: list[SessionSummary], ids: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "id": ids[one.key],
            "title": one.title,
            "source": one.source or None,
            "client": client.name if (client := find_client(one.source)) else None,
            **members(one, "client_version? path? stored? cwd? group"),
            "size": one.size if one.path and not _in_database(one) else None,
            # A sample is as old as its installation: that says nothing.
            "modified": None if one.group == SAMPLES else one.mtime,
            "live": one.runs,
            "tags": list(one.tags),
            "subscription": one.subscription,
            **(_figures(one) if one.known else {}),
        }
        for one in found
    ]


def _in_database(one: SessionSummary) -> bool:
    return MARK in one.path and bool(split_address(Path(one.path))[1])


def _figures(one: SessionSummary) -> dict[str, Any]:
    if one.error:
        return {"error": one.error}
    columns = {column.field: column.value(one) for column in home_columns() if column.field and column.value}
    made = {"made_by_ctxtui": one.is_made, "copied_calls": one.copied}
    return {**columns, **made, "totals": session_totals_of(one).as_fields(), "sentence": one.sentence}


def _print(painter: Painter, found: list[SessionSummary], ids: dict[str, str]) -> None:
    table = _table(ids, time.time())
    if found:
        head: list[Span] = [*table.heads(0), Span("  title, folder", "faint")]
        painter.line(cropped(head, width()) if sys.stdout.isatty() else head)
    for one in found:
        place = (
            ""
            if ids[one.key] == one.path
            else home_short(one.cwd or str(Path(one.path).parent))
            if one.path or one.cwd
            else "database"
        )
        told = one.error or (one.title if one.title not in (one.id, Path(one.path).name) else "")
        told = f"{MADE}: {told}".removesuffix(": ") if one.is_made else told
        words = Span(safe_text.one_line(f"{told}  {place}" if told else place), "warn" if one.error else "dim")
        line = [*table.draw(one, 0), words]
        painter.line(cropped(line, width()) if sys.stdout.isatty() else line)


def _table(ids: dict[str, str], now: float) -> Table[SessionSummary]:
    """What stands before a session's words: whose it is, and those of Home's columns that are printed."""
    longest = max((*map(cells.width, ids.values()), len("session")))
    printed = [_figure(column) for column in home_columns() if column.printed]
    return Table(
        (
            Column("", 2, lambda one, _: Span("● " if one.runs else "", "ok"), "left"),
            Column("session", longest, lambda one, _: Span(ids[one.key]), "left"),
            Column("age", 4, lambda one, _: Span(age_of(one, now), "dim"), gap=2),
            Column("client", 11, _client, "left", gap=2),
            *printed,
        ),
        mark=0,
        tail=2,
    )


def _client(one: SessionSummary, room: int) -> Span:
    return Span(one.source or "sample" * (one.group == SAMPLES), "dim")


def _figure(column: HomeColumn) -> Column[SessionSummary]:
    def text(one: SessionSummary, room: int) -> Span:
        if column.text is None or not one.known or one.error:
            return Span(numbers.NONE, "faint")
        return Span(column.text(one))

    return Column(column.name, column.printed, text)
