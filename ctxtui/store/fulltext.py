"""The full-text index: which recordings may hold a text, without the text.

Recordings are indexed in pieces of some 64 KB by their sequences of three characters, so that any part of a word, an
identifier or a text without blanks is found. A piece that has all sequences of a text may hold it: whoever searches
looks. With smaller pieces the index would be larger, with larger ones it would say less.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.store.errors import DAMAGED, told
from ctxtui.store.rows import py_text, sql_text
from ctxtui.store.schema.damage import check_rows
from ctxtui.store.schema.database_file import writing
from ctxtui.store.schema.tables import TEXTS

SHORTEST: Final = 3
"""Characters of a text about which the index knows anything."""
LONGEST: Final = 256
"""Characters of a text that the index is asked about: the pieces of a long text overlap by as many."""
PIECE: Final = 1 << 16
"""Characters of a piece."""
_TERMS: Final = 24
"""Sequences asked for at most: more would hardly exclude any further piece."""
_AT_ONCE: Final = 1 << 18
"""Characters per transaction: others must wait so long."""

_NOT_INDEXED: Final = re.compile("[\ud800-\udfff\x00]")
"""What UTF-8 cannot hold, and what ends a text for SQLite."""

_MERGED: Final = 256
"""Pages of the index joined per transaction."""


class Unit(Struct, frozen=True):
    """A recording to be indexed: the file `path` of `size` bytes, changed at `mtime`, or the session `stored`."""

    path: str = ""
    size: int = 0
    mtime: float = 0.0
    stored: str = ""

    @property
    def name(self) -> str:
        """What names it among all."""
        return self.path or self.stored


def _folded(words: str) -> str:
    """`words` as they are indexed and asked for: case says nothing."""
    return _NOT_INDEXED.sub(" ", words).casefold().replace("ı", "i")


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """`texts` in pieces of about `PIECE` characters: small ones together, large ones cut with an overlap."""
    held: list[str] = []
    size = 0
    for text in texts:
        for start in range(0, len(text) or 1, PIECE):
            part = text[start : start + PIECE + LONGEST]
            if held and size + len(part) > PIECE:
                yield "\n".join(held)
                held, size = [], 0
            held.append(part)
            size += len(part)
    if held:
        yield "\n".join(held)


def _transactions(made: list[str]) -> Iterator[list[str]]:
    """Pieces, together as many as one transaction takes: at least one piece, none where there is none."""
    held: list[str] = []
    size = 0
    for piece in made:
        if held and size + len(piece) > _AT_ONCE:
            yield held
            held, size = [], 0
        held.append(piece)
        size += len(piece)
    yield held


def _question(text: str) -> str | None:
    """What a piece that holds `text` must hold, in FTS5's language; None for a text too short to tell."""
    words = _folded(text)[:LONGEST]
    found = list(dict.fromkeys(words[at : at + 3] for at in range(len(words) - 2)))
    if not found:
        return None
    step = max(1, len(found) / _TERMS)
    terms = [found[int(at * step)] for at in range(min(len(found), _TERMS))]
    return " AND ".join('"' + term.replace('"', '""') + '"' for term in terms)


