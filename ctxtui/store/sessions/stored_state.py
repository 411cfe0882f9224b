"""How far a stored session is: what changes when something of it does, so that nobody reads it in vain."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.core.session import Session
from ctxtui.core.tree import Tree
from ctxtui.store.errors import explained
from ctxtui.store.rows import py_text
from ctxtui.store.schema.connect import connect
from ctxtui.store.sessions.in_flight import COLUMNS, InFlightEvent, events_of
from ctxtui.store.sessions.listing import find
from ctxtui.store.sessions.read import read_session

GROWS: Final = ("opened", "said", "context", "results", "back")
"""Kinds of events in flight by which a context begins and grows."""
State = tuple[object, ...]


class StoredNow(NamedTuple):
    """A stored session as it is: `state` tells it from another, `flying` is what its contexts have grown by since their
    last calls."""

    session: Session
    state: State
    flying: list[InFlightEvent]


class StoredPlace(NamedTuple):
    """Whose a stored session is and where it ran; `when` something last came of it, in Unix seconds; the file that it
    was read from ("": none); whether nothing was said in it yet."""

    id: str
    source: str
    cwd: str
    when: float
    file: str
    silent: bool


def stored_now(path: Path, session_id: str, tree: Tree | None = None, known: State = ()) -> StoredNow | None:
    """The session in the database `path`, its contexts in `tree`; None where it still is in the state `known`. Raises
    `CtxtuiError`."""
    with explained(path), closing(connect(path, readonly=True)) as conn:
        key = find(conn, session_id)[0]
        state = _state(conn, key)
        if state == known:
            return None
        flying = _flying(conn, key)
        return StoredNow(read_session(conn, key, tree), state, flying)


def ids_in(path: Path, prefix: str) -> list[str]:
    """The ids in the database `path` that begin with `prefix`, in the order of `session_rows`, archived ones last.
    Raises `CtxtuiError`, also for a file of an older version."""
    query = "SELECT id FROM sessions ORDER BY archived, coalesce(ended, imported) DESC, key DESC"
    with explained(path), closing(connect(path, readonly=True)) as conn:
        return [id_ for (value,) in conn.execute(query) if (id_ := py_text(value)).startswith(prefix)]


def places_in(path: Path) -> list[StoredPlace]:
    """Where the sessions in the database `path` ran that are not archived; newest activity first, behind them those in
    which nothing was said. Raises `CtxtuiError`, also for a file of an older version."""
    query = (
        "SELECT id, source, cwd, coalesce(ended, imported),"
        " coalesce((SELECT path FROM sources WHERE session = sessions.key AND part = 0), ''),"
        " calls = 0 AND NOT EXISTS (SELECT 1 FROM events WHERE session = sessions.key AND kind = 'said') AS silent"
        " FROM sessions WHERE NOT archived ORDER BY silent, coalesce(ended, imported) DESC, key DESC"
    )
    with explained(path), closing(connect(path, readonly=True)) as conn:
        found = conn.execute(query).fetchall()
    return [
        StoredPlace(py_text(id_), py_text(source), py_text(cwd), when, py_text(file), bool(silent))
        for id_, source, cwd, when, file, silent in found
    ]


def _state(conn: sqlite3.Connection, key: int) -> State:
    marks = ", ".join("?" * len(GROWS))
    queries = (
        ("SELECT coalesce(name, title), window FROM sessions WHERE key = ?", ()),
        ("SELECT count(*), max(key) FROM calls WHERE session = ?", ()),
        ("SELECT count(*), sum(tip_at), max(tip_run) FROM threads WHERE session = ?", ()),
        ("SELECT count(*) FROM happenings WHERE session = ?", ()),
        (f"SELECT count(*), max(key) FROM events WHERE session = ? AND kind IN ({marks})", GROWS),
    )
    return tuple(tuple(conn.execute(query, (key, *more)).fetchone()) for query, more in queries)


def _flying(conn: sqlite3.Connection, key: int) -> list[InFlightEvent]:
    marks = ", ".join("?" * len(GROWS))
    query = f"SELECT {COLUMNS} FROM events WHERE session = ? AND kind IN ({marks}) ORDER BY key"
    return events_of(conn.execute(query, (key, *GROWS)))
