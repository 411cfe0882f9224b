"""How a block's JSON is packed: plain when small, else zstd with the dictionary that the package ships.

The database holds every dictionary its rows were packed with, so that a backup, or a file written by an older
ctxtui, is readable whatever the package ships by then. Beside it stand the first characters of what a block says, for
people who open the file and for lists.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import Final, NamedTuple

import zstandard

from ctxtui.core import canonical
from ctxtui.core.block import Block, digest_with_kind
from ctxtui.core.block_content import read
from ctxtui.core.errors import Unreadable
from ctxtui.store.rows import py_text
from ctxtui.store.schema.damage import Damaged
from ctxtui.store.schema.database_file import writing

PLAIN: Final = 0
"""The codec's key for bodies as they are."""

SMALLEST: Final = 200
"""Bytes from which on packing is tried: below, the frame's head eats what it saves."""

LEVEL: Final = 7
"""zstd's level: with the dictionary 6 % smaller than level 3 at 60 MB/s; above 7 next to nothing is gained."""

DICTIONARY_ID: Final = 202601
DICTIONARY_SHA256: Final = "c6d0ac8ffe89270e41203e03ff70fd24399ac1e611bd4c957eae9997b7ad6fab"


class Packed(NamedTuple):
    """A body as a row holds it: the codec's key, and text (plain) or bytes (packed)."""

    codec: int
    stored: str | bytes


@cache
def shipped_dictionary() -> bytes:
    """The package's own dictionary."""
    # Imported here: what is only read has its dictionary beside it.
    from importlib.resources import files

    return (files("ctxtui") / "data" / "zstd.dict").read_bytes()


class Packer:
    """Packs bodies for one database. Makes the dictionary's row there if it is missing (a transaction of its own)."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        dictionary = zstandard.ZstdCompressionDict(shipped_dictionary())
        dictionary.precompute_compress(level=LEVEL)
        self._codec = _codec_of(conn, shipped_dictionary())
        # The row says which dictionary it is and SQLite guards its pages: 4 bytes saved per frame, twice.
        self._zstd = zstandard.ZstdCompressor(
            level=LEVEL, dict_data=dictionary, write_checksum=False, write_dict_id=False
        )

    def pack(self, body: bytes, beside: int = 0) -> Packed:
        """`body` as it is stored. `beside` is what must be stored with it if it is not readable (its preview)."""
        if len(body) >= SMALLEST:
            packed = self._zstd.compress(body)
            if len(packed) + beside < len(body):
                return Packed(self._codec, packed)
        try:
            return Packed(PLAIN, body.decode())
        except UnicodeDecodeError:
            return Packed(PLAIN, body)


def _codec_of(conn: sqlite3.Connection, dictionary: bytes) -> int:
    with writing(conn):
        row = conn.execute("SELECT key FROM codecs WHERE name = 'zstd' AND dictionary = ?", (dictionary,)).fetchone()
        if row is not None:
            return int(row[0])
        values = ("zstd", zstandard.ZstdCompressionDict(dictionary).dict_id(), dictionary)
        done = conn.execute("INSERT INTO codecs (name, dictionary_id, dictionary) VALUES (?, ?, ?)", values)
        return int(done.lastrowid or 0)


def digest_text(value: bytes) -> str:
    """The digest that a row names. Raises `Damaged` where it is none."""
    if not isinstance(value, bytes):
        raise Damaged(f"{value!r:.60} is no digest")
    return value.hex()


class Unpacker:
    """Unpacks bodies of one database with the dictionaries that it holds."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._place = str(conn.execute("PRAGMA database_list").fetchone()[2])
        self._zstd: dict[int, zstandard.ZstdDecompressor] = {}
        for key, name, dictionary in conn.execute("SELECT key, name, dictionary FROM codecs WHERE key != 0"):
            if name == "zstd":
                try:
                    data = zstandard.ZstdCompressionDict(dictionary)
                    self._zstd[key] = zstandard.ZstdDecompressor(dict_data=data)
                except (TypeError, zstandard.ZstdError) as error:
                    raise Damaged(f"the dictionary {key}: {error}") from error

    def unpack(self, codec: int, stored: str | bytes, what: str) -> bytes:
        """The body of a row; `what` names it in an error. Raises `Unreadable` where it is damaged, or packed in a way
        that the database does not describe."""
        if isinstance(stored, str):
            return stored.encode()
        if codec == PLAIN:
            return stored
        try:
            return self._zstd[codec].decompress(stored)
        except (KeyError, zstandard.ZstdError) as error:
            reason = f"unknown codec {codec}" if isinstance(error, KeyError) else str(error)
            raise Unreadable(f"{what} is damaged ({reason})", place=self._place, way_out="restore a backup") from error

    def block(self, digest: bytes, kind: str | bytes, codec: int, stored: str | bytes) -> Block:
        """The block of a row. Raises `Unreadable` where it is not the one that its digest names."""
        name = digest_text(digest)
        found = Block(name, py_text(kind), self.unpack(codec, stored, f"block {name}"))
        if name != canonical.digest(found.body) and name != digest_with_kind(found.kind, found.body):
            raise Unreadable(f"block {name} is damaged", place=self._place, way_out="restore a backup")
        return found


LENGTH: Final = 56
"""Characters: what a line of 80 columns leaves beside a block's kind and sizes. Every 16 more are 0.8 % of a
recording's size where messages are small."""

_LARGE: Final = 1 << 18
"""Bytes above which a body is not parsed for its preview: an image, or a file whose JSON's head says as much."""

_UNSHOWABLE: Final = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def preview(block: Block) -> str:
    """At most `LENGTH` characters on one line, without controls, bidirectional marks and lone surrogates."""
    if len(block.body) > _LARGE:
        words = block.body[: 4 * LENGTH].decode("utf-8", "ignore")
    else:
        got = read(block)
        media = " ".join(one.media_type or one.url for one in got.media)
        words = " ".join(part[: 3 * LENGTH] for part in (got.name, got.text, got.arguments, media) if part)
    return _UNSHOWABLE.sub(" ", words).strip()[:LENGTH].rstrip()
