"""Cached results: token counts of blocks, summaries and heads of files.

If they are lost, they are computed again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TypeVar

from ctxtui.core.canonical import Json
from ctxtui.store.rows import Glance, py_text, sql_text
from ctxtui.store.schema.damage import decodes
from ctxtui.store.schema.database_file import writing

T = TypeVar("T")

Counts = tuple[float, ...]
"""Features of one block, in the order of `tokens.features.Features`."""

_CHUNK_SIZE = 1000
"""Blocks per query and per JSON text: a batch takes a quarter of the time of single blocks, and is still short."""

_DAY = 86_400


@decodes
def load_counts(conn: sqlite3.Connection, digests: Iterable[str], encoding: str) -> dict[str, Counts]:
    row = conn.execute("SELECT key FROM encodings WHERE name = ?", (encoding,)).fetchone()
    counts_by_digest: dict[str, Counts] = {}
    for chunk in _split_chunks(sorted(map(bytes.fromhex, digests)) if row else []):
        marks = ",".join("?" * len(chunk))
        query = f"SELECT digest, features FROM token_counts WHERE encoding = ? AND digest IN ({marks})"
        rows = conn.execute(query, (row[0], *chunk)).fetchall()
        counts = json.loads(f"[{','.join([features for _, features in rows])}]")
        counts_by_digest.update(
            (digest.hex(), tuple(counted)) for (digest, _), counted in zip(rows, counts, strict=True)
        )
    return counts_by_digest


def save_counts(conn: sqlite3.Connection, counts: Mapping[str, Counts], encoding: str, now: float) -> None:
    # In the order of the primary key, a large batch fills the pages one after another.
    digests = sorted(counts)
    texts = [text for chunk in _split_chunks(digests) for text in _encode_counts([counts[digest] for digest in chunk])]
    with writing(conn):
        conn.execute("INSERT OR IGNORE INTO encodings (name) VALUES (?)", (encoding,))
        key = conn.execute("SELECT key FROM encodings WHERE name = ?", (encoding,)).fetchone()[0]
        rows = zip(repeat(key), map(bytes.fromhex, digests), texts, repeat(int(now // _DAY)))
        conn.executemany(
            "INSERT OR REPLACE INTO token_counts (encoding, digest, features, day) VALUES (?, ?, ?, ?)", rows
        )


def _encode_counts(counts: list[Counts]) -> list[str]:
    """Encode each block's counts as a JSON list, whole numbers without a fraction."""
    text = json.dumps(counts, separators=(",", ":")).replace(".0,", ",").replace(".0]", "]")
    return [f"[{features}]" for features in text[2:-2].split("],[")]


def _split_chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _CHUNK_SIZE):
        yield items[start : start + _CHUNK_SIZE]


@decodes
def load_summary(conn: sqlite3.Connection, path: str, size: int, mtime: float, version: str) -> Json | None:
    row = conn.execute(
        "SELECT summary FROM file_summaries WHERE path = ? AND size = ? AND mtime = ? AND version = ?",
        (sql_text(path), size, mtime, version),
    ).fetchone()
    return None if row is None else json.loads(row[0])


def stored_session_key(id_: str) -> str:
    """The key that replaces a file's path in summaries of the stored session `id_`."""
    return f"stored {id_}"


def outdated_summaries(conn: sqlite3.Connection, versions: Sequence[str]) -> list[tuple[str | bytes, int, float, str]]:
    marks = ", ".join("?" * len(versions))
    query = f"SELECT path, size, mtime, version FROM file_summaries WHERE version NOT IN ({marks})"
    return [(path, size, mtime, py_text(version)) for path, size, mtime, version in conn.execute(query, versions)]


def load_summaries(conn: sqlite3.Connection, version: str) -> list[tuple[str | bytes, int, float, str]]:
    return conn.execute(
        "SELECT path, size, mtime, summary FROM file_summaries WHERE version = ?", (version,)
    ).fetchall()


def save_summary(
    conn: sqlite3.Connection, path: str, size: int, mtime: float, version: str, summary: Json, now: float
) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO file_summaries (path, size, mtime, version, summary, at) VALUES (?, ?, ?, ?, ?, ?)",
        (sql_text(path), size, mtime, version, json.dumps(summary, separators=(",", ":")), now),
    )


def save_brief_summaries(
    conn: sqlite3.Connection,
    new: Iterable[tuple[str, int, float, Json]],
    version: str,
    more: str,
    now: float,
) -> None:
    with writing(conn):
        conn.executemany(
            "INSERT INTO file_summaries (path, size, mtime, version, summary, at) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime, "
            "version = excluded.version, summary = excluded.summary, at = excluded.at "
            "WHERE NOT (version = ? AND size = excluded.size AND mtime = excluded.mtime)",
            [
                (sql_text(path), size, mtime, version, json.dumps(summary, separators=(",", ":")), now, more)
                for path, size, mtime, summary in new
            ],
        )


def load_glances(conn: sqlite3.Connection) -> dict[str | bytes, Glance]:
    rows = conn.execute("SELECT path, size, title, cwd, version FROM glances")
    return {path: Glance(size, *map(py_text, texts)) for path, size, *texts in rows}


def save_glances(conn: sqlite3.Connection, new: Mapping[str, Glance], now: float) -> None:
    with writing(conn):
        conn.executemany(
            "INSERT OR REPLACE INTO glances (path, size, title, cwd, version, at) VALUES (?, ?, ?, ?, ?, ?)",
            [(sql_text(path), glance.size, *map(sql_text, glance[1:]), now) for path, glance in new.items()],
        )
