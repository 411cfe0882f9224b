"""The full-text index: which recordings may contain a text, without the text.

Recordings are indexed in pieces of some 65,000 characters by their sequences of three characters. So any part of a
word, an identifier or a text without blanks is found, if it has three characters or more. A piece with all sequences of
a text may still not contain it; the caller must check.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.store.errors import DAMAGED, explains_errors
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.damage import check_rows
from ctxtui.store.schema.database_file import writing
from ctxtui.store.schema.tables import TEXTS

MAX_QUERY_CHARS: Final = 256
"""Maximum characters of a text that are looked up: the pieces of a long text overlap by as many."""
PIECE_CHARS: Final = 1 << 16
_MAX_TERMS: Final = 24
"""Maximum sequences per query: more would hardly exclude any further piece."""
_MAX_BATCH_CHARS: Final = 1 << 18
"""Characters per transaction, which blocks other writers."""

_NOT_INDEXED: Final = re.compile("[\ud800-\udfff\x00]")
"""Characters that UTF-8 cannot hold (surrogates), and NUL, which ends a text for SQLite."""

_MERGE_PAGES: Final = 256


class Unit(Struct, frozen=True):
    """A recording to be indexed.

    It is the file `path` of `size` bytes, changed at Unix time `mtime`, or the stored session with the id `stored`.
    """

    path: str = ""
    size: int = 0
    mtime: float = 0.0
    stored: str = ""

    @property
    def name(self) -> str:
        return self.path or self.stored


def _fold_case(text: str) -> str:
    return _NOT_INDEXED.sub(" ", text).casefold().replace("ı", "i").replace("i\u0307", "i")  # of a dotted capital I


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """Join and split `texts` into pieces of about `PIECE_CHARS`, which overlap at cuts."""
    parts: list[str] = []
    size = 0
    for text in texts:
        for start in range(0, len(text) or 1, PIECE_CHARS):
            part = text[start : start + PIECE_CHARS + MAX_QUERY_CHARS]
            if parts and size + len(part) > PIECE_CHARS:
                yield "\n".join(parts)
                parts, size = [], 0
            parts.append(part)
            size += len(part)
    if parts:
        yield "\n".join(parts)


def _group_by_transaction(all_pieces: list[str]) -> Iterator[list[str]]:
    """Group pieces by transaction; no pieces give one empty group."""
    batch: list[str] = []
    size = 0
    for piece in all_pieces:
        if batch and size + len(piece) > _MAX_BATCH_CHARS:
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += len(piece)
    yield batch


def _to_query(text: str) -> str | None:
    """The FTS5 query for pieces that may contain `text`; None for a text too short."""
    folded = _fold_case(text)[:MAX_QUERY_CHARS]
    trigrams = list(dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2)))
    if not trigrams:
        return None
    step = max(1, len(trigrams) / _MAX_TERMS)
    terms = [trigrams[int(at * step)] for at in range(min(len(trigrams), _MAX_TERMS))]
    return " AND ".join('"' + term.replace('"', '""') + '"' for term in terms)


def can_find(texts: Iterable[str]) -> bool:
    """Whether the index can search for any of `texts`, or all of them are too short."""
    return any(_to_query(text) is not None for text in texts)


class FullTextIndex:
    """The full-text index of the database `path`, on its connection."""

    def __init__(self, path: Path, conn: sqlite3.Connection) -> None:
        self.path = path
        self._conn = conn

    @explains_errors
    def unindexed(self, units: Iterable[Unit], version: int) -> list[Unit]:
        """The `units` whose current state is not indexed by this `version` of the text extraction."""
        files = {
            py_text(path): (size, mtime)
            for path, size, mtime in self._conn.execute(
                "SELECT path, size, mtime FROM indexed WHERE path NOT NULL AND version = ?", (version,)
            )
        }
        stored = {
            str(id_)
            for (id_,) in self._conn.execute(
                "SELECT s.id FROM indexed i JOIN sessions s ON s.key = i.session"
                " WHERE i.size = s.calls AND i.mtime = s.changed AND i.version = ?",
                (version,),
            )
        }
        return [
            unit
            for unit in units
            if (files.get(unit.path) != (unit.size, unit.mtime) if unit.path else unit.stored not in stored)
        ]

    @explains_errors
    def add(self, unit: Unit, texts: Iterable[str], version: int) -> int:
        """Index the `texts` of `unit`; returns the number of pieces.

        A large unit takes several transactions and counts as indexed after the last one. Then its older pieces are no
        longer found, but take space until `clear`.
        """
        text_pieces = list(map(_fold_case, pieces(texts)))
        key = first = done = 0
        for group in _group_by_transaction(text_pieces):
            with writing(self._conn):
                if not done:
                    key, first = self._begin_unit(unit, len(text_pieces), version)
                rows = enumerate(group, first + done)
                self._conn.executemany("INSERT INTO texts (rowid, words) VALUES (?, ?)", rows)
                done += len(group)
                if done == len(text_pieces):
                    self._end_unit(unit, key)
        return len(text_pieces)

    def _begin_unit(self, unit: Unit, count: int, version: int) -> tuple[int, int]:
        """Insert the unit's row; returns its key, and the row of its first piece.

        Pieces follow those of all earlier units.
        """
        newest = self._conn.execute("SELECT last FROM indexed ORDER BY key DESC LIMIT 1").fetchone()
        first: int = newest[0] + 1 if newest else 1
        size, mtime = unit.size, unit.mtime
        if unit.stored and not unit.path:
            session_row = self._conn.execute(
                "SELECT calls, changed FROM sessions WHERE id = ?", (unit.stored,)
            ).fetchone()
            size, mtime = session_row or (0, 0.0)
        key = self._conn.execute(
            "INSERT INTO indexed (size, mtime, version, first, last) VALUES (?, ?, ?, ?, ?)",
            (size, mtime, version, first, first + count - 1 if count else first),
        ).lastrowid
        assert key is not None
        return key, first

    def _end_unit(self, unit: Unit, key: int) -> None:
        column, value = ("path", sql_text(unit.path)) if unit.path else ("session", None)
        if column == "session":
            session_row = self._conn.execute("SELECT key FROM sessions WHERE id = ?", (unit.stored,)).fetchone()
            value = session_row[0] if session_row else None
        self._conn.execute(f"UPDATE indexed SET {column} = NULL WHERE {column} = ?", (value,))
        self._conn.execute(f"UPDATE indexed SET {column} = ? WHERE key = ?", (value, key))

    @explains_errors
    def find_candidates(self, texts: Iterable[str]) -> set[str] | None:
        """The names of the indexed units that may contain all of `texts`, each of them in one piece.

        Texts that are too short for the index are ignored; None if all of them are.
        """
        queries = [query for text in texts if (query := _to_query(text)) is not None]
        if not queries:
            return None
        check_rows(self._conn, "indexed", "1")
        rows = self._conn.execute(
            "SELECT i.first, i.last, i.path, s.id FROM indexed i LEFT JOIN sessions s ON s.key = i.session"
            " WHERE i.path NOT NULL OR s.id NOT NULL ORDER BY i.first"
        ).fetchall()
        firsts = [row[0] for row in rows]
        matches: list[set[str]] = []
        for query in queries:
            names = set()
            for (row,) in self._conn.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (query,)):
                at = bisect_right(firsts, row) - 1
                if at >= 0 and row <= rows[at][1]:
                    names.add(py_text(rows[at][2] or rows[at][3]))
            matches.append(names)
        return set.intersection(*matches)

    @explains_errors
    def wasted_share(self) -> float:
        """Share of the index taken by replaced, deleted or unfinished units."""
        live, total = self._conn.execute(
            "SELECT total(CASE WHEN path NOT NULL OR session NOT NULL THEN last - first + 1 END),"
            " total(last - first + 1) FROM indexed"
        ).fetchone()
        return 1 - live / total if total else 0.0

    @explains_errors
    def size(self) -> int:
        """Bytes of the index's data in the file, without the overhead of SQLite's pages."""
        total: int = self._conn.execute("SELECT coalesce(sum(length(block)), 0) FROM texts_data").fetchone()[0]
        return total

    @explains_errors
    def clear(self) -> None:
        """Empty the index, also a damaged one."""
        with writing(self._conn):
            try:
                self._conn.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
            except sqlite3.DatabaseError as error:
                if not any(part in str(error) for part in DAMAGED):
                    raise
                self._replace_damaged()
            self._conn.execute("DELETE FROM indexed")

    def _replace_damaged(self) -> None:
        # A damaged index cannot be dropped: delete it from SQLite's list of tables, then drop its parts as tables.
        self._conn.execute("PRAGMA writable_schema=ON")
        try:
            self._conn.execute("DELETE FROM sqlite_master WHERE name = 'texts'")
        finally:
            self._conn.execute("PRAGMA writable_schema=RESET")
        parts = self._conn.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'texts_*'"
        ).fetchall()
        for (part,) in parts:
            self._conn.execute(f'DROP TABLE "{part}"')
        self._conn.execute(TEXTS)

    @explains_errors
    def merge(self) -> None:
        """Merge the parts of the index in short transactions, which makes it smaller and faster."""
        # SQLite's documentation: fewer than two changes mean that nothing was left to merge.
        changes = 2
        while changes > 1:
            before = self._conn.total_changes
            with writing(self._conn):
                self._conn.execute("INSERT INTO texts (texts, rank) VALUES ('merge', ?)", (-_MERGE_PAGES,))
            changes = self._conn.total_changes - before
