"""Leases: which process hosts a session. While its host lives no other process hosts, deletes or rewrites the session.

A row of a host that was killed binds nobody: whoever comes next takes the session, and takes up what was in flight.
A row counts only in the file in which it was written: a copy of a database has no hosts.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from ctxtui.core.errors import InUse
from ctxtui.store.errors import explained
from ctxtui.store.host_process import HostProcess
from ctxtui.store.rows import sql_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions.listing import find

_COLUMNS = "token, machine, pid, born, since, beat"


def take(conn: sqlite3.Connection, session_id: str, host: HostProcess) -> None:
    """Make `host` the one host of the session. Within the caller's transaction. Raises `InUse` where another one
    lives."""
    found = living(conn, session_id, host)
    if found:
        raise in_use(conn, session_id, found[0])
    _claim(conn, session_id, host)


def _claim(conn: sqlite3.Connection, session_id: str, host: HostProcess) -> None:
    name = sql_text(session_id)
    conn.execute("DELETE FROM leases WHERE session = ? AND token != ?", (name, host.token))
    _put(conn, session_id, host)


def keep(conn: sqlite3.Connection, session_id: str, host: HostProcess) -> None:
    """The heartbeat of a host. One that could not take the session before, because nothing could be written, takes it
    now; where another one was faster both write, each what is its own. Within the caller's transaction."""
    beat = "UPDATE leases SET beat = ?, session = ? WHERE token = ? AND file = ?"
    if conn.execute(beat, (time.time(), sql_text(session_id), host.token, _file(conn))).rowcount:
        return
    if living(conn, session_id, host):
        _put(conn, session_id, host)
    else:
        _claim(conn, session_id, host)


def _put(conn: sqlite3.Connection, session_id: str, host: HostProcess) -> None:
    conn.execute(
        f"INSERT OR REPLACE INTO leases (session, file, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            sql_text(session_id),
            _file(conn),
            host.token,
            host.machine,
            host.pid,
            host.born,
            host.since,
            time.time(),
        ),
    )


def leave(conn: sqlite3.Connection, host: HostProcess) -> None:
    """`host` hosts no longer."""
    conn.execute("DELETE FROM leases WHERE token = ?", (host.token,))


def living(conn: sqlite3.Connection, session_id: str, but: HostProcess | None = None) -> list[HostProcess]:
    """The hosts of a session that live, the first one first, without `but`."""
    query = f"SELECT {_COLUMNS} FROM leases WHERE session = ? AND file = ? AND token != ? ORDER BY since"
    return _living(conn, query, (sql_text(session_id), _file(conn), but.token if but is not None else ""))


def every_living(conn: sqlite3.Connection) -> list[tuple[str, HostProcess]]:
    """(session id, host) of every host that lives."""
    ids = conn.execute("SELECT DISTINCT session FROM leases ORDER BY since").fetchall()
    return [(str(id_), host) for (id_,) in ids for host in living(conn, str(id_))]


def _living(conn: sqlite3.Connection, query: str, values: tuple[object, ...]) -> list[HostProcess]:
    now = time.time()
    found = [
        HostProcess(token=token, machine=machine, pid=pid, born=born, since=since, beat=beat)
        for token, machine, pid, born, since, beat in conn.execute(query, values)
    ]
    return [one for one in found if one.lives(now)]


def refuse_in_use(conn: sqlite3.Connection, session_id: str, but: HostProcess | None = None) -> None:
    """Raise `InUse` where a host of the session lives other than `but`: it may not be deleted or written anew."""
    found = living(conn, session_id, but)
    if found:
        raise in_use(conn, session_id, found[0], way_out="end it there first")


def in_use(conn: sqlite3.Connection, session_id: str, host: HostProcess, way_out: str = "") -> InUse:
    """The error that says who hosts the session; without a `way_out` that a branch can be made."""
    query = "SELECT count(*) FROM calls c JOIN sessions s ON s.key = c.session WHERE s.id = ?"
    calls = conn.execute(query, (sql_text(session_id),)).fetchone()[0]
    if not way_out:
        branch = f"`ctxtui chat --continue {session_id}@N` makes a branch after call N"
        way_out = f"go on there, or {branch}" if calls else "go on there"
    words = f"{session_id} is open in {host.where}"
    return InUse(words, way_out=way_out, session=session_id, pid=host.pid, since=host.since)


def _file(conn: sqlite3.Connection) -> int:
    """The number of the database's file, which no copy of it has; 0 for one in memory."""
    name = conn.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    return os.stat(name).st_ino if name else 0


# For those who have a path and no connection


def host_of(path: Path, session_id: str) -> HostProcess | None:
    """The host of a stored session of the database `path` that lives, if there is one. Raises what `connect` raises."""
    with explained(path), closing(connect(path, readonly=True)) as conn:
        return next(iter(living(conn, find(conn, session_id)[1])), None)


def claim(path: Path, session_id: str, host: HostProcess) -> None:
    """Make `host` the one host of a stored session. Raises `InUse`, and what `connect` raises."""
    with explained(path), closing(connect(path)) as conn, writing(conn):
        take(conn, find(conn, session_id)[1], host)


def release(path: Path, host: HostProcess) -> None:
    """`host` hosts no longer. Raises what `connect` raises."""
    with explained(path), closing(connect(path)) as conn, writing(conn):
        leave(conn, host)
