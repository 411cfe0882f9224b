"""The overlay in the database: the append-only log of edits, and externalized artifacts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from ctxtui.core import canonical
from ctxtui.core.edit import Edit, Target
from ctxtui.core.errors import NotFound
from ctxtui.store.block_codec import Packer, Unpacker
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.damage import check_rows, decodes
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions.listing import find_exact

EDITS = """
DROP TABLE edits;
CREATE TABLE edits (         -- the overlay: append-only, a revert is a row of its own
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  thread TEXT NOT NULL,
  branch TEXT NOT NULL,      -- a fork of the thread's log; '' is the first
  id TEXT NOT NULL,
  kind TEXT NOT NULL,        -- what it does; apply: staged edits leave from now on; revert: takes an entry back
  targets TEXT NOT NULL,     -- JSON [[digest, occurrence, provider's id] ...]
  author TEXT NOT NULL, at REAL NOT NULL, payload TEXT NOT NULL,
  batch TEXT NOT NULL,       -- entries of one action share it
  reverts TEXT NOT NULL,     -- id of the entry that is taken back
  UNIQUE (session, thread, branch, id)
);
CREATE TRIGGER edits_append_only BEFORE UPDATE ON edits BEGIN SELECT RAISE(ABORT, 'edits are append-only'); END;
CREATE INDEX artifacts_name ON artifacts(session, name);
"""
"""The edits table since migration 4; nothing was ever written to that of migration 1."""


@decodes
def read_edits(conn: sqlite3.Connection, id_: str, thread: str) -> list[Edit]:
    """The edits of a thread of the session `id_`, in the order in which they were logged."""
    key = find_exact(conn, id_)
    check_rows(conn, "edits", "session = ?", key)
    rows = conn.execute(
        "SELECT id, kind, targets, author, at, payload, batch, reverts FROM edits"
        " WHERE session = ? AND thread = ? AND branch = '' ORDER BY key",
        (key, sql_text(thread)),
    )
    return [_make_edit(row) for row in rows]


def edited_sessions(conn: sqlite3.Connection) -> list[str]:
    rows = conn.execute("SELECT id FROM sessions WHERE key IN (SELECT session FROM edits)")
    return [py_text(id_) for (id_,) in rows]


def _make_edit(row: tuple[str, str, str, str, float, str, str, str]) -> Edit:
    id_, kind, targets, author, at, *texts = row
    named = tuple(Target(*fields) for fields in json.loads(targets))
    payload, batch, reverts = map(py_text, texts)
    more = {"payload": payload, "batch": batch, "reverts": reverts}
    return Edit(py_text(id_), py_text(kind), named, author=py_text(author), at=at, **more)


def add_edits(conn: sqlite3.Connection, id_: str, edits: Iterable[Edit], *, thread: str, now: float) -> int:
    """Append those of `edits` that the thread's log lacks; returns their number."""
    with writing(conn):
        key = find_exact(conn, id_)
        where = key, sql_text(thread)
        before = conn.total_changes
        conn.executemany(
            "INSERT OR IGNORE INTO edits (session, thread, branch, id, kind, targets, author, at, payload, batch,"
            " reverts) VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?)",
            [(*where, *_make_row(edit)) for edit in edits],
        )
        added = conn.total_changes - before
        if added:
            conn.execute("UPDATE sessions SET changed = ? WHERE key = ?", (now, key))
    return added


def _make_row(edit: Edit) -> tuple[str | bytes | float, ...]:
    targets = json.dumps(
        [[t.digest, t.occurrence, *([t.id] if t.id else [])] for t in edit.targets], separators=(",", ":")
    )
    texts = [sql_text(word) for word in (edit.payload, edit.batch, edit.reverts)]
    return (sql_text(edit.id), sql_text(edit.kind), targets, sql_text(edit.author), edit.at, *texts)


def put_artifact(conn: sqlite3.Connection, id_: str, name: str, data: bytes, now: float) -> None:
    packer = Packer(conn)
    packed = packer.pack(data)
    with writing(conn):
        key = find_exact(conn, id_)
        conn.execute("DELETE FROM artifacts WHERE session = ? AND name = ?", (key, sql_text(name)))
        digest = bytes.fromhex(canonical.digest(data))
        conn.execute(
            "INSERT INTO artifacts (session, name, media_type, at, digest, size, codec, body)"
            " VALUES (?, ?, 'text/plain', ?, ?, ?, ?, ?)",
            (key, sql_text(name), now, digest, len(data), packed.codec, packed.stored),
        )


def list_artifacts(conn: sqlite3.Connection, id_: str, prefix: str) -> list[str]:
    rows = conn.execute("SELECT name FROM artifacts WHERE session = ? ORDER BY key", (find_exact(conn, id_),))
    return [name for row in rows if (name := py_text(row[0])).startswith(prefix)]


def read_artifact(conn: sqlite3.Connection, id_: str, name: str) -> bytes:
    key = find_exact(conn, id_)
    row = conn.execute(
        "SELECT codec, body FROM artifacts WHERE session = ? AND name = ?", (key, sql_text(name))
    ).fetchone()
    if row is None:
        raise NotFound(f"session {id_} has no artifact {name!r}")
    return Unpacker(conn).unpack(row[0], row[1], f"artifact {name}")
