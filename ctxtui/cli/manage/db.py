"""`ctxtui db`: looking after ctxtui's own database and its full-text index."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from ctxtui.cli.all_sessions import Age
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.exit_codes import REFUSED
from ctxtui.cli.output import answer, note, shown, write, write_json
from ctxtui.cli.progress import Working
from ctxtui.core.errors import InUse, NotFound
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.members import members
from ctxtui.services.search.index import fill_in_parallel, list_unindexed, merge_parts
from ctxtui.store.store import Store


def database_of(context: click.Context) -> Path:
    """The database file of this run, whether it exists or not."""
    return database(config_of(context).settings.data_dir)


def existing(context: click.Context) -> Store:
    """The store, open. Raises `NotFound` where there is no database: looking makes none."""
    path = database_of(context)
    if not path.exists():
        raise NotFound("there is no database yet", place=str(path), way_out="`ctxtui import` makes one")

    return Store.open(path)


@click.group("db")
def db() -> None:
    """Look after the database of imported sessions.

    \b
    Example: ctxtui db prune --older-than 30d
    Example: ctxtui db info
    """


@db.command("path")
@JSON_OPTION
@click.pass_context
def path_(context: click.Context, as_json: bool) -> None:
    """Print where the database is, or would be."""
    path = database_of(context)
    answer(as_json, {"path": str(path), "exists": path.exists()}, str(path))


@db.command("info")
@JSON_OPTION
@click.pass_context
def info(context: click.Context, as_json: bool) -> None:
    """Show the database's size, schema and number of rows."""
    path = database_of(context)
    if not path.exists():
        answer(
            as_json, {"path": str(path), "exists": False}, f"{shown(str(path))}: not made yet; `ctxtui import` makes it"
        )
        return
    with existing(context) as store:
        found, calls = store.info(), store.totals().calls
    if as_json:
        fields = to_builtins(found)
        fields["database_schema"] = fields.pop("schema_version")
        write_json({**fields, "exists": True, "ratio": found.ratio, "calls_once": calls})
        return
    packed = f"{_size(found.packed)} for {_size(found.plain)} of blocks" if found.plain else "no blocks"
    lines = {
        "path": shown(found.path),
        "size": f"{_size(found.size)}, {_size(found.free)} of it free; write-ahead log {_size(found.wal_size)}",
        "schema": f"{found.schema_version} (SQLite {found.sqlite}, {found.journal})",
        "packed": packed,
        "calls": f"{calls:,}, each counted once",
        "rows": ", ".join(f"{name} {count:,}" for name, count in found.rows.items() if count) or "none",
    }
    for name, text in lines.items():
        write(f"{name:<8}{text}")


@db.command("index")
@click.option("--anew", is_flag=True, help="Drop what is indexed and begin again.")
@JSON_OPTION
@click.pass_context
def index(context: click.Context, anew: bool, as_json: bool) -> None:
    """Fill the full-text index now: every session that `ctxtui search` looks into.

    The screen does the same in the background. What is indexed is found without being read; the rest is read when it
    is searched. Ending it half way loses nothing.

    \b
    Example: ctxtui db index
    Example: ctxtui db info
    """

    fields = fill_index(config_of(context).settings, anew=anew)
    if as_json:
        write_json(fields)
        return
    for name, why in fields["failed"].items():
        note(f"{name}: {why}")
    write(f"{_sessions(fields['indexed'])} indexed, {fields['known']:,} known; the index takes {_size(fields['size'])}")


@db.command("backup")
@click.argument("to", metavar="[FILE | FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="Unpack every body: for sqlite3 and Datasette, several times as large.")
@JSON_OPTION
@click.pass_context
def backup(context: click.Context, to: Path | None, plain: bool, as_json: bool) -> None:
    """Copy the database, consistent also while it is written to; by default beside it, under a name with the time.

    \b
    Example: ctxtui db backup --plain sessions.db && datasette sessions.db
    Example: ctxtui db info
    """
    with existing(context) as store:
        made = store.backup(to or store.path.parent, plain=plain)
    answer(as_json, {"backup": str(made.absolute()), "size": made.stat().st_size}, shown(str(made)))


@db.command("vacuum")
@JSON_OPTION
@click.pass_context
def vacuum(context: click.Context, as_json: bool) -> None:
    """Give the space of deleted sessions back to the disk."""
    with existing(context) as store:
        before = store.info()
        store.vacuum()
        after = store.info()
    sizes = {"before": before.size + before.wal_size, "after": after.size + after.wal_size}
    answer(as_json, sizes, f"{_size(sizes['before'])} before, {_size(sizes['after'])} now")


@db.command("prune")
@click.option("--older-than", required=True, type=Age(), help="Age of the last call: 30d, 12h, 2w ...")
@click.option("--dry-run", is_flag=True, help="Only say which sessions would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@JSON_OPTION
@click.pass_context
def prune(context: click.Context, older_than: float, dry_run: bool, yes: bool, as_json: bool) -> int | None:
    """Delete stored sessions whose last call is older than an age. Recordings outside the database stay; so does a
    chat that is open: it is named, and the exit code is 7.

    On a terminal it asks first; in a script it does not. `db vacuum` then makes the file smaller.

    \b
    Example: ctxtui db prune --older-than 30d --dry-run
    Example: ctxtui db info
    """
    ask = sys.stdin.isatty() and not (yes or as_json)
    there = database_of(context).exists()
    ids, kept = _pruned(context, older_than, dry_run=dry_run, ask=ask) if there else ([], [])
    if as_json:
        stay = [members(one, "id=session pid since") for one in kept]
        write_json({"pruned": ids, "dry_run": dry_run, "in_use": stay})
    else:
        for id_ in ids:
            write(shown(id_))
        write(f"{_sessions(len(ids))} {'would be ' if dry_run else ''}deleted")
    for one in kept:
        note(str(one))
    return REFUSED.number if kept else None


def _pruned(context: click.Context, older_than: float, *, dry_run: bool, ask: bool) -> tuple[list[str], list[InUse]]:
    """The sessions that went, or would go, and why others stay."""
    now = time.time()
    with existing(context) as store:
        ids, kept = store.older_sessions(older_than, now), store.unprunable_sessions(older_than, now)
        if dry_run:
            return ids, kept
        if ids and ask:
            click.confirm(f"Delete {_sessions(len(ids))}?", abort=True, err=True)
        return store.prune(older_than, now), kept


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


def _size(count: int) -> str:
    size, unit = float(count), "bytes"
    for larger in ("KB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def fill_index(settings: Settings, *, anew: bool) -> dict[str, Any]:
    """Index what is lacking, all of it where `anew`; what was done, as `ctxtui db index --json` prints it."""
    shelf = SessionLibrary(settings, Path.cwd())
    sessions = shelf.all_sessions()
    with Store.open(database(settings.data_dir)) as store:
        if anew:
            store.texts.clear()
    units = list_unindexed(settings, sessions, live=True)
    failed: dict[str, str] = {}
    with Working("indexing") as work:
        for number, done in enumerate(fill_in_parallel(settings, units), 1):
            work.say(f"{number:,} of {len(units):,} sessions")
            if done.error:
                failed[done.name] = done.error
        if units:
            merge_parts(settings)
    with Store.open(database(settings.data_dir)) as store:
        size = store.texts.size()
    known = len(sessions) - len(units)
    return {"indexed": len(units) - len(failed), "known": known, "failed": failed, "size": size}
