"""Rows that sessions share: blocks, places and skeletons, each once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.block import Block, Place
from ctxtui.core.call import Skeleton
from ctxtui.store.block_codec import MIN_PACKED_BYTES, Packer, preview
from ctxtui.store.rows import Progress, py_text, sql_text

_CHUNK: Final = 500


class BlockRow(NamedTuple):
    """A block's row without its key."""

    digest: bytes
    kind: str | bytes
    size: int
    codec: int
    preview: str | None
    body: str | bytes


def place_keys(conn: sqlite3.Connection, places: Iterable[Place]) -> dict[Place, int]:
    """The keys of `places`, inserting new ones."""
    rows = conn.execute("SELECT key, section, role, mark FROM places")
    keys = {Place(*map(py_text, texts)): key for key, *texts in rows}
    for place in places:
        if place not in keys:
            values = tuple(map(sql_text, place))
            done = conn.execute("INSERT INTO places (section, role, mark) VALUES (?, ?, ?)", values)
            keys[place] = int(done.lastrowid or 0)
    return keys


def pack_blocks(
    conn: sqlite3.Connection, packer: Packer, blocks: list[Block], progress: Progress | None
) -> dict[str, BlockRow]:
    """Make rows for the blocks that the database lacks."""
    rows: dict[str, BlockRow] = {}
    for start in range(0, len(blocks), _CHUNK):
        chunk = blocks[start : start + _CHUNK]
        stored = stored_block_keys(conn, [block.digest for block in chunk])
        rows.update((block.digest, _make_row(packer, block)) for block in chunk if block.digest not in stored)
        if progress is not None:
            progress(min(start + _CHUNK, len(blocks)), len(blocks))
    return rows


def _make_row(packer: Packer, block: Block) -> BlockRow:
    preview_text = preview(block) if len(block.body) >= MIN_PACKED_BYTES else ""
    codec, stored = packer.pack(block.body, preview_bytes=len(preview_text.encode("utf-8", "replace")))
    shown = preview_text if isinstance(stored, bytes) else None
    return BlockRow(bytes.fromhex(block.digest), sql_text(block.kind), len(block.body), codec, shown, stored)


def stored_block_keys(conn: sqlite3.Connection, digests: Iterable[str]) -> dict[str, int]:
    """The keys of those blocks with `digests` that are stored, by digest."""
    values = [bytes.fromhex(digest) for digest in digests]
    keys: dict[str, int] = {}
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        rows = conn.execute(f"SELECT digest, key FROM blocks WHERE digest IN ({marks})", chunk)
        keys.update((digest.hex(), key) for digest, key in rows)
    return keys


def put_blocks(
    conn: sqlite3.Connection, packer: Packer, blocks: list[Block], packed: dict[str, BlockRow]
) -> dict[str, int]:
    """Insert new `blocks` and return the keys of all; `packed` are prepared rows."""
    # Looked up again under the lock: another process may have added or deleted blocks since `pack_blocks`.
    keys = stored_block_keys(conn, (block.digest for block in blocks))
    missing = [block for block in blocks if block.digest not in keys]
    rows = [packed.get(block.digest) or _make_row(packer, block) for block in missing]
    first = conn.execute("SELECT coalesce(max(key), 0) + 1 FROM blocks").fetchone()[0]
    keyed = list(enumerate(rows, first))
    keys.update((row.digest.hex(), key) for key, row in keyed)
    conn.executemany(
        "INSERT INTO blocks (key, digest, kind, size, codec, preview, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((key, *row) for key, row in keyed),
    )
    return keys


class Skeletons:
    """Skeleton rows by content: requests of one client often share theirs."""

    def __init__(self, conn: sqlite3.Connection, packer: Packer) -> None:
        self._conn = conn
        self._packer = packer

    def key_of(self, skeleton: Skeleton | None) -> int | None:
        """The key of the skeleton's row, inserting a new one."""
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


def delete_unreferenced(conn: sqlite3.Connection, blocks: Iterable[int]) -> None:
    """Delete those of `blocks` (keys) that no session has, and all skeletons without a call."""
    conn.executemany(
        "DELETE FROM blocks WHERE key = ? AND NOT EXISTS (SELECT 1 FROM session_blocks WHERE block = blocks.key)",
        ((block,) for block in blocks),
    )
    conn.execute("DELETE FROM skeletons WHERE NOT EXISTS (SELECT 1 FROM calls WHERE skeleton = skeletons.key)")
