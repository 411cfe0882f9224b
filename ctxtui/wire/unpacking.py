"""Decompress bodies by their ``Content-Encoding``, up to a size limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Final

from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY_BYTES, MAX_COMPRESSED_MEMBERS


class BodyUnpacker:
    """Decompresses a body in chunks; this base class returns what it is given, of any length."""

    def feed(self, data: bytes) -> bytes:
        """Decompress the next chunk. Raises `Malformed`, also if the result exceeds the limit."""
        return data


class _BoundedUnpacker(BodyUnpacker):
    """Counts the unpacked bytes and the compressed members."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = self._left = max_bytes
        self._members = 0

    def _count(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise Malformed(f"a body that decompresses to more than {self._max_bytes >> 20} MiB")
        return data

    def _next_member(self) -> None:
        self._members += 1
        if self._members > MAX_COMPRESSED_MEMBERS:
            raise Malformed(f"a body compressed in more than {MAX_COMPRESSED_MEMBERS} pieces")


class _ZlibUnpacker(_BoundedUnpacker):
    """Gzip, or deflate with or without its header; several members in a row."""

    def __init__(self, max_bytes: int, deflate: bool = False) -> None:
        super().__init__(max_bytes)
        self._deflate = deflate
        self._start_member()

    # zlib: 47 detects the header of gzip or zlib, -15 is deflate without a header.
    def _start_member(self, bits: int = 47) -> None:
        self._inner = zlib.decompressobj(bits)
        self._is_at_start = True
        self._next_member()

    def feed(self, data: bytes) -> bytes:
        chunks = []
        while data:
            try:
                chunks.append(self._count(self._inner.decompress(data, self._left + 1)))
            except zlib.error as error:
                if not (self._deflate and self._is_at_start):
                    raise Malformed(f"a body that cannot be decompressed: {error}") from None
                self._deflate = False
                self._start_member(-15)
                continue
            self._is_at_start = False
            data = self._inner.unused_data
            if data:
                self._start_member()
        return b"".join(chunks)


class _BrotliUnpacker(_BoundedUnpacker):
    def __init__(self, max_bytes: int) -> None:
        import brotli

        super().__init__(max_bytes)
        self._inner = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    def feed(self, data: bytes) -> bytes:
        chunks = []
        try:
            while True:
                chunks.append(self._count(bytes(self._inner.process(data, output_buffer_limit=self._left + 1))))
                if self._inner.can_accept_more_data():
                    return b"".join(chunks)
                data = b""
        except self._error as error:
            raise Malformed(f"a body that cannot be decompressed: {error}") from None


class _ZstdUnpacker(_BoundedUnpacker):
    def __init__(self, max_bytes: int) -> None:
        from ctxtui.wire.zstd import zstd

        super().__init__(max_bytes)
        self._make_decompressor = zstd.ZstdDecompressor
        self._error = zstd.ZstdError
        self._start_member()

    def _start_member(self) -> None:
        self._inner = self._make_decompressor()
        self._next_member()

    def feed(self, data: bytes) -> bytes:
        chunks = []
        try:
            while data:
                if self._inner.eof:
                    self._start_member()
                chunks.append(self._count(self._inner.decompress(data, self._left + 1)))
                data = self._inner.unused_data
        except self._error as error:
            raise Malformed(f"a body that cannot be decompressed: {error}") from None
        return b"".join(chunks)


_UNPACKERS: Final[dict[str, Callable[[int], BodyUnpacker]]] = {
    "gzip": _ZlibUnpacker,
    "x-gzip": _ZlibUnpacker,
    "deflate": partial(_ZlibUnpacker, deflate=True),
    "br": _BrotliUnpacker,
    "zstd": _ZstdUnpacker,
}


def make_unpacker(encoding: str, max_bytes: int = MAX_BODY_BYTES) -> BodyUnpacker:
    """Make the unpacker for a ``Content-Encoding``, up to `max_bytes` of result.

    Raises `Malformed` for an unknown encoding, or for several.
    """
    names = [item for item in (part.strip().lower() for part in encoding.split(",")) if item not in ("", "identity")]
    if not names:
        return BodyUnpacker()
    if len(names) > 1 or names[0] not in _UNPACKERS:
        raise Malformed(f"a body compressed as {encoding!r}, which ctxtui cannot read")
    return _UNPACKERS[names[0]](max_bytes)
