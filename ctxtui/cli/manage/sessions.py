"""`ctxtui sessions`: list the sessions that can be opened, newest first."""

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
from ctxtui.cli.output import note, note_skipped_database, write_json
from ctxtui.cli.paint import Painter, abbreviate_home, width
from ctxtui.cli.progress import Working
from ctxtui.services.config.clients import find_client
from ctxtui.services.config.paths import database
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.spending import session_totals_of
from ctxtui.services.members import members
from ctxtui.services.recordings.databases.address import MARK, split_address
from ctxtui.views.home.columns import MADE_BY_CTXTUI, HomeColumn, home_columns, session_age
from ctxtui.views.model.session_summary import HERE, SAMPLES, SessionSummary
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table

FIGURES_SECONDS: Final = 3.0
"""Seconds, from the first session on, for reading sessions without cached figures."""
HEADS_SECONDS: Final = 1.0
"""Seconds for reading the first lines of files, which have the titles."""


@click.command("sessions")
@click.argument("folder", metavar="[FOLDER]", required=False)
@click.option("--here", is_flag=True, help="Only sessions of this directory and its worktrees.")
@click.option("--figures", is_flag=True, help="Read each session for model, calls, tokens and cost (cached).")
@click.option("--archived", is_flag=True, help="List archived sessions instead.")
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
    """List the sessions of all known clients and ctxtui's own, newest first; then samples.

    With FOLDER, list the recordings in it, each by its path. All ids are accepted by show, export and open.

    \b
    Example: ctxtui show "$(ctxtui sessions --json | jq -r '.sessions[0].id')"
    Example: ctxtui sessions --here --figures
    """
    settings = config_of(context).settings
    library = SessionLibrary(settings, Path.cwd())
    listed = _list_sessions(library, folder, archived)
    listed = [s for s in listed if s.group == HERE or not here][:limit]
    cached = {summary.key: summary for summary in library.iter_cached(listed)}
    listed = [cached.get(summary.key, summary) for summary in listed]
    if figures:
        listed = _with_figures(library, listed)
    else:
        # Sessions that are only in the database have no file to look into.
        listed = _with_figures(library, listed, FIGURES_SECONDS, files=False)
        listed, unread = library.read_heads(listed, HEADS_SECONDS)
        if not as_json and sys.stdout.isatty():
            listed = _with_figures(library, listed, FIGURES_SECONDS)
            unread = sum(not summary.known for summary in listed)
            if unread:
                note(f"{unread:,} sessions are not read yet: use --figures to read all")
        elif unread:
            hint = "run again for more, or " if database(settings.data_dir).exists() else ""
            note(f"{unread:,} sessions have no title yet: {hint}use --figures to read all")
    ids = {summary.key: summary.path for summary in listed} if folder else ids_of(listed)
    write_json({"sessions": _rows(listed, ids)}) if as_json else _print(Painter(settings.glyphs), listed, ids)


def _list_sessions(library: SessionLibrary, folder: str | None, archived: bool) -> list[SessionSummary]:
    """Sessions, either archived ones or others, newest first, then samples."""
    listed = library.in_folder(Path(folder)) if folder else library.all_sessions()
    note_skipped_database(library.trouble)
    return sorted((s for s in listed if s.archived == archived), key=lambda s: (s.group == SAMPLES, -s.mtime))


def _with_figures(
    library: SessionLibrary, listed: list[SessionSummary], seconds: float | None = None, *, files: bool = True
) -> list[SessionSummary]:
    """Add Home's figures, within `seconds` (None: for all).

    Without `files` only of stored sessions.
    """
    unread = [summary for summary in listed if not summary.known and (files or not summary.path)]
    if not unread:
        return listed
    stop = Event()
    timer = Timer(seconds or 0.0, stop.set)
    timer.daemon = True
    read_summaries: dict[str, SessionSummary] = {}
    with Working("reading") as work:
        for summary in library.figures(unread, stop):
            if seconds is not None and not read_summaries:
                # On a busy machine a reader may take that long just to start.
                timer.start()
            read_summaries[summary.key] = summary
            work.show(f"{len(read_summaries)} of {len(unread)} sessions")
    timer.cancel()
    return [read_summaries.get(summary.key, summary) for summary in listed]


