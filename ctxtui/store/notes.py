"""Stores notes and bookmarks on blocks and calls.

A block is named by its digest and a call by its id, so that a note is found again when a recording is read anew. The
recording need not be stored.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from ctxtui.core.edit import Target
from ctxtui.core.note import Note
from ctxtui.store.block_codec import digest_text
from ctxtui.store.errors import explains_errors
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.damage import check_rows
from ctxtui.store.schema.database_file import writing

_COLUMNS = "session, call, digest, occurrence, bookmark, text, at, about, path"


class Notes:
    """The notes of the database `path`, on its connection."""

    def __init__(self, path: Path, conn: sqlite3.Connection) -> None:
        self.path = path
        self._conn = conn

    @explains_errors
    def put(self, note: Note) -> None:
        """Store `note`, replacing the one on the same subject; a note without content is removed."""
        key = _subject_values(note)
        with writing(self._conn):
            where = "session = ? AND call = ? AND digest = ? AND occurrence = ?"
            self._conn.execute(f"DELETE FROM notes WHERE {where}", key)
            if note.has_content:
                values = (note.bookmark, sql_text(note.text), note.at, sql_text(note.about), sql_text(note.path))
                self._conn.execute(
                    f"INSERT INTO notes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*key, *values)
                )

    @explains_errors
    def for_session(self, session: str) -> list[Note]:
        """The notes of one session, oldest first."""
        check_rows(self._conn, "notes", "1")
        query = f"SELECT {_COLUMNS} FROM notes WHERE session = ? ORDER BY at, key"
        return [_make_note(row) for row in self._conn.execute(query, (sql_text(session),))]

    @explains_errors
    def all(self) -> list[Note]:
        """Every note, newest first."""
        check_rows(self._conn, "notes", "1")
        return [
            _make_note(row) for row in self._conn.execute(f"SELECT {_COLUMNS} FROM notes ORDER BY at DESC, key DESC")
        ]


def _subject_values(note: Note) -> tuple[Any, ...]:
    target = note.target or Target("", 0)
    return sql_text(note.session), sql_text(note.call), bytes.fromhex(target.digest), target.occurrence


def _make_note(row: tuple[Any, ...]) -> Note:
    session, call, digest, occurrence, bookmark, text, at, about, path = row
    target = Target(digest_text(digest), occurrence) if digest else None
    texts = {"text": py_text(text), "about": py_text(about), "path": py_text(path)}
    return Note(py_text(session), py_text(call), target=target, bookmark=bool(bookmark), at=at, **texts)


def delete_quotes(conn: sqlite3.Connection, session: int) -> None:
    """Delete the quotes in notes on the session with the row `session`.

    The user's own text stays.
    """
    conn.execute(
        "UPDATE notes SET about = '' WHERE session IN (SELECT id FROM sessions WHERE key = :key"
        " UNION SELECT recorded_id FROM sessions WHERE key = :key)",
        {"key": session},
    )
