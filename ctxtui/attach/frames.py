"""WebSocket frames as they are read by someone who only passes them on (RFC 6455, RFC 7692). No IO."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from ctxtui.core.errors import Malformed

_TEXT: Final = 1
_BINARY: Final = 2
_CLOSE: Final = 8
_TAIL: Final = b"\x00\x00\xff\xff"
MOST: Final = 256 << 20
"""Bytes of a message at most."""


class FrameReader:
    """Reads one direction: bytes in, whole text messages out. `deflate` says that permessage-deflate is in force, with
    `takeover` of what was said before."""

    def __init__(self, *, deflate: bool = False, takeover: bool = True) -> None:
        self._deflate = deflate
        self._takeover = takeover
        self._inflater = zlib.decompressobj(-15)
        self._rest = bytearray()
        self._message: list[bytes] = []
        self._kind = 0
        self._packed = False

    def feed(self, data: bytes) -> Iterator[str]:
        """The text messages that `data` completes. Raises `Malformed`."""
        self._rest += data
        while (frame := self._frame()) is not None:
            first, payload = frame
            kind = first & 15
            if kind >= _CLOSE:
                continue
            if kind:
                self._kind, self._packed = kind, bool(first & 0x40)
            self._message.append(payload)
            if sum(map(len, self._message)) > MOST:
                raise Malformed("a message over a WebSocket that has no end")
            if first & 0x80:
                whole, self._message = b"".join(self._message), []
                if self._packed:
                    whole = self._inflated(whole)
                if self._kind == _TEXT:
                    yield whole.decode("utf-8", "replace")

    def _frame(self) -> tuple[int, bytes] | None:
        """The next frame's first byte and what it says; None until it is whole."""
        rest = self._rest
        if len(rest) < 2:
            return None
        size, at = rest[1] & 127, 2
        if size > 125:
            wide = 2 if size == 126 else 8
            if len(rest) < at + wide:
                return None
            size = int.from_bytes(rest[at : at + wide], "big")
            at += wide
        if size > MOST:
            raise Malformed("a frame of a WebSocket that is too large to be recorded")
        masked = bool(rest[1] & 0x80)
        end = at + 4 * masked + size
        if len(rest) < end:
            return None
        payload = bytes(rest[end - size : end])
        if masked:
            key = bytes(rest[at : at + 4])
            long = int.from_bytes((key * (size // 4 + 1))[:size], "big")
            payload = (int.from_bytes(payload, "big") ^ long).to_bytes(size, "big")
        first = rest[0]
        del rest[:end]
        return first, payload

    def _inflated(self, data: bytes) -> bytes:
        if not self._deflate:
            raise Malformed("a packed message over a WebSocket where none was agreed on")
        try:
            said = self._inflater.decompress(data + _TAIL)
        except zlib.error as error:
            raise Malformed(f"a message over a WebSocket that cannot be unpacked: {error}") from None
        if not self._takeover:
            self._inflater = zlib.decompressobj(-15)
        return said


def readers(extensions: str) -> tuple[FrameReader, FrameReader]:
    """The readers of the client's frames and of the server's, by the ``Sec-WebSocket-Extensions`` of the answer."""
    told = extensions.lower()
    deflate = "permessage-deflate" in told
    return (
        FrameReader(deflate=deflate, takeover="client_no_context_takeover" not in told),
        FrameReader(deflate=deflate, takeover="server_no_context_takeover" not in told),
    )
