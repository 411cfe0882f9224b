"""Opens the database: checks that the file is ctxtui's and brings its schema up to date."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError, NotFound, Unreadable
from ctxtui.store.errors import ELSEWHERE
from ctxtui.store.schema.damage import decodes
from ctxtui.store.schema.database_file import APPLICATION_ID, BUSY_SECONDS, open_to_read, open_to_write, schema_version

SCHEMA_VERSION = 13
"""Number of migrations that this program has."""

_AGAIN_SECONDS: Final = 0.02


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Connect to the database `path`; create or migrate it if needed (never with `readonly`).

    New files, their -wal and -shm have mode 0600. Raises `Unreadable` for a file of another program or a newer ctxtui,
    and sqlite3's own errors. With `readonly` also `NotFound` if there is no file or an empty one, and `CtxtuiError` if
    the file needs a migration.
    """
    conn = open_to_read(path) if readonly else open_to_write(path)
    try:
        version = _check_application(conn, path)
        if readonly:
            _check_current(version, path)
            conn.execute("PRAGMA query_only=ON")
        else:
            _set_pragmas(conn)
            if version < SCHEMA_VERSION:
                # Imported here: sqlite-utils takes 85 ms, and most connections need no migration.
                from ctxtui.store.schema.migrations import migrate

                migrate(conn, path, SCHEMA_VERSION)
    except BaseException:
        conn.close()
        raise
    return conn


@decodes  # SQLite's error may contain a name from a damaged page that is not valid text
def _check_application(conn: sqlite3.Connection, path: Path) -> int:
    # The tables first: another process may create them, with the application's id, between two of these.
    tables: int = conn.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application: int = conn.execute("PRAGMA application_id").fetchone()[0]
    version = schema_version(conn)
    if tables and application != APPLICATION_ID:
        raise Unreadable("the file is another program's database", place=str(path), way_out=ELSEWHERE)
    if version > SCHEMA_VERSION:
        raise Unreadable(
            f"a newer ctxtui wrote the database: it has schema {version}, this one knows up to {SCHEMA_VERSION}",
            place=str(path),
            way_out=f"upgrade ctxtui, or {ELSEWHERE}",
        )
    return version


def _check_current(version: int, path: Path) -> None:
    if version == 0:
        raise NotFound("the database is empty", place=str(path), way_out="`ctxtui import` fills it")
    if version < SCHEMA_VERSION:
        raise CtxtuiError(
            f"the database has schema {version}, this ctxtui needs {SCHEMA_VERSION}",
            place=str(path),
            way_out="`ctxtui db info` brings it up to date, after a backup",
        )


def _set_pragmas(conn: sqlite3.Connection) -> None:
    conn.execute(f"PRAGMA busy_timeout={round(BUSY_SECONDS * 1000)}")
    if conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _use_write_ahead_log(conn)
    conn.execute("PRAGMA synchronous=NORMAL")
    conn.execute("PRAGMA foreign_keys=ON")


def _use_write_ahead_log(conn: sqlite3.Connection) -> None:
    """Change the journal to WAL, retrying for `BUSY_SECONDS`: SQLite itself does not wait here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            # Refused silently on file systems without shared memory: then the slower rollback journal stays.
            conn.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_SECONDS)
