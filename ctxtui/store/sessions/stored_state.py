"""Reads changed sessions, and lists ids and locations, each on a new connection."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.core.session import Session
from ctxtui.core.tree import Tree
from ctxtui.store.errors import explain_errors
from ctxtui.store.rows import py_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.sessions.in_flight import COLUMNS, InFlightEvent, decode_events
from ctxtui.store.sessions.listing import find
from ctxtui.store.sessions.read import read_session

CONTEXT_EVENTS: Final = ("opened", "said", "context", "results", "back")
"""Kinds of pending events that begin or change a context."""
State = tuple[object, ...]


class StoredSnapshot(NamedTuple):
    """A stored session; `state` identifies its version, `pending` are its `CONTEXT_EVENTS`."""

    session: Session
    state: State
    pending: list[InFlightEvent]


class StoredLocation(NamedTuple):
    """Source and location of a stored session.

    `when` is its last activity in Unix seconds, `file` the file that it was read from ("": none), `is_empty` whether it
    has neither a call nor a user message.
    """

    id: str
    source: str
    cwd: str
    when: float
    file: str
    is_empty: bool


def read_if_changed(
    path: Path, session_id: str, tree: Tree | None = None, last_state: State = ()
) -> StoredSnapshot | None:
    """The session in the database `path`, its contexts in `tree`.

    None if it is still in the state `last_state`. Raises `CtxtuiError`.
    """
    with explain_errors(path), closing(connect(path, readonly=True)) as conn:
        key = find(conn, session_id)[0]
        state = _read_state(conn, key)
        if state == last_state:
            return None
        flying = _pending_context_events(conn, key)
        return StoredSnapshot(read_session(conn, key, tree), state, flying)


def stored_ids(path: Path, prefix: str) -> list[str]:
    """Ids in the database `path` that begin with `prefix`, newest activity first.

    Archived sessions are last. Raises `CtxtuiError`, also for a file of an older version.
    """
    query = "SELECT id FROM sessions ORDER BY archived, coalesce(ended, imported) DESC, key DESC"
    with explain_errors(path), closing(connect(path, readonly=True)) as conn:
        return [id_ for (value,) in conn.execute(query) if (id_ := py_text(value)).startswith(prefix)]


def stored_locations(path: Path) -> list[StoredLocation]:
    """Unarchived sessions in the database `path`, newest activity first.

    Empty sessions are last. Raises `CtxtuiError`, also for a file of an older version.
    """
    query = (
        "SELECT id, source, cwd, coalesce(ended, imported),"
        " coalesce((SELECT path FROM sources WHERE session = sessions.key AND part = 0), ''),"
        " calls = 0 AND NOT EXISTS (SELECT 1 FROM events WHERE session = sessions.key AND kind = 'said') AS silent"
        " FROM sessions WHERE NOT archived ORDER BY silent, coalesce(ended, imported) DESC, key DESC"
    )
    with explain_errors(path), closing(connect(path, readonly=True)) as conn:
        rows = conn.execute(query).fetchall()
    return [
        StoredLocation(py_text(id_), py_text(source), py_text(cwd), when, py_text(file), bool(silent))
        for id_, source, cwd, when, file, silent in rows
    ]


def _read_state(conn: sqlite3.Connection, key: int) -> State:
    marks = ", ".join("?" * len(CONTEXT_EVENTS))
    queries = (
        ("SELECT coalesce(name, title), window FROM sessions WHERE key = ?", ()),
        ("SELECT count(*), max(key) FROM calls WHERE session = ?", ()),
        ("SELECT count(*), sum(tip_at), max(tip_run) FROM threads WHERE session = ?", ()),
        ("SELECT count(*) FROM happenings WHERE session = ?", ()),
        (f"SELECT count(*), max(key) FROM events WHERE session = ? AND kind IN ({marks})", CONTEXT_EVENTS),
    )
    return tuple(tuple(conn.execute(query, (key, *more)).fetchone()) for query, more in queries)


def _pending_context_events(conn: sqlite3.Connection, key: int) -> list[InFlightEvent]:
    marks = ", ".join("?" * len(CONTEXT_EVENTS))
    query = f"SELECT {COLUMNS} FROM events WHERE session = ? AND kind IN ({marks}) ORDER BY key"
    return decode_events(conn.execute(query, (key, *CONTEXT_EVENTS)))
