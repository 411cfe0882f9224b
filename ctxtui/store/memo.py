"""What was worked out once: token counts by block, summaries by file. Losing it costs time, nothing else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from ctxtui.core.canonical import Json
from ctxtui.store.connect import writing
from ctxtui.store.rows import sql_text

Counts = tuple[float, ...]
"""Raw features of one block, in the order of `tokens.features.Features`."""

_CHUNK = 1000
_DAY = 86_400


def load_counts(conn: sqlite3.Connection, digests: Iterable[str], encoding: str) -> dict[str, Counts]:
    """What is remembered of `digests` for the way of counting `encoding`."""
    row = conn.execute("SELECT key FROM encodings WHERE name = ?", (encoding,)).fetchone()
    wanted = [bytes.fromhex(digest) for digest in digests] if row else []
    names: list[str] = []
    texts: list[str] = []
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        query = f"SELECT digest, features FROM token_counts WHERE encoding = ? AND digest IN ({_marks(len(chunk))})"
        for digest, features in conn.execute(query, (row[0], *chunk)):
            names.append(digest.hex())
            texts.append(features)
    # One JSON text for all of them is read four times as fast as each alone.
    return {name: tuple(values) for name, values in zip(names, json.loads(f"[{','.join(texts)}]"), strict=True)}


def save_counts(conn: sqlite3.Connection, counts: Mapping[str, Counts], encoding: str, now: float) -> None:
    """Remember `counts` by digest; what is already known is written anew."""
    with writing(conn):
        conn.execute("INSERT OR IGNORE INTO encodings (name) VALUES (?)", (encoding,))
        key = conn.execute("SELECT key FROM encodings WHERE name = ?", (encoding,)).fetchone()[0]
        day = int(now // _DAY)
        # In the order of the primary key: a large batch then fills the pages one after another.
        rows = ((key, bytes.fromhex(digest), _spelled(counts[digest]), day) for digest in sorted(counts))
        conn.executemany(
            "INSERT OR REPLACE INTO token_counts (encoding, digest, features, day) VALUES (?, ?, ?, ?)", rows
        )


def _spelled(features: Counts) -> str:
    return f"[{','.join(str(int(n)) if n == int(n) else repr(n) for n in features)}]"


def _marks(count: int) -> str:
    return ",".join("?" * count)


def remembered(conn: sqlite3.Connection, path: str, size: int, mtime: float, version: str) -> Json | None:
    """The summary of the file as it was with this size and mtime, made by `version` of the summary's code."""
    row = conn.execute(
        "SELECT summary FROM file_summaries WHERE path = ? AND size = ? AND mtime = ? AND version = ?",
        (sql_text(path), size, mtime, version),
    ).fetchone()
    return None if row is None else json.loads(row[0])


def remember(
    conn: sqlite3.Connection, path: str, size: int, mtime: float, version: str, summary: Json, now: float
) -> None:
    """Remember a file's summary (a JSON value) in place of the one before."""
    conn.execute(
        "INSERT OR REPLACE INTO file_summaries (path, size, mtime, version, summary, at) VALUES (?, ?, ?, ?, ?, ?)",
        (sql_text(path), size, mtime, version, json.dumps(summary, separators=(",", ":")), now),
    )
