"""An answer that begins with pings, so that a waiting client does not give up. No IO.

It is begun while the relay holds the request or the answer; the provider's stream follows the pings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.attach import http1
from ctxtui.attach.http1 import Head
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_READ_AHEAD_BYTES
from ctxtui.wire.unpacking import BodyUnpacker, make_unpacker

AsEvent = Callable[[int, bytes], bytes]
"""Encodes a non-stream answer (its status, its body) as an error event of a stream."""
EARLY_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)
_END: Final = b"0\r\n\r\n"


class EarlyAnswer:
    """The answer after `EARLY_HEAD`; its methods return the bytes to send, if any."""

    def __init__(self, as_event: AsEvent) -> None:
        self._as_event = as_event
        self._status = 0
        self._is_stream = False
        self._unpacker: BodyUnpacker = make_unpacker("")
        """The provider's body is sent decompressed, as the head that was sent names no encoding."""
        self._body = bytearray()

    def encode_piece(self, data: bytes) -> bytes:
        """A chunk with `data`; b"" without data."""
        return b"%x\r\n%b\r\n" % (len(data), data) if data else b""

    def begin_provider_answer(self, status: int, head: Head) -> None:
        """Start the provider's answer, without its head. Raises `Malformed` for an unknown encoding."""
        self._status = status
        self._is_stream = status == 200 and head.get("content-type").lower().startswith("text/event-stream")
        self._unpacker = make_unpacker(head.get("content-encoding"))

    def add_provider_data(self, data: bytes) -> bytes:
        """Add more of the provider's body, without chunk framing. Raises `Malformed`."""
        content = self._unpacker.feed(data)
        if self._is_stream:
            return self.encode_piece(content)
        self._body += content
        if len(self._body) > MAX_READ_AHEAD_BYTES:
            raise Malformed("an answer that is not a stream, and too large for an event")
        return b""

    def end(self) -> bytes:
        return _END if self._is_stream else self.end_with_error(self._status, bytes(self._body))

    def end_with_stream(self, body: bytes) -> bytes:
        return self.encode_piece(body) + _END

    def end_with_error(self, status: int, body: bytes) -> bytes:
        return self.encode_piece(self._as_event(status, body)) + _END


def accepts_chunks(head: Head) -> bool:
    return head.raw.partition(b"\r\n")[0].endswith(b"HTTP/1.1") and http1.request_line(head).method == "POST"
