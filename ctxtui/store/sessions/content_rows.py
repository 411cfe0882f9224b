"""What sessions share, as rows: blocks, places and skeletons, each once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.block import Block, Place
from ctxtui.core.call import Skeleton
from ctxtui.store.block_codec import SMALLEST, Packer, preview
from ctxtui.store.rows import Progress, py_text, sql_text

_CHUNK: Final = 500


class BlockRow(NamedTuple):
    """A block as its row holds it, less the key."""

    digest: bytes
    kind: str | bytes
    size: int
    codec: int
    preview: str | None
    body: str | bytes


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


def packed_blocks(
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


class Skeletons:
    """Skeletons by content: requests of one client often share theirs."""

    def __init__(self, conn: sqlite3.Connection, packer: Packer) -> None:
        self._conn = conn
        self._packer = packer

    def key_of(self, skeleton: Skeleton | None) -> int | None:
        """The key of the skeleton's row, made if it is new."""
        if skeleton is None:
            return None
        body = canonical.dumps(skeleton.parts)
        digest = bytes.fromhex(canonical.digest(skeleton.dialect.encode("utf-8", "surrogatepass") + b"\0" + body))
        row = self._conn.execute("SELECT key FROM skeletons WHERE digest = ?", (digest,)).fetchone()
        if row is not None:
            return int(row[0])
        values = (digest, sql_text(skeleton.dialect), len(body), *self._packer.pack(body))
        done = self._conn.execute(
            "INSERT INTO skeletons (digest, dialect, size, codec, body) VALUES (?, ?, ?, ?, ?)", values
        )
        return int(done.lastrowid or 0)


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
