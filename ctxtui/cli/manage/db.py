"""`ctxtui db`: maintenance of ctxtui's own database and its full-text index."""

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
from ctxtui.cli.output import escape, note, print_result, write, write_json
from ctxtui.cli.progress import Working
from ctxtui.core.errors import InUse, NotFound
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.members import members
from ctxtui.services.search.index import fill_in_parallel, list_unindexed, merge_parts
from ctxtui.store.store import Store
from ctxtui.views.text import numbers


def database_of(context: click.Context) -> Path:
    return database(config_of(context).settings.data_dir)


def open_existing(context: click.Context) -> Store:
    """Open the database. Raises `NotFound` if there is none; it is not created."""
    path = database_of(context)
    if not path.exists():
        raise NotFound("there is no database yet", place=str(path), way_out="`ctxtui import` creates it")
    return Store.open(path)


@click.group("db")
def db() -> None:
    """Maintain the database of imported sessions.

    \b
    Example: ctxtui db prune --older-than 30d
    Example: ctxtui db info
    """


@db.command("path")
@JSON_OPTION
@click.pass_context
def path_(context: click.Context, as_json: bool) -> None:
    """Print the path of the database, whether it exists or not."""
    path = database_of(context)
    print_result(as_json, {"path": str(path), "exists": path.exists()}, str(path))


@db.command("info")
@JSON_OPTION
@click.pass_context
def info(context: click.Context, as_json: bool) -> None:
    """Show the database's size, schema and number of rows."""
    path = database_of(context)
    if not path.exists():
        print_result(
            as_json,
            {"path": str(path), "exists": False},
            f"{escape(str(path))}: does not exist yet; `ctxtui import` creates it",
        )
        return
    with open_existing(context) as store:
        database_info, calls = store.info(), store.count_calls()
    if as_json:
        fields = to_builtins(database_info)
        fields["database_schema"] = fields.pop("schema_version")
        write_json({**fields, "exists": True, "ratio": database_info.ratio, "calls_once": calls})
        return
    packed = (
        f"{_format_size(database_info.packed)} for {_format_size(database_info.plain)} of blocks"
        if database_info.plain
        else "no blocks"
    )
    lines = {
        "path": escape(database_info.path),
        "size": f"{_format_size(database_info.size)}, {_format_size(database_info.free)} of it free; "
        f"write-ahead log {_format_size(database_info.wal_size)}",
        "schema": f"{database_info.schema_version} (SQLite {database_info.sqlite}, {database_info.journal})",
        "packed": packed,
        "calls": f"{calls:,}, each counted once",
        "rows": ", ".join(f"{name} {count:,}" for name, count in database_info.rows.items() if count) or "none",
    }
    for name, text in lines.items():
        write(f"{name:<8}{text}")


@db.command("index")
@click.option("--anew", is_flag=True, help="Delete the index and build it again.")
@JSON_OPTION
@click.pass_context
def index(context: click.Context, anew: bool, as_json: bool) -> None:
    """Update the full-text index for every session that `ctxtui search` covers.

    The screen does the same in the background. Sessions that are not indexed are searched directly, which is slower. An
    interrupted run loses nothing.

    \b
    Example: ctxtui db index
    Example: ctxtui db info
    """
    fields = fill_index(config_of(context).settings, anew=anew)
    if as_json:
        write_json(fields)
        return
    for name, reason in fields["failed"].items():
        note(f"{name}: {reason}")
    indexed, up_to_date = numbers.many(fields["indexed"], "session"), fields["known"]
    write(f"{indexed} indexed, {up_to_date:,} were up to date; index size {_format_size(fields['size'])}")


