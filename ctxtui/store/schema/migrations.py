"""The schema's history, a function for each change.

A new column or table is a new function at the end; an old one is never changed.
``user_version`` in the file's header counts the applied migrations, so that opening an up-to-date file reads one
integer and imports nothing of sqlite-utils.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlite_utils import Migrations
from sqlite_utils.db import Database

from ctxtui.store.schema import tables
from ctxtui.store.schema.database_file import APPLICATION_ID, copy_into, schema_version, writing
from ctxtui.store.sessions import edits

LADDER: Final = Migrations("ctxtui")


def migrate(conn: sqlite3.Connection, path: Path, newest: int) -> Path | None:
    """Bring the file up to `newest`, after a backup if it holds anything.

    Returns the backup's path. If two processes migrate at once, the second waits and finds nothing left to do.
    """
    backup = None
    with writing(conn):
        version = schema_version(conn)
        if 0 < version < newest:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
            backup = copy_into(path, path.with_name(f"{path.stem}-v{version}-{stamp}{path.suffix}"))
        if version < newest:
            LADDER.apply(Database(conn, execute_plugins=False, recursive_triggers=False))
            conn.execute(f"PRAGMA user_version={newest}")
            conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
    return backup


@LADDER()
def m001_first(db: Database) -> None:
    """Tables of the first release."""
    for script in (tables.CONTENT, tables.SESSIONS, tables.CALLS, tables.WORK):
        db.executescript(script)
    db.execute("INSERT INTO codecs (key, name) VALUES (0, 'plain')")
    tables.make_views(db)


@LADDER()
def m002_search(db: Database) -> None:
    """The full-text index of stored sessions and of files that are not stored."""
    db.executescript(tables.SEARCH)


@LADDER()
def m003_notes(db: Database) -> None:
    """Notes and bookmarks."""
    db.executescript(tables.NOTES)


@LADDER()
def m004_overlay(db: Database) -> None:
    """Edits of every kind: by thread and branch, with many targets and a payload."""
    db.executescript(edits.EDITS)


@LADDER()
def m005_subscription(db: Database) -> None:
    """Whether a session was paid by a subscription."""
    db.execute("ALTER TABLE sessions ADD COLUMN subscription INTEGER NOT NULL DEFAULT 0")


@LADDER()
def m006_glances(db: Database) -> None:
    """Titles, directories and versions of files without figures yet."""
    db.executescript(tables.GLANCES)


@LADDER()
def m007_leases(db: Database) -> None:
    """The process that hosts a session, and the host of pending events."""
    db.executescript(tables.LEASES)
    db.execute("ALTER TABLE events ADD COLUMN host TEXT NOT NULL DEFAULT ''")


@LADDER()
def m008_threads_in_flight(db: Database) -> None:
    """The thread of pending events: sub-agents run in parallel to the main thread."""
    db.execute("ALTER TABLE events ADD COLUMN thread TEXT NOT NULL DEFAULT 'main'")


@LADDER()
def m009_kept_figures(db: Database) -> None:
    """Figures derived from a whole recording."""
    db.executescript(tables.KEPT)


@LADDER()
def m010_stretches_in_flight(db: Database) -> None:
    """A row of pending events holds everything that was written at once."""
    db.execute(tables.STRETCHES)


@LADDER()
def m011_terms(db: Database) -> None:
    """The full-text index gets each sequence of a text once; all recordings are indexed again."""
    db.executescript("DROP TABLE texts; DELETE FROM indexed;" + tables.TERMS)


@LADDER()
def m012_quotas(db: Database) -> None:
    """Providers' quota reports: JSON [[limit, minutes, used, resets, at, raw] ...]; NULL: none.

    A column, because a table would take pages of its own.
    """
    db.execute("ALTER TABLE sessions ADD COLUMN quotas TEXT")


@LADDER()
def m013_trigrams(db: Database) -> None:
    """SQLite finds the sequences of a text itself; all recordings are indexed again.

    The table of figures of whole recordings is dropped, as the cached counts of blocks are enough.
    """
    db.executescript("DROP TABLE texts; DELETE FROM indexed; DROP TABLE kept_figures;" + tables.TEXTS)
