"""Lists of stored sessions, and lookup by a prefix of the id."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ctxtui.core.errors import NotFound, Several
from ctxtui.store.rows import SessionRow, py_text, sql_text
from ctxtui.store.schema.damage import check_rows, decodes

_COLUMNS = """
    s.id, coalesce(s.name, s.title) AS title, s.source, s.cwd, s.client, s.calls, s.ended, s.imported, s.archived,
    s.subscription,
    coalesce((SELECT path FROM sources WHERE session = s.key AND part = 0), '') AS path"""

_MAX_CANDIDATES = 8


@decodes
def session_rows(conn: sqlite3.Connection, *, archived: bool) -> list[SessionRow]:
    """The stored sessions that are `archived` or not, newest activity first."""
    check_rows(conn, "sessions", "1")
    tags: dict[int, list[str]] = {}
    for key, tag in conn.execute("SELECT session, tag FROM tags ORDER BY session, tag"):
        tags.setdefault(key, []).append(py_text(tag))
    rows = _make_cursor(conn).execute(
        f"SELECT s.key, {_COLUMNS} FROM sessions s WHERE s.archived = ?"
        " ORDER BY coalesce(s.ended, s.imported) DESC, s.key DESC",
        (archived,),
    )
    return [_make_row(row, tags.get(row["key"], ())) for row in rows]


def happenings_of(conn: sqlite3.Connection, kind: str) -> list[tuple[str, str]]:
    query = "SELECT s.id, h.text FROM happenings h JOIN sessions s ON s.key = h.session WHERE h.kind = ? ORDER BY s.key"
    return [(str(id_), py_text(text)) for id_, text in conn.execute(query, (sql_text(kind),))]


@decodes
def session_row(conn: sqlite3.Connection, key: int) -> SessionRow:
    tags = conn.execute("SELECT tag FROM tags WHERE session = ? ORDER BY tag", (key,))
    row = _make_cursor(conn).execute(f"SELECT {_COLUMNS} FROM sessions s WHERE s.key = ?", (key,)).fetchone()
    if row is None:
        raise LookupError(f"the session {key} is in an index but not in its table")
    return _make_row(row, [py_text(tag) for (tag,) in tags])


def _make_cursor(conn: sqlite3.Connection) -> sqlite3.Cursor:
    cursor = conn.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor


def _make_row(row: Any, tags: Iterable[str]) -> SessionRow:
    # Only texts can be bytes here: those with a lone surrogate.
    fields: dict[str, Any] = {name: py_text(v) if isinstance(v := row[name], bytes) else v for name in row.keys()}  # noqa: SIM118
    fields.pop("key", None)
    flags = {name: bool(fields[name]) for name in ("archived", "subscription")}
    fields.update(**flags, tags=tuple(tags))
    return SessionRow(**fields)


@decodes
def find(conn: sqlite3.Connection, prefix: str) -> tuple[int, str]:
    """The key and id of the one session whose id is `prefix` or begins with it.

    Raises `NotFound`, and `Several` with the candidates.
    """
    with suppress(NotFound):
        return find_exact(conn, prefix), prefix
    value = sql_text(prefix)
    where = "substr(s.id, 1, length(:prefix)) = :prefix AND :prefix != ''"
    order = "ORDER BY coalesce(s.ended, s.imported) DESC"
    matches = conn.execute(
        f"SELECT s.key, s.id, coalesce(s.name, s.title) FROM sessions s WHERE {where} {order}", {"prefix": value}
    ).fetchall()
    if not matches:
        raise NotFound(f"no stored session {prefix!r}", way_out="`ctxtui sessions` lists what there is")
    if len(matches) > 1:
        named = [f"{id_} {py_text(title)!r}" if title else str(id_) for _, id_, title in matches[:_MAX_CANDIDATES]]
        more = f" and {len(matches) - _MAX_CANDIDATES} more" if len(matches) > _MAX_CANDIDATES else ""
        raise Several(
            f"{prefix!r} fits {len(matches)} sessions: {', '.join(named)}{more}", way_out="give more of the id"
        )
    return int(matches[0][0]), str(matches[0][1])


@decodes
def find_exact(conn: sqlite3.Connection, id_: str) -> int:
    """The key of the session with exactly this id. Raises `NotFound`."""
    row = conn.execute("SELECT key FROM sessions WHERE id = ?", (sql_text(id_),)).fetchone()
    if row is None:
        raise NotFound(f"no stored session {id_!r}", way_out="`ctxtui sessions` lists what there is")
    return int(row[0])


def count_calls(conn: sqlite3.Connection) -> int:
    return int(conn.execute("SELECT count(DISTINCT id) FROM calls").fetchone()[0])
