"""Looking after the file: its state, copies of it, its size."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from ctxtui.core.errors import CtxtuiError
from ctxtui.store.block_codec import Unpacker
from ctxtui.store.leases import every_living, in_use
from ctxtui.store.rows import Info
from ctxtui.store.schema.database_file import copy_into, schema_version, writing

_INTERNAL = ("sqlite_", "_sqlite_", "texts")
"""What is SQLite's own: the full-text index and its parts among them, whose rows say nothing."""


def info(conn: sqlite3.Connection, path: Path) -> Info:
    """Sizes, rows by table, schema."""
    names = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    tables = [name for name in names if not name.startswith(_INTERNAL)]
    plain, packed = conn.execute("SELECT coalesce(sum(size), 0), coalesce(sum(length(body)), 0) FROM blocks").fetchone()
    wal = path.with_name(path.name + "-wal")
    pages = {pragma: conn.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in ("page_size", "freelist_count")}
    return Info(
        path=str(path),
        schema_version=schema_version(conn),
        size=path.stat().st_size,
        wal_size=wal.stat().st_size if wal.exists() else 0,
        free=pages["page_size"] * pages["freelist_count"],
        rows={name: conn.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables},
        plain=plain,
        packed=packed,
        journal=conn.execute("PRAGMA journal_mode").fetchone()[0],
        sqlite=sqlite3.sqlite_version,
    )


def backup(path: Path, to: Path, now: float) -> Path:
    """Copy the database to the new file `to` (in a folder: under a name with the time); where it is.

    Raises `CtxtuiError` for a file that exists: nothing is overwritten.
    """
    if to.is_dir():
        to = to / f"{path.stem}-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%S}{path.suffix}"
    try:
        return copy_into(path, to)
    except FileExistsError:
        raise CtxtuiError("there is a file already", place=str(to), way_out="name another one") from None


def unpack_all(path: Path) -> None:
    """Unpack every body in the database `path`, a copy: whoever opens it needs no zstd. The full-text index goes, which
    only ctxtui can ask."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn, writing(conn):
        unpacker = Unpacker(conn)
        for table in ("blocks", "skeletons", "artifacts"):
            keys = [key for (key,) in conn.execute(f"SELECT key FROM {table} WHERE codec != 0")]
            for key in keys:
                codec, body = conn.execute(f"SELECT codec, body FROM {table} WHERE key = ?", (key,)).fetchone()
                plain = unpacker.unpack(codec, body, f"{table} {key}")
                conn.execute(f"UPDATE {table} SET codec = 0, body = ? WHERE key = ?", (_as_text(plain), key))
        conn.execute("UPDATE blocks SET preview = NULL")
        conn.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
        conn.execute("DELETE FROM indexed")
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        vacuum(conn)


def _as_text(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def vacuum(conn: sqlite3.Connection) -> None:
    """Write the file anew without the space of what was deleted, and fold the write-ahead log into it. Raises `InUse`
    while a session is hosted: for as long as it takes nothing could be recorded."""
    for id_, host in every_living(conn):
        raise in_use(conn, id_, host, way_out="end it there first: meanwhile it could not be recorded")
    conn.execute("VACUUM")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
