"""Bodies as they are read: what went over the wire packed, unpacked for the record alone."""

from __future__ import annotations

import zlib
from typing import Final, Protocol

from ctxtui.core.errors import Malformed


class BodyUnpacker(Protocol):
    """Takes a packed body in pieces."""

    def feed(self, data: bytes) -> bytes:
        """What `data` adds. Raises `Malformed`."""


class _Plain:
    def feed(self, data: bytes) -> bytes:
        return data


class _Zlib:
    """Gzip, or deflate with or without its header, several members on end."""

    def __init__(self, deflate: bool) -> None:
        self._deflate = deflate
        self._new()

    def _new(self, bits: int = 47) -> None:
        self._inner = zlib.decompressobj(bits)
        self._fresh = True

    def feed(self, data: bytes) -> bytes:
        said = b""
        while data:
            try:
                said += self._inner.decompress(data)
            except zlib.error as error:
                if not (self._deflate and self._fresh):
                    raise Malformed(f"a body that cannot be unpacked: {error}") from None
                self._deflate = False
                self._new(-15)
                continue
            self._fresh = False
            data = self._inner.unused_data
            if data:
                self._new()
        return said


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self._inner = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    def feed(self, data: bytes) -> bytes:
        try:
            return bytes(self._inner.process(data))
        except self._error as error:
            raise Malformed(f"a body that cannot be unpacked: {error}") from None


class _Zstd:
    def __init__(self) -> None:
        import zstandard

        self._new = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj
        self._error = zstandard.ZstdError
        self._inner = self._new()

    def feed(self, data: bytes) -> bytes:
        said = b""
        try:
            while data:
                said += self._inner.decompress(data)
                data = self._inner.unused_data
                if data:
                    self._inner = self._new()
        except self._error as error:
            raise Malformed(f"a body that cannot be unpacked: {error}") from None
        return said


_KNOWN: Final = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "br": "br", "zstd": "zstd"}


def unpacker(encoding: str) -> BodyUnpacker:
    """What unpacks a body of this ``Content-Encoding``. Raises `Malformed` for one that is not known."""
    names = [one for one in (part.strip().lower() for part in encoding.split(",")) if one not in ("", "identity")]
    if not names:
        return _Plain()
    if len(names) > 1 or names[0] not in _KNOWN:
        raise Malformed(f"a body packed as {encoding!r}, which cannot be read here")
    name = _KNOWN[names[0]]
    if name == "br":
        return _Brotli()
    return _Zstd() if name == "zstd" else _Zlib(name == "deflate")
