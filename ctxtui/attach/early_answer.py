"""An answer that begins before its provider's, so that a client does not give up on a request that waits: a stream of
pings, in which the provider's own stream goes on, or what went wrong as an event. No IO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.attach import http1
from ctxtui.attach.http1 import Head
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_READ_AHEAD
from ctxtui.wire.unpacking import BodyUnpacker, make_unpacker

AsEvent = Callable[[int, bytes], bytes]
"""Spells an answer that is no stream (its status, its body) as the event that tells an error in one."""
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)
_END: Final = b"0\r\n\r\n"


class EarlyAnswer:
    """What a client is told that asked for a stream and waits; every method gives the bytes for it."""

    def __init__(self, as_event: AsEvent) -> None:
        self._as_event = as_event
        self._status = 0
        self._streams = False
        self._unpacker: BodyUnpacker = make_unpacker("")
        """What the provider packs is told unpacked, for the head has left."""
        self._body = bytearray()

    def begin(self) -> bytes:
        """Its head: from here on the status is 200."""
        return _HEAD

    def say(self, data: bytes) -> bytes:
        """A piece of the stream."""
        return b"%x\r\n%b\r\n" % (len(data), data) if data else b""

    def answered(self, status: int, head: Head) -> None:
        """The provider answers; nothing of its head can be told any more. Raises `Malformed` where it is packed in a
        way that cannot be read."""
        self._status = status
        self._streams = status == 200 and head.get("content-type").lower().startswith("text/event-stream")
        self._unpacker = make_unpacker(head.get("content-encoding"))

    def said(self, data: bytes) -> bytes:
        """More of its answer's body, taken from its chunks. Raises `Malformed`."""
        told = self._unpacker.feed(data)
        if self._streams:
            return self.say(told)
        self._body += told
        if len(self._body) > MAX_READ_AHEAD:
            raise Malformed("an answer that is no stream, and too large to be told in one")
        return b""

    def done(self) -> bytes:
        """Its answer is whole."""
        return _END if self._streams else self.failed(self._status, bytes(self._body))

    def failed(self, status: int, body: bytes) -> bytes:
        """An answer that is no stream is all there is."""
        return self.say(self._as_event(status, body)) + _END


def takes_chunks(head: Head) -> bool:
    """Whether the client that sent this head can be told a stream of unknown length."""
    return head.raw.partition(b"\r\n")[0].endswith(b"HTTP/1.1") and http1.asked(head).method == "POST"