@db.command("backup")
@click.argument("to", metavar="[FILE | FOLDER]", required=False, type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="Uncompressed, for sqlite3 and Datasette; several times as large.")
@JSON_OPTION
@click.pass_context
def backup(context: click.Context, to: Path | None, plain: bool, as_json: bool) -> None:
    """Copy the database, also while it is in use.

    By default the copy is in the same folder, with the time in its name.

    \b
    Example: ctxtui db backup --plain sessions.db && datasette sessions.db
    Example: ctxtui db info
    """
    with open_existing(context) as store:
        copy = store.backup(to or store.path.parent, plain=plain)
    print_result(as_json, {"backup": str(copy.absolute()), "size": copy.stat().st_size}, escape(str(copy)))


@db.command("vacuum")
@JSON_OPTION
@click.pass_context
def vacuum(context: click.Context, as_json: bool) -> None:
    """Shrink the file by the space of deleted sessions."""
    with open_existing(context) as store:
        before = store.info()
        store.vacuum()
        after = store.info()
    sizes = {"before": before.size + before.wal_size, "after": after.size + after.wal_size}
    print_result(as_json, sizes, f"{_format_size(sizes['before'])} before, {_format_size(sizes['after'])} now")


@db.command("prune")
@click.option("--older-than", required=True, type=Age(), help="Age of the last call: 30d, 12h, 2w ...")
@click.option("--dry-run", is_flag=True, help="Only print which sessions would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@JSON_OPTION
@click.pass_context
def prune(context: click.Context, older_than: float, dry_run: bool, yes: bool, as_json: bool) -> int | None:
    """Delete stored sessions whose last call is older than an age.

    Recordings outside the database are not touched. Open chats are kept and listed, and the exit code is then 7.

    On a terminal it asks first, in a script it does not. Run `db vacuum` afterwards to shrink the file.

    \b
    Example: ctxtui db prune --older-than 30d --dry-run
    Example: ctxtui db info
    """
    ask = sys.stdin.isatty() and not (yes or as_json)
    exists = database_of(context).exists()
    ids, open_chats = _prune(context, older_than, dry_run=dry_run, ask=ask) if exists else ([], [])
    if as_json:
        in_use = [members(session, "id=session pid since") for session in open_chats]
        write_json({"pruned": ids, "dry_run": dry_run, "in_use": in_use})
    else:
        for id_ in ids:
            write(escape(id_))
        write(f"{numbers.many(len(ids), 'session')} {'would be ' if dry_run else ''}deleted")
    for session in open_chats:
        note(str(session))
    return REFUSED.number if open_chats else None


def _prune(context: click.Context, older_than: float, *, dry_run: bool, ask: bool) -> tuple[list[str], list[InUse]]:
    """Delete old sessions; return their ids, and the open chats, which are kept."""
    now = time.time()
    with open_existing(context) as store:
        ids, open_chats = store.older_sessions(older_than, now), store.unprunable_sessions(older_than, now)
        if dry_run:
            return ids, open_chats
        if ids and ask:
            click.confirm(f"Delete {numbers.many(len(ids), 'session')}?", abort=True, err=True)
        return store.prune(older_than, now), open_chats


def _format_size(count: int) -> str:
    size, unit = float(count), "bytes"
    for larger in ("KB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def fill_index(settings: Settings, *, anew: bool) -> dict[str, Any]:
    """Index missing sessions, or all if `anew`; return the result for JSON."""
    library = SessionLibrary(settings, Path.cwd())
    sessions = library.all_sessions()
    with Store.open(database(settings.data_dir)) as store:
        if anew:
            store.texts.clear()
    units = list_unindexed(settings, sessions, live=True)
    failed: dict[str, str] = {}
    with Working("indexing") as work:
        for number, indexed_session in enumerate(fill_in_parallel(settings, units), 1):
            work.show(f"{number:,} of {len(units):,} sessions")
            if indexed_session.error:
                failed[indexed_session.name] = indexed_session.error
        if units:
            merge_parts(settings)
    with Store.open(database(settings.data_dir)) as store:
        size = store.texts.size()
    up_to_date = len(sessions) - len(units)
    return {"indexed": len(units) - len(failed), "known": up_to_date, "failed": failed, "size": size}