def ids_of(summaries: Iterable[SessionSummary]) -> dict[str, str]:
    """The id of each session by key; the key itself if two sessions share an id."""
    ids = {summary.key: summary.id or summary.stored or summary.path for summary in summaries}
    tally = Counter(ids.values())
    return {key: id_ if tally[id_] == 1 else key for key, id_ in ids.items()}


def _rows(summaries: list[SessionSummary], ids: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "id": ids[summary.key],
            "title": summary.title,
            "source": summary.source or None,
            "client": client.name if (client := find_client(summary.source)) else None,
            **members(summary, "client_version? path? stored? cwd? group"),
            "size": summary.size if summary.path and not _in_database(summary) else None,
            # A sample's age is only that of the installation.
            "modified": None if summary.group == SAMPLES else summary.mtime,
            "live": summary.runs,
            "tags": list(summary.tags),
            "subscription": summary.subscription,
            **(_figures(summary) if summary.known else {}),
        }
        for summary in summaries
    ]


def _in_database(summary: SessionSummary) -> bool:
    return MARK in summary.path and bool(split_address(Path(summary.path))[1])


def _figures(summary: SessionSummary) -> dict[str, Any]:
    if summary.error:
        return {"error": summary.error}
    columns = {column.field: column.value(summary) for column in home_columns() if column.field and column.value}
    copy_fields = {"made_by_ctxtui": summary.is_made, "copied_calls": summary.copied}
    return {**columns, **copy_fields, "totals": session_totals_of(summary).as_fields(), "sentence": summary.sentence}


def _print(painter: Painter, summaries: list[SessionSummary], ids: dict[str, str]) -> None:
    table = _table(ids, time.time())
    if summaries:
        head: list[Span] = [*table.heads(0), Span("  title, folder", "faint")]
        painter.line(cropped(head, width()) if sys.stdout.isatty() else head)
    for summary in summaries:
        place = (
            ""
            if ids[summary.key] == summary.path
            else abbreviate_home(summary.cwd or str(Path(summary.path).parent))
            if summary.path or summary.cwd
            else "database"
        )
        title = summary.error or (summary.title if summary.title not in (summary.id, Path(summary.path).name) else "")
        title = f"{MADE_BY_CTXTUI}: {title}".removesuffix(": ") if summary.is_made else title
        words = Span(safe_text.one_line(f"{title}  {place}" if title else place), "warn" if summary.error else "dim")
        line = [*table.draw(summary, 0), words]
        painter.line(cropped(line, width()) if sys.stdout.isatty() else line)


def _table(ids: dict[str, str], now: float) -> Table[SessionSummary]:
    """The columns before a session's title: id, age, client, and the printed ones of Home."""
    longest = max((*map(cells.width, ids.values()), len("session")))
    printed = [_figure(column) for column in home_columns() if column.printed]
    return Table(
        (
            Column("", 2, lambda session, _: Span("● " if session.runs else "", "ok"), "left"),
            Column("session", longest, lambda session, _: Span(ids[session.key]), "left"),
            Column("age", 4, lambda session, _: Span(session_age(session, now), "dim"), gap=2),
            Column("client", 11, _client, "left", gap=2),
            *printed,
        ),
        mark=0,
        tail=2,
    )


def _client(summary: SessionSummary, room: int) -> Span:
    return Span(summary.source or "sample" * (summary.group == SAMPLES), "dim")


def _figure(column: HomeColumn) -> Column[SessionSummary]:
    def text(summary: SessionSummary, room: int) -> Span:
        if column.text is None or not summary.known or summary.error:
            return Span(numbers.NONE, "faint")
        return Span(column.text(summary))

    return Column(column.name, column.printed, text)
