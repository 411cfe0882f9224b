"""Compression of bodies in the database: blocks, skeletons, artifacts.

A body is stored plain if it is small or not compressible, else as zstd with the dictionary that the package ships. The
database holds every dictionary that its rows were packed with. A compressed block is stored with a preview of its text,
for people who open the file.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.block import Block, digest_with_kind
from ctxtui.core.block_content import read
from ctxtui.core.errors import Unreadable
from ctxtui.store.rows import py_text
from ctxtui.store.schema.damage import Damaged
from ctxtui.store.schema.database_file import writing
from ctxtui.wire.zstd import zstd

PLAIN: Final = 0
MIN_PACKED_BYTES: Final = 200
"""Minimum size in bytes for compression: with fewer bytes, zstd's header takes what compression saves."""

LEVEL: Final = 7
"""zstd level: with the dictionary, 6 % smaller than level 3, at 60 MB/s; higher levels gain next to nothing."""

DICTIONARY_ID: Final = 202601
"""Id of the shipped dictionary; a new dictionary gets a new one."""
DICTIONARY_SHA256: Final = "c6d0ac8ffe89270e41203e03ff70fd24399ac1e611bd4c957eae9997b7ad6fab"
"""SHA-256 of the dictionary, which a test checks."""


class Packed(NamedTuple):
    """A body as stored: its codec's key in ``codecs``, and text (plain) or bytes (compressed)."""

    codec: int
    stored: str | bytes


@cache
def shipped_dictionary() -> bytes:
    # Imported here: reading uses the dictionary in the database.
    from importlib.resources import files

    return (files("ctxtui") / "data" / "zstd.dict").read_bytes()


class Packer:
    """Packs bodies for one database.

    Making one adds the dictionary's row if it is missing, in a transaction of its own.
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._codec = _add_codec(conn, shipped_dictionary())
        # No dictionary id and no checksum in each frame (4 bytes each): the row names the dictionary, and a block's
        # digest is checked on reading.
        parameter = zstd.CompressionParameter
        self._compressor = zstd.ZstdCompressor(
            options={parameter.compression_level: LEVEL, parameter.checksum_flag: 0, parameter.dict_id_flag: 0},
            zstd_dict=zstd.ZstdDict(shipped_dictionary()).as_digested_dict,
        )

    def pack(self, body: bytes, preview_bytes: int = 0) -> Packed:
        """Pack `body` for storage.

        `preview_bytes`: size of the preview that is stored with it if it is compressed.
        """
        if len(body) >= MIN_PACKED_BYTES:
            packed = self._compressor.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)
            if len(packed) + preview_bytes < len(body):
                return Packed(self._codec, packed)
        try:
            return Packed(PLAIN, body.decode())
        except UnicodeDecodeError:
            return Packed(PLAIN, body)


def _add_codec(conn: sqlite3.Connection, dictionary: bytes) -> int:
    """The key of the dictionary's row, which is inserted if missing."""
    with writing(conn):
        row = conn.execute("SELECT key FROM codecs WHERE name = 'zstd' AND dictionary = ?", (dictionary,)).fetchone()
        if row is not None:
            return int(row[0])
        values = ("zstd", zstd.ZstdDict(dictionary).dict_id, dictionary)
        done = conn.execute("INSERT INTO codecs (name, dictionary_id, dictionary) VALUES (?, ?, ?)", values)
        return int(done.lastrowid or 0)


def digest_text(value: bytes) -> str:
    """A row's digest in hexadecimal. Raises `Damaged` if `value` is not bytes."""
    if not isinstance(value, bytes):
        raise Damaged(f"{value!r:.60} is not a digest")
    return value.hex()


class Unpacker:
    """Unpacks bodies of one database with the dictionaries that it holds."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._place = str(conn.execute("PRAGMA database_list").fetchone()[2])
        self._dictionaries: dict[int, zstd.ZstdDict] = {}
        for key, dictionary in conn.execute("SELECT key, dictionary FROM codecs WHERE name = 'zstd'"):
            try:
                self._dictionaries[key] = zstd.ZstdDict(dictionary)
            except (TypeError, ValueError) as error:
                raise Damaged(f"the dictionary {key}: {error}") from error

    def unpack(self, codec: int, stored: str | bytes, what: str) -> bytes:
        """The body of a row; `what` names it in an error.

        Raises `Unreadable` if it is damaged, or packed in a way that the database does not describe.
        """
        if isinstance(stored, str):
            return stored.encode()
        if codec == PLAIN:
            return stored
        try:
            return zstd.decompress(stored, self._dictionaries[codec])
        except (KeyError, zstd.ZstdError) as error:
            reason = f"unknown codec {codec}" if isinstance(error, KeyError) else str(error)
            raise Unreadable(f"{what} is damaged ({reason})", place=self._place, way_out="restore a backup") from error

    def block(self, digest: bytes, kind: str | bytes, codec: int, stored: str | bytes) -> Block:
        """The block of a row. Raises `Unreadable` if its content does not match its digest."""
        name = digest_text(digest)
        block = Block(name, py_text(kind), self.unpack(codec, stored, f"block {name}"))
        if name != canonical.digest(block.body) and name != digest_with_kind(block.kind, block.body):
            raise Unreadable(f"block {name} is damaged", place=self._place, way_out="restore a backup")
        return block


PREVIEW_CHARS: Final = 56
"""Characters of a preview: what fits on an 80-column line with a block's kind and sizes.

Every 16 more are 0.8 % of a recording's size if messages are small.
"""

_MAX_PARSED_BYTES: Final = 1 << 18
"""Larger bodies (images, files) are not parsed: their preview is the start of their JSON."""

_UNSHOWABLE: Final = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
"""Characters whose runs become one space in a preview."""


def preview(block: Block) -> str:
    """The first `PREVIEW_CHARS` characters of a block's text on one line."""
    if len(block.body) > _MAX_PARSED_BYTES:
        text = block.body[: 4 * PREVIEW_CHARS].decode("utf-8", "ignore")
    else:
        content = read(block)
        media = " ".join(item.media_type or item.url for item in content.media)
        text = " ".join(
            part[: 3 * PREVIEW_CHARS] for part in (content.name, content.text, content.arguments, media) if part
        )
    return _UNSHOWABLE.sub(" ", text).strip()[:PREVIEW_CHARS].rstrip()
