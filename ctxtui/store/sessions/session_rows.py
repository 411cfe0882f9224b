"""The rows of a session besides its blocks and calls."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator

from ctxtui.core.block import Place
from ctxtui.core.session import Session
from ctxtui.store.rows import SourceInfo, py_text, sql_text
from ctxtui.store.sessions.identity import Identity

_LISTS = {"skipped": 4, "happenings": 7, "outcomes": 4}
"""Tables with one row per list entry, and how many columns they have."""


def put_session(conn: sqlite3.Connection, identity: Identity, session: Session, source: SourceInfo, now: float) -> int:
    """Insert or update the session's own row, its sources and its lists; the row's key. What the user gave it stays."""
    about = session.about
    texts = (about.id, about.title, about.source, about.cwd, about.client, about.version)
    known = {
        **dict(zip(("recorded_id", "title", "source", "cwd", "client", "version"), map(sql_text, texts), strict=True)),
        "window": about.window,
        "quotas": json.dumps(session.quotas, separators=(",", ":")) if session.quotas else None,
        "changed": now,
    }
    key = identity.key
    if key is None:
        blank = {"model": "", "calls": 0, "threads": 0}
        key = _insert(conn, {"id": identity.id, "imported": now, **known, **blank})
    else:
        sets = ", ".join(f"{name} = ?" for name in known)
        conn.execute(f"UPDATE sessions SET {sets} WHERE key = ?", (*known.values(), key))
    _put_sources(conn, key, source)
    _put_lists(conn, key, session)
    return key


def _insert(conn: sqlite3.Connection, row: dict[str, object]) -> int:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    done = conn.execute(f"INSERT INTO sessions ({names}) VALUES ({marks})", tuple(row.values()))
    return int(done.lastrowid or 0)


def _put_sources(conn: sqlite3.Connection, key: int, source: SourceInfo) -> None:
    conn.execute("DELETE FROM sources WHERE session = ?", (key,))
    files = [source, *source.companions]
    rows = [
        (key, part, sql_text(file.path), file.size, file.mtime, sql_text(file.format))
        for part, file in enumerate(files)
    ]
    conn.executemany(
        "INSERT OR IGNORE INTO sources (session, part, path, size, mtime, format) VALUES (?, ?, ?, ?, ?, ?)", rows
    )


def _put_lists(conn: sqlite3.Connection, key: int, session: Session) -> None:
    rows: dict[str, Iterator[tuple[object, ...]]] = {
        "skipped": ((one.line, sql_text(one.reason)) for one in session.skipped),
        "happenings": (
            (sql_text(one.kind), sql_text(one.text), sql_text(one.thread), one.at, sql_text(one.after))
            for one in session.happenings
        ),
        "outcomes": ((sql_text(one.name), sql_text(one.value)) for one in session.outcomes),
    }
    for table, width in _LISTS.items():
        conn.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        numbered = ((key, nth, *row) for nth, row in enumerate(rows[table]))
        conn.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", numbered)


def place_keys(conn: sqlite3.Connection, places: Iterable[Place]) -> dict[Place, int]:
    """The keys of `places`, made where they are new."""
    rows = conn.execute("SELECT key, section, role, mark FROM places")
    keys = {Place(*map(py_text, texts)): key for key, *texts in rows}
    for place in places:
        if place not in keys:
            values = tuple(map(sql_text, place))
            done = conn.execute("INSERT INTO places (section, role, mark) VALUES (?, ?, ?)", values)
            keys[place] = int(done.lastrowid or 0)
    return keys
