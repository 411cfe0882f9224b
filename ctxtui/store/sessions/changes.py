"""User actions on stored sessions: title, tags, archive, delete, prune."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ctxtui.core.errors import CtxtuiError, InUse
from ctxtui.store.cache import stored_session_key
from ctxtui.store.leases import all_living_hosts, in_use_error, refuse_in_use
from ctxtui.store.notes import delete_quotes
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions.content_rows import delete_unreferenced
from ctxtui.store.sessions.listing import find

_DAY = 86_400


def rename(conn: sqlite3.Connection, prefix: str, title: str) -> str:
    with writing(conn):
        key, id_ = find(conn, prefix)
        name = sql_text(title.strip()) if title.strip() else None
        conn.execute("UPDATE sessions SET name = ? WHERE key = ?", (name, key))
    return id_


def strip_tags(tags: Iterable[str]) -> list[str]:
    """`tags` without spaces around them. Raises `CtxtuiError` if one is empty."""
    names = [name.strip() for name in tags]
    if not all(names):
        raise CtxtuiError("a tag may not be empty")
    return names


def tag(conn: sqlite3.Connection, prefix: str, tags: Iterable[str], *, remove: bool) -> str:
    names = strip_tags(tags)
    with writing(conn):
        key, id_ = find(conn, prefix)
        if remove:
            query = "DELETE FROM tags WHERE session = ? AND tag = ?"
        else:
            query = "INSERT OR IGNORE INTO tags (session, tag) VALUES (?, ?)"
        conn.executemany(query, [(key, sql_text(name)) for name in names])
    return id_


def archive(conn: sqlite3.Connection, prefix: str, *, archived: bool) -> str:
    with writing(conn):
        key, id_ = find(conn, prefix)
        conn.execute("UPDATE sessions SET archived = ? WHERE key = ?", (archived, key))
    return id_


def set_subscription(conn: sqlite3.Connection, prefix: str, *, on: bool) -> str:
    with writing(conn):
        key, id_ = find(conn, prefix)
        conn.execute("UPDATE sessions SET subscription = ? WHERE key = ?", (on, key))
    return id_


def delete(conn: sqlite3.Connection, prefix: str) -> str:
    """Delete a session and the cached summaries of its files; notes on it stay, without quotes."""
    with writing(conn):
        key, id_ = find(conn, prefix)
        refuse_in_use(conn, id_)
        _delete(conn, [key])
    return id_


def _delete(conn: sqlite3.Connection, keys: list[int]) -> None:
    blocks: set[int] = set()
    for key in keys:
        rows = conn.execute("SELECT block FROM session_blocks WHERE session = ?", (key,))
        blocks.update(block for (block,) in rows)
        delete_quotes(conn, key)
        _delete_summaries(conn, key)
        conn.execute("DELETE FROM leases WHERE session = (SELECT id FROM sessions WHERE key = ?)", (key,))
        conn.execute("DELETE FROM sessions WHERE key = ?", (key,))
    delete_unreferenced(conn, sorted(blocks))


def _delete_summaries(conn: sqlite3.Connection, key: int) -> None:
    """Delete cached summaries of a session, which quote its first message."""
    (id_,) = conn.execute("SELECT id FROM sessions WHERE key = ?", (key,)).fetchone()
    paths = conn.execute("SELECT path FROM sources WHERE session = ?", (key,)).fetchall()
    for table in ("file_summaries", "glances"):
        named = [*paths, (sql_text(stored_session_key(py_text(id_))),)]
        conn.executemany(f"DELETE FROM {table} WHERE path = ?", named)


def older_sessions(conn: sqlite3.Connection, before: float) -> list[tuple[int, str]]:
    query = "SELECT key, id FROM sessions WHERE coalesce(ended, imported) < ? ORDER BY coalesce(ended, imported)"
    hosted = {id_ for id_, _ in all_living_hosts(conn)}
    return [(key, py_text(id_)) for key, id_ in conn.execute(query, (before,)) if id_ not in hosted]


def unprunable_sessions(conn: sqlite3.Connection, before: float) -> list[InUse]:
    query = "SELECT 1 FROM sessions WHERE id = ? AND coalesce(ended, imported) < ?"
    old_hosted = [(id_, host) for id_, host in all_living_hosts(conn) if conn.execute(query, (id_, before)).fetchone()]
    return [in_use_error(conn, id_, host, way_out="end it there first") for id_, host in old_hosted]


def prune(conn: sqlite3.Connection, before: float) -> list[str]:
    with writing(conn):
        sessions = older_sessions(conn, before)
        _delete(conn, [key for key, _ in sessions])
        conn.execute("DELETE FROM token_counts WHERE day < ?", (int(before // _DAY),))
        conn.execute("DELETE FROM file_summaries WHERE at < ?", (before,))
        conn.execute("DELETE FROM glances WHERE at < ?", (before,))
    return [id_ for _, id_ in sessions]
