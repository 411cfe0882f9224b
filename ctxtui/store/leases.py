"""Leases: a lease is the row of the process that hosts a session.

While that process lives, no other process hosts, deletes or rewrites the session (exception: `write_heartbeat`). The
lease of a killed host has no effect: the next host takes over the session and its pending events. A lease counts only
in the file in which it was written: a copy of a database has no hosts.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from ctxtui.core.errors import InUse
from ctxtui.store.errors import explain_errors
from ctxtui.store.host_process import HostProcess
from ctxtui.store.rows import sql_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions.listing import find

_COLUMNS = "token, machine, pid, born, since, beat"


def _replace_leases(conn: sqlite3.Connection, session_id: str, host: HostProcess) -> None:
    name = sql_text(session_id)
    conn.execute("DELETE FROM leases WHERE session = ? AND token != ?", (name, host.token))
    _insert_lease(conn, session_id, host)


def write_heartbeat(conn: sqlite3.Connection, session_id: str, host: HostProcess) -> None:
    """Write a host's heartbeat, in the caller's transaction.

    A host that has no lease yet, because nothing could be written before, gets it now. If another process became the
    host meanwhile, both write, each its own events.
    """
    beat = "UPDATE leases SET beat = ?, session = ? WHERE token = ? AND file = ?"
    if conn.execute(beat, (time.time(), sql_text(session_id), host.token, _file_inode(conn))).rowcount:
        return
    if living_hosts(conn, session_id, host):
        _insert_lease(conn, session_id, host)
    else:
        _replace_leases(conn, session_id, host)


def _insert_lease(conn: sqlite3.Connection, session_id: str, host: HostProcess) -> None:
    values = (host.token, host.machine, host.pid, host.born, host.since, time.time())
    insert = f"INSERT OR REPLACE INTO leases (session, file, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    conn.execute(insert, (sql_text(session_id), _file_inode(conn), *values))


def remove_lease(conn: sqlite3.Connection, host: HostProcess) -> None:
    conn.execute("DELETE FROM leases WHERE token = ?", (host.token,))


def living_hosts(conn: sqlite3.Connection, session_id: str, but: HostProcess | None = None) -> list[HostProcess]:
    """The living hosts of a session except `but`, oldest first."""
    query = f"SELECT {_COLUMNS} FROM leases WHERE session = ? AND file = ? AND token != ? ORDER BY since"
    return _query_living(conn, query, (sql_text(session_id), _file_inode(conn), but.token if but is not None else ""))


def all_living_hosts(conn: sqlite3.Connection) -> list[tuple[str, HostProcess]]:
    """(session id, host) of every living host."""
    ids = conn.execute("SELECT DISTINCT session FROM leases ORDER BY since").fetchall()
    return [(str(id_), host) for (id_,) in ids for host in living_hosts(conn, str(id_))]


def _query_living(conn: sqlite3.Connection, query: str, values: tuple[object, ...]) -> list[HostProcess]:
    now = time.time()
    hosts = [
        HostProcess(token=token, machine=machine, pid=pid, born=born, since=since, beat=beat)
        for token, machine, pid, born, since, beat in conn.execute(query, values)
    ]
    return [host for host in hosts if host.is_alive(now)]


def refuse_in_use(conn: sqlite3.Connection, session_id: str, but: HostProcess | None = None) -> None:
    """Raise `InUse` if a host of the session other than `but` lives."""
    hosts = living_hosts(conn, session_id, but)
    if hosts:
        raise in_use_error(conn, session_id, hosts[0], way_out="end it there first")


def in_use_error(conn: sqlite3.Connection, session_id: str, host: HostProcess, way_out: str = "") -> InUse:
    """The error that names the host of the session; the default `way_out` suggests a branch."""
    query = "SELECT count(*) FROM calls c JOIN sessions s ON s.key = c.session WHERE s.id = ?"
    calls = conn.execute(query, (sql_text(session_id),)).fetchone()[0]
    if not way_out:
        branch = f"`ctxtui chat --continue {session_id}@N` makes a branch after call N"
        way_out = f"go on there, or {branch}" if calls else "go on there"
    message = f"{session_id} is open in {host.description}"
    return InUse(message, way_out=way_out, session=session_id, pid=host.pid, since=host.since)


def _file_inode(conn: sqlite3.Connection) -> int:
    """The inode of the database's file, which differs in copies; 0 for one in memory."""
    name = conn.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    return os.stat(name).st_ino if name else 0


# For callers with a path and no connection


def host_of(path: Path, session_id: str) -> HostProcess | None:
    """A living host of a stored session of the database `path`, if any. Raises `CtxtuiError`."""
    with explain_errors(path), closing(connect(path, readonly=True)) as conn:
        return next(iter(living_hosts(conn, find(conn, session_id)[1])), None)


def claim(path: Path, session_id: str, host: HostProcess) -> None:
    """Make `host` the only host of a stored session.

    Raises `CtxtuiError`, and `InUse` if another host lives.
    """
    with explain_errors(path), closing(connect(path)) as conn, writing(conn):
        id_ = find(conn, session_id)[1]
        hosts = living_hosts(conn, id_, host)
        if hosts:
            raise in_use_error(conn, id_, hosts[0])
        _replace_leases(conn, id_, host)


def release(path: Path, host: HostProcess) -> None:
    """Remove the lease of `host`. Raises `CtxtuiError`."""
    with explain_errors(path), closing(connect(path)) as conn, writing(conn):
        remove_lease(conn, host)
