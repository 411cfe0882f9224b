"""The database's file: permissions, opening and copying it, and transactions on it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from ctxtui.core.errors import NotFound, Unreadable
from ctxtui.store.errors import ELSEWHERE

APPLICATION_ID: Final = 0x63747874
"""``ctxt`` in the file's header, which identifies ctxtui's databases."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
"""The rights of other users to a file."""

BUSY_SECONDS: Final = 10.0
"""Seconds that a writer waits for another process before it gives up."""


def open_to_write(path: Path) -> sqlite3.Connection:
    """Connect to the file `path`, created if needed.

    Raises `Unreadable` if it is a folder or cannot be written.
    """
    _check_no_folder(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_private(path)
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise Unreadable("the database cannot be written", place=str(path), way_out=f"make it writable, or {ELSEWHERE}")
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def _check_no_folder(path: Path) -> None:
    if path.is_dir():
        raise Unreadable("the database's path is a folder", place=str(path), way_out=ELSEWHERE)


def make_private(path: Path) -> None:
    """Create `path` with mode 0600, or remove others' rights to it, its -wal and its -shm.

    Another user's files stay as they are. An existing file is never opened: closing a descriptor of ours would drop
    SQLite's locks on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        for part in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            # The last process to close the database removes -wal and -shm, perhaps just now.
            with suppress(FileNotFoundError):
                state = part.stat()
                if state.st_mode & _OTHERS and state.st_uid == os.geteuid():
                    part.chmod(0o600)


def open_to_read(path: Path) -> sqlite3.Connection:
    """Connect without changing the database.

    Raises `NotFound` without the file `path`, `Unreadable` for a folder.
    """
    _check_no_folder(path)
    if not path.is_file():
        raise NotFound("there is no database yet", place=str(path), way_out="`ctxtui import` makes one")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    conn = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        schema_version(conn)
    except sqlite3.OperationalError:
        conn.close()
        wal = path.with_name(path.name + "-wal")
        if os.access(path.parent, os.W_OK) or (wal.exists() and wal.stat().st_size):
            raise
        # In a folder where no -shm can be created, a file without -wal cannot change either.
        conn = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
    return conn


def schema_version(conn: sqlite3.Connection) -> int:
    """Number of migrations applied to the file; 0 for an empty one."""
    version: int = conn.execute("PRAGMA user_version").fetchone()[0]
    return version


@contextmanager
def writing(conn: sqlite3.Connection) -> Iterator[None]:
    """A transaction that locks for writing at once: what it reads stays true until it writes."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


@contextmanager
def reading(conn: sqlite3.Connection) -> Iterator[None]:
    """One snapshot for several queries, unaffected by other writers."""
    conn.execute("BEGIN")
    try:
        yield
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def copy_into(source: Path, target: Path) -> Path:
    """Copy the database `source` to the new file `target` of mode 0600; returns `target`.

    The copy is consistent also while others write. Raises `FileExistsError`: nothing is overwritten.
    """
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(open_to_read(source)) as old, closing(sqlite3.connect(target, isolation_level=None)) as new:
            old.backup(new)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target
