"""A ``.eval`` archive in memory: its header and samples, as far as the archive is whole."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.session import Skipped
from ctxtui.transcripts.kit.fields import obj
from ctxtui.transcripts.kit.whole_file import value_of

LARGEST: Final = 1_000_000_000
"""Bytes that a member may unpack to; an archive that claims more is not read."""

_LOCAL: Final = b"PK\x03\x04"
_HEADER: Final = struct.Struct("<4sHHHHHLLLHH")
_STORED, _DEFLATED = 0, 8
_BAD: Final = (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError, zlib.error)


def members(data: bytes) -> Iterator[tuple[str, bytes | Skipped]]:
    """The members of the archive in `data`, in their order; for one that cannot be unpacked, why.

    An archive without its directory (cut, or still being written) is walked member by member.
    """
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except _BAD as error:
        yield "", Skipped(1, f"a ZIP archive without its directory ({error}): read from its beginning")
        yield from _walk(data)
        return
    for info in archive.infolist():
        if not info.filename.endswith(".json"):
            continue
        try:
            if info.file_size > LARGEST:
                raise ValueError(f"{info.file_size:,} bytes")
            yield info.filename, archive.read(info)
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            RuntimeError,
            ValueError,
            OSError,
            EOFError,
            zlib.error,
        ) as error:
            yield info.filename, Skipped(1, f"{info.filename} cannot be unpacked: {error}")


def _walk(data: bytes) -> Iterator[tuple[str, bytes | Skipped]]:
    at = data.find(_LOCAL)
    while 0 <= at <= len(data) - _HEADER.size:
        _, _, flags, method, _, _, _, size, _, name_length, extra = _HEADER.unpack_from(data, at)
        start = at + _HEADER.size + name_length + extra
        name = data[at + _HEADER.size : start - extra].decode("utf-8", "replace")
        packed = data[start : start + size] if size and not flags & 8 else data[start:]
        try:
            body, used = _unpack(packed, method)
            yield name, body
        except (zlib.error, ValueError) as error:
            yield name, Skipped(1, f"{name} cannot be unpacked: {error}")
            used = 0
        at = data.find(_LOCAL, start + used)


def _unpack(packed: bytes, method: int) -> tuple[bytes, int]:
    if method == _STORED:
        end = packed.find(b"PK")
        return (packed, len(packed)) if end < 0 else (packed[:end], end)
    if method != _DEFLATED:
        raise ValueError(f"compression method {method}")
    stream = zlib.decompressobj(-15)
    body = stream.decompress(packed, LARGEST)
    if not stream.eof:
        raise ValueError("it breaks off")
    return body, len(packed) - len(stream.unused_data)


def read(data: bytes) -> tuple[dict[str, Json], list[Skipped]]:
    """The log in an archive as its JSON form has it: header with ``samples``; and what could not be read."""
    header: dict[str, Json] = {}
    samples: list[Json] = []
    skipped: list[Skipped] = []
    for name, body in members(data):
        if isinstance(body, Skipped):
            skipped.append(body)
            continue
        if name.startswith("samples/") or name in ("header.json", "_journal/start.json"):
            value, tail = value_of(body)
            if tail is not None:
                skipped.append(Skipped(tail.line, f"{name}: {tail.reason}"))
            if name.startswith("samples/"):
                samples.append(value)
            else:
                header |= obj(value)
    return {**header, "samples": samples}, skipped
