"""WebSocket frames: parse relayed ones, encode changed ones (RFC 6455, RFC 7692). No IO."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY_BYTES

_TEXT: Final = 1
_CLOSE: Final = 8
_COMPRESSED: Final = 0x40
"""RSV1: a compressed message."""
_FINAL: Final = 0x80
"""FIN: the last frame of a message."""
_TAIL: Final = b"\x00\x00\xff\xff"
"""The end of a compressed block, which is not sent."""
_MIN_COMPRESSED_BYTES: Final = 1024
"""Minimum bytes of a text that is compressed."""
_CLIENT_WINDOW_BITS: Final = re.compile(r"client_max_window_bits\s*=\s*\"?(\d+)")


class WireFrame(Struct, frozen=True):
    """A frame with an unmasked payload.

    `first`: its first byte; `mask`: its masking key, or b"".
    """

    raw: bytes
    first: int
    mask: bytes
    payload: bytes

    @property
    def opcode(self) -> int:
        """0 continues a message."""
        return self.first & 15

    @property
    def is_control(self) -> bool:
        """Whether it is a ping, a pong or a close, which may come between the frames of a message."""
        return self.opcode >= _CLOSE


class Deflate(Struct, frozen=True):
    """The negotiated ``Sec-WebSocket-Extensions``.

    `on`: messages may be compressed (permessage-deflate). `client_takeover`, `server_takeover`: that side compresses
    them with its earlier messages as context. `bits`: size of the client's window as a power of two.
    """

    on: bool = False
    client_takeover: bool = True
    server_takeover: bool = True
    bits: int = 15


def parse_extensions(extensions: str) -> Deflate:
    """Parse the ``Sec-WebSocket-Extensions`` that the server accepted."""
    lowered = extensions.lower()
    bits = _CLIENT_WINDOW_BITS.search(lowered)
    return Deflate(
        "permessage-deflate" in lowered,
        "client_no_context_takeover" not in lowered,
        "server_no_context_takeover" not in lowered,
        min(15, int(bits[1])) if bits else 15,
    )


class FrameReader(Struct, kw_only=True):
    """Reads the frames of one direction. `deflate`: they may be compressed; `takeover`: as in `Deflate`."""

    deflate: bool = False
    takeover: bool = True
    is_compressed: bool = False
    """Whether the current message is compressed."""
    _inflater: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(-15))
    rest: bytearray = field(default_factory=bytearray)
    """Received bytes from the first incomplete frame on."""
    _message: bytearray = field(default_factory=bytearray)
    _is_open: bool = False
    """Whether further frames of the current message follow."""
    _opcode: int = 0

    @property
    def is_within_message(self) -> bool:
        """Whether the bytes so far end within a message or a frame."""
        return self._is_open or bool(self.rest)

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the text messages that `data` completes. Raises `Malformed`."""
        self.rest += data
        while (frame := self.next_frame()) is not None:
            text = self.add_frame(frame)
            if text is not None:
                yield text

    def add_frame(self, frame: WireFrame) -> str | None:
        """Return the text message that `frame` completes; None if it completes none. Raises `Malformed`."""
        if frame.is_control:
            return None
        if frame.opcode:
            self._opcode, self.is_compressed = frame.opcode, bool(frame.first & _COMPRESSED)
        self._message += frame.payload
        if len(self._message) > MAX_BODY_BYTES:
            raise Malformed("a WebSocket message that is too large to be recorded")
        self._is_open = not frame.first & _FINAL
        if self._is_open:
            return None
        whole = bytes(self._message)
        self._message.clear()
        if self.is_compressed:
            whole = self._inflate(whole)
        return whole.decode("utf-8", "replace") if self._opcode == _TEXT else None

    def next_frame(self) -> WireFrame | None:
        """The next frame; None until it is complete. Raises `Malformed`."""
        rest = self.rest
        if len(rest) < 2:
            return None
        size, at = rest[1] & 127, 2
        if size > 125:
            length_size = 2 if size == 126 else 8
            if len(rest) < at + length_size:
                return None
            size = int.from_bytes(rest[at : at + length_size], "big")
            at += length_size
        if size > MAX_BODY_BYTES:
            raise Malformed("a WebSocket frame that is too large to be recorded")
        masked = bool(rest[1] & 0x80)
        end = at + 4 * masked + size
        if len(rest) < end:
            return None
        key = bytes(rest[at : at + 4]) if masked else b""
        payload = bytes(rest[end - size : end])
        complete_frame = WireFrame(bytes(rest[:end]), rest[0], key, _mask(payload, key))
        del rest[:end]
        return complete_frame

    def _inflate(self, data: bytes) -> bytes:
        if not self.deflate:
            raise Malformed("a compressed WebSocket message without the extension for it")
        try:
            inflated = self._inflater.decompress(data + _TAIL, MAX_BODY_BYTES + 1)
        except zlib.error as error:
            raise Malformed(f"a WebSocket message that cannot be decompressed: {error}") from None
        if len(inflated) > MAX_BODY_BYTES:
            raise Malformed("a WebSocket message that decompresses to more than can be recorded")
        if not self.takeover:
            self._inflater = zlib.decompressobj(-15)
        return inflated


def make_readers(deflate: Deflate) -> tuple[FrameReader, FrameReader]:
    """The readers of the client's frames and of the server's."""
    return (
        FrameReader(deflate=deflate.on, takeover=deflate.client_takeover),
        FrameReader(deflate=deflate.on, takeover=deflate.server_takeover),
    )


def encode_text_frame(text: bytes, mask: bytes = b"", *, compressed: bool = False, bits: int = 15) -> bytes:
    """Encode `text` as one frame, masked with the key `mask` if given.

    `compressed`: a long text is compressed, without earlier messages as context, in a window of 2^`bits` bytes; not
    with 8 bits, as zlib cannot write such a stream.
    """
    first = _FINAL | _TEXT
    if compressed and len(text) > _MIN_COMPRESSED_BYTES and bits > 8:
        compressor = zlib.compressobj(1, zlib.DEFLATED, -bits)
        text = (compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH))[: -len(_TAIL)]
        first |= _COMPRESSED
    size = len(text)
    if size < 126:
        length_bytes = bytes([size])
    else:
        length_bytes = b"\x7e" + size.to_bytes(2, "big") if size < 1 << 16 else b"\x7f" + size.to_bytes(8, "big")
    second = length_bytes[0] | (0x80 if mask else 0)
    return bytes([first, second]) + length_bytes[1:] + mask + _mask(text, mask)


def _mask(data: bytes, key: bytes) -> bytes:
    if not key or not data:
        return data
    size = len(data)
    long = int.from_bytes((key * (size // 4 + 1))[:size], "big")
    return (int.from_bytes(data, "big") ^ long).to_bytes(size, "big")
