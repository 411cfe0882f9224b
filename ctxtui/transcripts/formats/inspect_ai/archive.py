"""Read the header and the samples of an ``.eval`` archive in memory, also of a damaged one."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Final, Protocol

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict
from ctxtui.core.session import Skipped
from ctxtui.transcripts.kit.readers import parse_json

MAX_MEMBER_BYTES: Final = 500_000_000
"""Maximum unpacked bytes of a member."""
MAX_TOTAL_BYTES: Final = 2_000_000_000
"""Maximum unpacked bytes of all members together; later ones are not read."""

_LOCAL: Final = b"PK\x03\x04"
_AFTER_MEMBER: Final = re.compile(rb"PK(?:\x01\x02|\x03\x04|\x05\x06|\x06\x06|\x07\x08)")
"""A signature that may follow a member's data. JSON escapes control characters, so its text never has one."""
_HEADER: Final = struct.Struct("<4sHHHHHLLLHH")
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_ENCRYPTED, _SIZE_AFTER_DATA = 1, 8
_UNKNOWN: Final = 0xFFFFFFFF
# Zstandard expands at most 32,768 times, deflate 1,032 times, so an unpacked slice fits in memory.
_SLICE: Final = 4096
_BAD: Final = (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError, zlib.error)


class _Damaged(Exception):
    """A member cannot be unpacked; the text is the reason."""


def members(data: bytes) -> Iterator[tuple[str, bytes | Skipped]]:
    """Yield the JSON files of the archive in `data`, in order, by name.

    A damaged one comes as the reason. An archive without its directory (cut, or still being written) is walked member
    by member, which yields all files, after an unnamed entry that reports it.
    """
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except _BAD as error:
        yield "", Skipped(1, f"a ZIP archive without its directory ({error}): read from its beginning")
        yield from _walk_members(data)
        return
    remaining_bytes = MAX_TOTAL_BYTES
    for info in archive.infolist():
        if not info.filename.endswith(".json"):
            continue
        try:
            body = _unpack_listed(data, info, min(remaining_bytes, MAX_MEMBER_BYTES))
            remaining_bytes -= len(body)
            yield info.filename, body
        except _Damaged as error:
            yield info.filename, Skipped(1, f"{info.filename} cannot be unpacked: {error}")


def _unpack_listed(data: bytes, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Unpack the member that the directory lists as `info`, verifying its size and position."""
    if info.flag_bits & _ENCRYPTED:
        raise _Damaged("it is encrypted")
    if info.file_size > limit:
        raise _Damaged(f"it would take {info.file_size:,} bytes, and {limit:,} are allowed")
    offset = info.header_offset
    if not 0 <= offset <= len(data) - _HEADER.size or data[offset : offset + len(_LOCAL)] != _LOCAL:
        raise _Damaged(f"there is no member at byte {offset:,}")
    _, _, _, _, _, _, _, _, _, name_length, extra = _HEADER.unpack_from(data, offset)
    start = offset + _HEADER.size + name_length + extra
    packed = data[start : start + info.compress_size]
    if len(packed) < info.compress_size:
        raise _Damaged("it breaks off")
    body = _unpack(packed, info.compress_type, limit)[0]
    if len(body) != info.file_size or zlib.crc32(body) != info.CRC:
        raise _Damaged("its data is damaged (size or checksum differ from the archive's directory)")
    return body


def _walk_members(data: bytes) -> Iterator[tuple[str, bytes | Skipped]]:
    offset, remaining_bytes = data.find(_LOCAL), MAX_TOTAL_BYTES
    while 0 <= offset <= len(data) - _HEADER.size:
        _, _, flags, method, _, _, _, size, _, name_length, extra = _HEADER.unpack_from(data, offset)
        start = offset + _HEADER.size + name_length + extra
        name = data[offset + _HEADER.size : start - extra].decode("utf-8", "replace")
        has_size = size not in (0, _UNKNOWN) and not flags & _SIZE_AFTER_DATA
        if not has_size:
            next_signature = _AFTER_MEMBER.search(data, start) if method == _STORED else None
            size = (next_signature.start() if next_signature else len(data)) - start
        packed = data[start : start + size]
        try:
            body, used = _unpack(packed, method, min(remaining_bytes, MAX_MEMBER_BYTES))
            remaining_bytes -= len(body)
            yield name, body
        except _Damaged as error:
            yield name, Skipped(1, f"{name} cannot be unpacked: {error}")
            used = 0
        offset = data.find(_LOCAL, start + used)


def _unpack(packed: bytes, method: int, limit: int) -> tuple[bytes, int]:
    """Unpack `packed`, to at most `limit` bytes; also returns how many of its bytes that took.

    A stored member takes all of them. Raises `_Damaged`.
    """
    if method == _STORED:
        if len(packed) > limit:
            raise _Damaged(f"it takes {len(packed):,} bytes, and {limit:,} are allowed")
        return packed, len(packed)
    if method == _DEFLATED:
        return _decompress(zlib.decompressobj(-15), packed, limit, zlib.error)
    if method == _ZSTD:
        # Imported late: most logs use deflate.
        from ctxtui.wire.zstd import zstd

        return _decompress(zstd.ZstdDecompressor(), packed, limit, zstd.ZstdError)
    raise _Damaged(f"compression method {method}, which is not known")


class _Stream(Protocol):
    """A decompressor of one stream: zlib's, or Zstandard's."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _decompress(stream: _Stream, packed: bytes, limit: int, bad: type[Exception]) -> tuple[bytes, int]:
    chunks: list[bytes] = []
    size = offset = 0
    while not stream.eof and offset < len(packed):
        try:
            chunks.append(stream.decompress(packed[offset : offset + _SLICE]))
        except bad as error:
            raise _Damaged(f"its data is damaged ({error})") from error
        offset = min(len(packed), offset + _SLICE)
        size += len(chunks[-1])
        if size > limit:
            raise _Damaged(f"it unpacks to more than the {limit:,} bytes that are allowed")
    if not stream.eof:
        raise _Damaged("it breaks off")
    return b"".join(chunks), offset - len(stream.unused_data)


def read_log(data: bytes) -> tuple[dict[str, Json], list[Skipped]]:
    """Read the log in an archive in its JSON form: header with ``samples``.

    Also returns what could not be read.
    """
    header: dict[str, Json] = {}
    samples: list[Json] = []
    skipped: list[Skipped] = []
    for name, body in members(data):
        if isinstance(body, Skipped):
            skipped.append(body)
            continue
        if name.startswith("samples/") or name in ("header.json", "_journal/start.json"):
            value, tail = parse_json(body)
            if tail is not None:
                skipped.append(Skipped(tail.line, f"{name}: {tail.reason}"))
            if name.startswith("samples/"):
                samples.append(value)
            else:
                header |= as_dict(value)
    return {**header, "samples": samples}, skipped