class Texts:
    """The full-text index of the database `path`, on its connection."""

    def __init__(self, path: Path, conn: sqlite3.Connection) -> None:
        self.path = path
        self._conn = conn

    @told
    def lacking(self, units: Iterable[Unit], version: int) -> list[Unit]:
        """Those of `units` that are not indexed as they are now, by this `version` of the way to make them text."""
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
            one
            for one in units
            if (files.get(one.path) != (one.size, one.mtime) if one.path else one.stored not in stored)
        ]

    @told
    def add(self, unit: Unit, texts: Iterable[str], version: int) -> int:
        """Index the `texts` of `unit` in place of what was indexed of it; how many pieces. A large one in several
        transactions: it counts as indexed from the last one on."""
        made = list(map(_folded, pieces(texts)))
        key = first = done = 0
        for some in _transactions(made):
            with writing(self._conn):
                if not done:
                    key, first = self._begin(unit, len(made), version)
                rows = enumerate(some, first + done)
                self._conn.executemany("INSERT INTO texts (rowid, words) VALUES (?, ?)", rows)
                done += len(some)
                if done == len(made):
                    self._end(unit, key)
        return len(made)

    def _begin(self, unit: Unit, count: int, version: int) -> tuple[int, int]:
        """The key of the unit's row, and where its pieces begin: behind those of the newest row."""
        newest = self._conn.execute("SELECT last FROM indexed ORDER BY key DESC LIMIT 1").fetchone()
        first: int = newest[0] + 1 if newest else 1
        size, mtime = unit.size, unit.mtime
        if unit.stored and not unit.path:
            found = self._conn.execute("SELECT calls, changed FROM sessions WHERE id = ?", (unit.stored,)).fetchone()
            size, mtime = found or (0, 0.0)
        key = self._conn.execute(
            "INSERT INTO indexed (size, mtime, version, first, last) VALUES (?, ?, ?, ?, ?)",
            (size, mtime, version, first, first + count - 1 if count else first),
        ).lastrowid
        assert key is not None
        return key, first

    def _end(self, unit: Unit, key: int) -> None:
        """From now on the row `key` is what is indexed of `unit`."""
        column, value = ("path", sql_text(unit.path)) if unit.path else ("session", None)
        if column == "session":
            found = self._conn.execute("SELECT key FROM sessions WHERE id = ?", (unit.stored,)).fetchone()
            value = found[0] if found else None
        self._conn.execute(f"UPDATE indexed SET {column} = NULL WHERE {column} = ?", (value,))
        self._conn.execute(f"UPDATE indexed SET {column} = ? WHERE key = ?", (value, key))

    @told
    def may_hold(self, texts: Iterable[str]) -> set[str] | None:
        """The names of the indexed units that may hold all of `texts` (in one piece each); None where the index cannot
        tell: they are all too short."""
        questions = [question for text in texts if (question := _question(text)) is not None]
        if not questions:
            return None
        check_rows(self._conn, "indexed", "1")
        rows = self._conn.execute(
            "SELECT i.first, i.last, i.path, s.id FROM indexed i LEFT JOIN sessions s ON s.key = i.session"
            " WHERE i.path NOT NULL OR s.id NOT NULL ORDER BY i.first"
        ).fetchall()
        firsts = [row[0] for row in rows]
        found: list[set[str]] = []
        for question in questions:
            names = set()
            for (row,) in self._conn.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (question,)):
                at = bisect_right(firsts, row) - 1
                if at >= 0 and row <= rows[at][1]:
                    names.add(py_text(rows[at][2] or rows[at][3]))
            found.append(names)
        return set.intersection(*found)

    @told
    def waste(self) -> float:
        """Which share of the index is about what was replaced, deleted or not finished."""
        live, total = self._conn.execute(
            "SELECT total(CASE WHEN path NOT NULL OR session NOT NULL THEN last - first + 1 END),"
            " total(last - first + 1) FROM indexed"
        ).fetchone()
        return 1 - live / total if total else 0.0

    @told
    def size(self) -> int:
        """Bytes that the index takes in the file, to within its pages."""
        found: int = self._conn.execute("SELECT coalesce(sum(length(block)), 0) FROM texts_data").fetchone()[0]
        return found

    @told
    def clear(self) -> None:
        """Begin the index anew, also one that is damaged."""
        with writing(self._conn):
            try:
                self._conn.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
            except sqlite3.DatabaseError as error:
                if not any(part in str(error) for part in DAMAGED):
                    raise
                self._make_anew()
            self._conn.execute("DELETE FROM indexed")

    def _make_anew(self) -> None:
        # Of a damaged index nothing can be dropped but what SQLite's list of tables says, and then its parts as tables.
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

    @told
    def settle(self) -> None:
        """Join what was indexed bit by bit: smaller, and quicker to ask. In short transactions."""
        changes = 2
        while changes > 1:
            before = self._conn.total_changes
            with writing(self._conn):
                self._conn.execute("INSERT INTO texts (texts, rank) VALUES ('merge', ?)", (-_MERGED,))
            changes = self._conn.total_changes - before
