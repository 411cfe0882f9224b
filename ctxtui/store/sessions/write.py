"""Writing a session: packed before the write lock is taken, inserted in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctxtui.core.block import Block, Place
from ctxtui.core.session import Session
from ctxtui.store.block_codec import SMALLEST, Packer, preview
from ctxtui.store.host_process import HostProcess
from ctxtui.store.leases import refuse_in_use
from ctxtui.store.rows import Price, Progress, SourceInfo, py_text, sql_text
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions import call_rows
from ctxtui.store.sessions.identity import Identity, identify
from ctxtui.store.sessions.runs import RunLayout, items_text, lay_out, places_of

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


_CHUNK = 500


class BlockRow(NamedTuple):
    """A block as its row holds it, less the key."""

    digest: bytes
    kind: str | bytes
    size: int
    codec: int
    preview: str | None
    body: str | bytes


def write_session(
    conn: sqlite3.Connection,
    session: Session,
    source: SourceInfo,
    *,
    price: Price,
    progress: Progress | None,
    now: float,
    host: HostProcess | None = None,
) -> str:
    """Store `session`, or bring its stored form up to date; its id in the store. See `Store.import_session`. `host` is
    the one who hosts it, if that writes it."""
    layout = lay_out(session)
    digests = dict.fromkeys(session.tree[node].block.digest for run in layout.runs for node in run.nodes)
    blocks = [session.tree.blocks[digest] for digest in digests]
    packer = Packer(conn)
    packed = _packed(conn, packer, blocks, progress)
    with writing(conn):
        identity = identify(conn, session, source)
        if identity.keep:
            return identity.id
        refuse_in_use(conn, identity.id, host)
        key = put_session(conn, identity, session, source, now)
        keys = put_blocks(conn, packer, blocks, packed)
        runs = _put_runs(conn, key, session, layout, keys)
        call_rows.put(conn, key, session, layout, runs, packer, price)
        _drop_old(conn, key, runs, set(keys.values()))
    return identity.id


def _packed(
    conn: sqlite3.Connection, packer: Packer, blocks: list[Block], progress: Progress | None
) -> dict[str, BlockRow]:
    """The rows of those blocks that the database does not hold."""
    rows: dict[str, BlockRow] = {}
    for start in range(0, len(blocks), _CHUNK):
        chunk = blocks[start : start + _CHUNK]
        known = known_blocks(conn, [block.digest for block in chunk])
        rows.update((block.digest, _row(packer, block)) for block in chunk if block.digest not in known)
        if progress is not None:
            progress(min(start + _CHUNK, len(blocks)), len(blocks))
    return rows


def _row(packer: Packer, block: Block) -> BlockRow:
    words = preview(block) if len(block.body) >= SMALLEST else ""
    codec, stored = packer.pack(block.body, beside=len(words.encode("utf-8", "replace")))
    shown = words if isinstance(stored, bytes) else None
    return BlockRow(bytes.fromhex(block.digest), sql_text(block.kind), len(block.body), codec, shown, stored)


def known_blocks(conn: sqlite3.Connection, digests: Iterable[str]) -> dict[str, int]:
    """The keys of those of `digests` that are stored."""
    wanted = [bytes.fromhex(digest) for digest in digests]
    found: dict[str, int] = {}
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        rows = conn.execute(f"SELECT digest, key FROM blocks WHERE digest IN ({marks})", chunk)
        found.update((digest.hex(), key) for digest, key in rows)
    return found


def put_blocks(
    conn: sqlite3.Connection, packer: Packer, blocks: list[Block], packed: dict[str, BlockRow]
) -> dict[str, int]:
    """The keys of `blocks`, written where they are new; `packed` are rows that were made before."""
    # Asked again under the lock: another process may have added blocks since, or deleted some.
    keys = known_blocks(conn, (block.digest for block in blocks))
    missing = [block for block in blocks if block.digest not in keys]
    rows = [packed.get(block.digest) or _row(packer, block) for block in missing]
    first = conn.execute("SELECT coalesce(max(key), 0) + 1 FROM blocks").fetchone()[0]
    keyed = list(enumerate(rows, first))
    keys.update((row.digest.hex(), key) for key, row in keyed)
    conn.executemany(
        "INSERT INTO blocks (key, digest, kind, size, codec, preview, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((key, *row) for key, row in keyed),
    )
    return keys


def _put_runs(
    conn: sqlite3.Connection, session_key: int, session: Session, layout: RunLayout, keys: dict[str, int]
) -> list[int]:
    """Insert the runs; their keys in the order of `layout.runs`."""
    pairs = [(session_key, key) for key in keys.values()]
    conn.executemany("INSERT OR IGNORE INTO session_blocks (session, block) VALUES (?, ?)", pairs)
    places = place_keys(conn, places_of(session.tree, layout.runs))
    first = conn.execute("SELECT coalesce(max(key), 0) + 1 FROM runs").fetchone()[0]
    rows = []
    for key, run in enumerate(layout.runs, first):
        parent = None if run.parent.run is None else first + run.parent.run
        nodes = [session.tree[node] for node in run.nodes]
        items = items_text((places[node.place], keys[node.block.digest]) for node in nodes)
        rows.append((key, session_key, parent, run.parent.blocks, run.depth, len(nodes), items))
    conn.executemany(
        "INSERT INTO runs (key, session, parent, offset, depth, length, items) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
    )
    return [row[0] for row in rows]


def _drop_old(conn: sqlite3.Connection, session_key: int, runs: list[int], blocks: set[int]) -> None:
    """Delete what an earlier import of the session left and this one does not hold."""
    newest = runs[0] if runs else 1 << 62
    conn.execute("DELETE FROM runs WHERE session = ? AND key < ?", (session_key, newest))
    held = conn.execute("SELECT block FROM session_blocks WHERE session = ?", (session_key,))
    gone = [block for (block,) in held if block not in blocks]
    conn.executemany("DELETE FROM session_blocks WHERE session = ? AND block = ?", ((session_key, b) for b in gone))
    collect(conn, gone)


def collect(conn: sqlite3.Connection, blocks: Iterable[int]) -> int:
    """Delete those of `blocks` that nothing refers to, and skeletons without a call; how many blocks went."""
    before = conn.total_changes
    conn.executemany(
        "DELETE FROM blocks WHERE key = ? AND NOT EXISTS (SELECT 1 FROM session_blocks WHERE block = blocks.key)",
        ((block,) for block in blocks),
    )
    gone = conn.total_changes - before
    conn.execute("DELETE FROM skeletons WHERE NOT EXISTS (SELECT 1 FROM calls WHERE skeleton = skeletons.key)")
    return gone
