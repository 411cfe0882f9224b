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
"""Maximum unpacked bytes of all members together."""

_LOCAL: Final = b"PK\x03\x04"
_DESCRIPTOR: Final = b"PK\x07\x08"
"""Precedes the checksum and the sizes of a member whose local header has none; may be missing."""
_AFTER_MEMBER: Final = re.compile(rb"PK(?:\x01\x02|\x03\x04|\x05\x06|\x06\x06|\x07\x08)")
"""A signature that may follow a member's data. JSON escapes control characters, so its text never has one."""
_LOCAL_HEADER: Final = struct.Struct("<4sHHHHHLLLHH")
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_ENCRYPTED, _DESCRIBED_AFTER_DATA = 1, 8
_SIZE_IN_EXTRA: Final = 0xFFFFFFFF
"""A size of more than 32 bits (ZIP64)."""
# Zstandard expands at most 32,768 times, deflate 1,032 times, so an unpacked slice fits in memory.
_SLICE: Final = 4096
_DIRECTORY_ERRORS: Final = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
    EOFError,
    zlib.error,
)


class _Damaged(Exception):
    """A member cannot be unpacked; the text is the reason."""


def members(data: bytes) -> Iterator[tuple[str, bytes | Skipped]]:
    """Yield the JSON files of the archive in `data`, with their names, in its directory's order.

    A file that cannot be unpacked (damaged, encrypted, too large) is replaced by the reason. An archive without a
    readable directory (cut, or still being written) is walked member by member, after an unnamed entry that reports it.
    """
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except _DIRECTORY_ERRORS as error:
        yield "", Skipped(1, f"a ZIP archive without a readable directory ({error}): read from its beginning")
        for name, body in _walk_members(data):
            if name.endswith(".json"):
                yield name, body
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
    """Unpack the member `info` of the directory, verifying position, size and checksum."""
    if info.flag_bits & _ENCRYPTED:
        raise _Damaged("it is encrypted")
    if info.file_size > limit:
        raise _Damaged(f"it would take {info.file_size:,} bytes, and {limit:,} are allowed")
    offset = info.header_offset
    if not 0 <= offset <= len(data) - _LOCAL_HEADER.size or data[offset : offset + len(_LOCAL)] != _LOCAL:
        raise _Damaged(f"there is no member at byte {offset:,}")
    _, _, _, _, _, _, _, _, _, name_length, extra = _LOCAL_HEADER.unpack_from(data, offset)
    start = offset + _LOCAL_HEADER.size + name_length + extra
    packed = data[start : start + info.compress_size]
    if len(packed) < info.compress_size:
        raise _Damaged("it breaks off")
    body = _unpack(packed, info.compress_type, limit)[0]
    if len(body) != info.file_size or zlib.crc32(body) != info.CRC:
        raise _Damaged("its data is damaged (size or checksum differ)")
    return body


def _walk_members(data: bytes) -> Iterator[tuple[str, bytes | Skipped]]:
    """Yield all files by their local headers, verified by these and by data descriptors."""
    offset, remaining_bytes = data.find(_LOCAL), MAX_TOTAL_BYTES
    while 0 <= offset <= len(data) - _LOCAL_HEADER.size:
        name_length, extra = _LOCAL_HEADER.unpack_from(data, offset)[-2:]
        start = offset + _LOCAL_HEADER.size + name_length + extra
        name = data[offset + _LOCAL_HEADER.size : start - extra].decode("utf-8", "replace")
        try:
            body, used = _unpack_local(data, offset, start, min(remaining_bytes, MAX_MEMBER_BYTES))
            remaining_bytes -= len(body)
            yield name, body
        except _Damaged as error:
            yield name, Skipped(1, f"{name} cannot be unpacked: {error}")
            used = 0
        offset = data.find(_LOCAL, start + used)


def _unpack_local(data: bytes, header: int, start: int, limit: int) -> tuple[bytes, int]:
    """Unpack the member whose local header is at `header` and whose data begins at `start`.

    Also returns how many bytes its data takes.
    """
    _, _, flags, method, _, _, checksum, packed_size, size, _, _ = _LOCAL_HEADER.unpack_from(data, header)
    if flags & _ENCRYPTED:
        raise _Damaged("it is encrypted")
    is_described_later = flags & _DESCRIBED_AFTER_DATA
    has_size = packed_size not in (0, _SIZE_IN_EXTRA) and not is_described_later
    if has_size:
        end = start + packed_size
    elif method == _STORED:
        next_signature = _AFTER_MEMBER.search(data, start)
        end = next_signature.start() if next_signature else len(data) + 1
    else:
        end = len(data)
    if end > len(data):
        raise _Damaged("it breaks off")
    body, used = _unpack(data[start:end], method, limit)
    if is_described_later:
        descriptor = start + used
        if data[descriptor : descriptor + len(_DESCRIPTOR)] == _DESCRIPTOR:
            descriptor += len(_DESCRIPTOR)
        checksum = int.from_bytes(data[descriptor : descriptor + 4], "little")
    if zlib.crc32(body) != checksum or (has_size and size not in (len(body), _SIZE_IN_EXTRA)):
        raise _Damaged("its data is damaged (size or checksum differ)")
    return body, used


def _unpack(packed: bytes, method: int, limit: int) -> tuple[bytes, int]:
    """Unpack `packed`, to at most `limit` bytes; also returns how many of its bytes that took."""
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


def _decompress(stream: _Stream, packed: bytes, limit: int, error_type: type[Exception]) -> tuple[bytes, int]:
    chunks: list[bytes] = []
    size = offset = 0
    while not stream.eof and offset < len(packed):
        try:
            chunks.append(stream.decompress(packed[offset : offset + _SLICE]))
        except error_type as error:
            raise _Damaged(f"its data is damaged ({error})") from error
        offset = min(len(packed), offset + _SLICE)
        size += len(chunks[-1])
        if size > limit:
            raise _Damaged(f"it unpacks to more than the {limit:,} bytes that are allowed")
    if not stream.eof:
        raise _Damaged("it breaks off")
    return b"".join(chunks), offset - len(stream.unused_data)


def read_log(data: bytes) -> tuple[dict[str, Json], list[Skipped]]:
    """Read the log in an archive in its JSON form; also returns unreadable members."""
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
