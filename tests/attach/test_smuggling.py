"""What may be read two ways reaches no provider, and no answer to it another request (RFC 9112, most of §2 to §7 and
§11): each case is compared, byte by byte, with what comes out of a real socket at the other end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import pytest

from ctxtui.attach.relay import Relay
from ctxtui.attach.upstream import Upstream
from ctxtui.wire.bounds import MAX_EARLY_HEADS, MAX_HEAD_BYTES

POST = b"POST / HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
LENGTH = b"Content-Length: 4\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"4\r\nbody\r\n0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def with_lines(lines: bytes, body: bytes = b"body") -> bytes:
    return POST + HOST + lines + b"\r\n" + body


def with_chunks(body: bytes) -> bytes:
    return POST + HOST + CHUNKED + b"\r\n" + body


REFUSED: dict[str, bytes] = {
    # §6.1, §6.3: whose length is told twice, or not so that everybody reads it
    "both lengths": with_lines(LENGTH + CHUNKED),
    "both lengths, the coding first": with_lines(CHUNKED + LENGTH, CHUNKS),
    "two lengths": with_lines(LENGTH + b"Content-Length: 5\r\n"),
    "the same length twice": with_lines(LENGTH + LENGTH),
    "two lengths in other letters": with_lines(LENGTH + b"CONTENT-LENGTH: 4\r\n"),
    "a list of lengths": with_lines(b"Content-Length: 4, 4\r\n"),
    "a list of other lengths": with_lines(b"Content-Length: 4, 5\r\n"),
    "a negative length": with_lines(b"Content-Length: -4\r\n"),
    "a signed length": with_lines(b"Content-Length: +4\r\n"),
    "a length in hexadecimal": with_lines(b"Content-Length: 0x4\r\n"),
    "a length with an underscore": with_lines(b"Content-Length: 0_4\r\n"),
    "a length with a point": with_lines(b"Content-Length: 4.0\r\n"),
    "a length with an exponent": with_lines(b"Content-Length: 4e0\r\n"),
    "a length with a word": with_lines(b"Content-Length: 4 4\r\n"),
    "a length in quotes": with_lines(b'Content-Length: "4"\r\n'),
    "no length": with_lines(b"Content-Length:\r\n"),
    "a length in other digits": with_lines("Content-Length: ²\r\n".encode("latin-1")),
    "a length behind a vertical tab": with_lines(b"Content-Length: \x0b4\r\n"),
    "a length before a form feed": with_lines(b"Content-Length: 4\x0c\r\n"),
    "a length before a space of latin-1": with_lines(b"Content-Length: 4\xa0\r\n"),
    "a length that overflows": with_lines(b"Content-Length: 18446744073709551620\r\n"),
    "a length of five thousand digits": with_lines(b"Content-Length: %b4\r\n" % (b"0" * 5000)),
    "a length with an underscore in its name": with_lines(b"Content_Length: 5\r\n" + LENGTH),
    "a coding with an underscore in its name": with_lines(b"Transfer_Encoding: chunked\r\n" + LENGTH),
    "a coding in HTTP/1.0": b"POST / HTTP/1.0\r\n" + HOST + CHUNKED + b"\r\n" + CHUNKS,
    "chunked after another": with_lines(b"Transfer-Encoding: gzip, chunked\r\n", CHUNKS),
    "chunked before another": with_lines(b"Transfer-Encoding: chunked, identity\r\n", CHUNKS),
    "chunked behind a comma": with_lines(b"Transfer-Encoding: ,chunked\r\n", CHUNKS),
    "chunked before a comma": with_lines(b"Transfer-Encoding: chunked,\r\n", CHUNKS),
    "chunked with a parameter": with_lines(b"Transfer-Encoding: chunked;q=1\r\n", CHUNKS),
    "chunked twice": with_lines(CHUNKED + CHUNKED, CHUNKS),
    "chunked and another header": with_lines(CHUNKED + b"Transfer-Encoding: x\r\n", CHUNKS),
    "identity": with_lines(b"Transfer-Encoding: identity\r\n" + LENGTH),
    "xchunked": with_lines(b"Transfer-Encoding: xchunked\r\n", CHUNKS),
    "chunked in quotes": with_lines(b'Transfer-Encoding: "chunked"\r\n', CHUNKS),
    "chunked behind a vertical tab": with_lines(b"Transfer-Encoding: \x0bchunked\r\n", CHUNKS),
    "chunked before a form feed": with_lines(b"Transfer-Encoding: chunked\x0c\r\n", CHUNKS),
    "chunked before a space of latin-1": with_lines(b"Transfer-Encoding: chunked\xa0\r\n", CHUNKS),
    "chunked before a NUL": with_lines(b"Transfer-Encoding: chunked\0\r\n", CHUNKS),
    "no coding": with_lines(b"Transfer-Encoding:\r\n"),
    "a length that the connection takes away": with_lines(LENGTH + b"Connection: close, Content-Length\r\n"),
    "a coding that the connection takes away": with_lines(CHUNKED + b"Connection: transfer-encoding\r\n", CHUNKS),
    "a host that the connection takes away": with_lines(LENGTH + b"Connection: Host\r\n"),
    # §2.2, §5: lines that end elsewhere for others
    "LF in a value": with_lines(b"X: y\n" + CHUNKED + LENGTH),
    "CR in a value": with_lines(b"X: y\r" + CHUNKED + LENGTH),
    "CR before CRLF": with_lines(b"X: y\r\r\n" + LENGTH),
    "NUL in a value": with_lines(b"X: y\0\r\n" + LENGTH),
    "vertical tab in a value": with_lines(b"X: y\x0bTransfer-Encoding: chunked\r\n" + LENGTH),
    "form feed in a value": with_lines(b"X: y\x0cTransfer-Encoding: chunked\r\n" + LENGTH),
    "a separator of files in a value": with_lines(b"X: y\x1cTransfer-Encoding: chunked\r\n" + LENGTH),
    "DEL in a value": with_lines(b"X: y\x7f\r\n" + LENGTH),
    "LF before a name": with_lines(b"\n" + CHUNKED + LENGTH),
    "CR before a name": with_lines(b"\r" + CHUNKED + LENGTH),
    "lines that end in LF": (POST + HOST + LENGTH + b"\r\nbody").replace(b"\r\n", b"\n"),
    "a head that ends in LF": POST + HOST + b"X: y\n\nGET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a head that ends in LF CRLF": POST + HOST + b"X: y\n\r\nGET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a value on two lines": with_lines(b"Transfer-Encoding:\r\n chunked\r\n" + LENGTH),
    "a value on two lines behind a tab": with_lines(b"X: a\r\n\tb\r\n" + LENGTH),
    "space before the first name": POST + b" " + HOST + LENGTH + b"\r\nbody",
    # §5.1: names
    "space before the colon": with_lines(b"Content-Length : 4\r\n"),
    "tab before the colon": with_lines(b"Transfer-Encoding\t: chunked\r\n" + LENGTH),
    "vertical tab in a name": with_lines(b"Transfer-Encoding\x0b: chunked\r\n" + LENGTH),
    "NUL in a name": with_lines(b"Transfer-Encoding\0: chunked\r\n" + LENGTH),
    "a space of latin-1 in a name": with_lines(b"Transfer-Encoding\xa0: chunked\r\n" + LENGTH),
    "a byte order mark before a name": with_lines(b"\xef\xbb\xbfTransfer-Encoding: chunked\r\n" + LENGTH),
    "no header": with_lines(b"no header\r\n" + LENGTH),
    "no name": with_lines(b": 4\r\n"),
    # §3: first lines, §3.2: hosts
    "space behind the version": b"POST / HTTP/1.1 \r\n" + HOST + LENGTH + b"\r\nbody",
    "space before the method": b" POST / HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "two spaces": b"POST  / HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "tabs for spaces": b"POST\t/\tHTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a target with a space": b"POST /a b HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a target with a request in it": b"POST / HTTP/1.1 x HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a target with a vertical tab": b"POST /\x0b HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a target with a space of latin-1": b"POST /\xa0x HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a target in other letters": "POST /ü HTTP/1.1\r\n".encode() + HOST + LENGTH + b"\r\nbody",
    "no target": b"POST HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "no version": b"POST /\r\n" + HOST + LENGTH + b"\r\nbody",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/1.2": b"POST / HTTP/1.2\r\n" + HOST + LENGTH + b"\r\nbody",
    "HTTP/2.0": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.10": b"POST / HTTP/1.10\r\n" + HOST + LENGTH + b"\r\nbody",
    "http/1.1": b"POST / http/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a method with a NUL": b"PO\0ST / HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a method in brackets": b"(POST) / HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a method in other letters": "PÖST / HTTP/1.1\r\n".encode("latin-1") + HOST + LENGTH + b"\r\nbody",
    "LF in the first line": b"POST / HTTP/1.1\nX: y\r\n" + HOST + LENGTH + b"\r\nbody",
    "an absolute target": b"POST http://localhost/ HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "an absolute target elsewhere": b"POST http://evil.example/ HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "an authority": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "no host": POST + LENGTH + b"\r\nbody",
    "two hosts": POST + HOST + HOST + LENGTH + b"\r\nbody",
    "two hosts in other letters": POST + HOST + b"HOST: localhost\r\n" + LENGTH + b"\r\nbody",
    "an empty host": POST + b"Host:\r\n" + LENGTH + b"\r\nbody",
    "another host": POST + b"Host: evil.example\r\n" + LENGTH + b"\r\nbody",
    "a list of hosts": POST + b"Host: localhost, evil.example\r\n" + LENGTH + b"\r\nbody",
    "a host with a path": POST + b"Host: localhost/evil\r\n" + LENGTH + b"\r\nbody",
    "a head that is too long": POST + HOST + b"X: %b\r\n" % (b"a" * MAX_HEAD_BYTES) + LENGTH + b"\r\nbody",
    # §7.1: chunks
    "LF behind a size": with_chunks(b"4\nbody\r\n0\r\n\r\n"),
    "CR in a size line": with_chunks(b"4;a\rb\r\nbody\r\n0\r\n\r\n"),
    "LF in an extension": with_chunks(b"4;a\nb\r\nbody\r\n0\r\n\r\n"),
    "NUL in an extension": with_chunks(b"4;a\0b\r\nbody\r\n0\r\n\r\n"),
    "an extension without an end": with_chunks(b"4;" + b"a" * 5000 + b"\r\nbody\r\n0\r\n\r\n"),
    "LF behind a chunk": with_chunks(b"4\r\nbody\n0\r\n\r\n"),
    "CR behind a chunk": with_chunks(b"4\r\nbody\r0\r\n\r\n"),
    "more than the size": with_chunks(b"3\r\nbody\r\n0\r\n\r\n"),
    "two bytes more than the size": with_chunks(b"2\r\nbody\r\n0\r\n\r\n"),
    "a size with a plus": with_chunks(b"+4\r\nbody\r\n0\r\n\r\n"),
    "a size with a minus": with_chunks(b"-4\r\nbody\r\n0\r\n\r\n"),
    "a size with a prefix": with_chunks(b"0x4\r\nbody\r\n0\r\n\r\n"),
    "a size with an underscore": with_chunks(b"0_4\r\nbody\r\n0\r\n\r\n"),
    "a size in quotes": with_chunks(b'"4"\r\nbody\r\n0\r\n\r\n'),
    "a size that overflows": with_chunks(b"10000000000000004\r\nbody\r\n0\r\n\r\n"),
    "a size of five thousand digits": with_chunks(b"0" * 5000 + b"4\r\nbody\r\n0\r\n\r\n"),
    "space before a size": with_chunks(b" 4\r\nbody\r\n0\r\n\r\n"),
    "vertical tab behind a size": with_chunks(b"4\x0b\r\nbody\r\n0\r\n\r\n"),
    "no size": with_chunks(b"\r\nbody\r\n0\r\n\r\n"),
    "only an extension": with_chunks(b";a\r\nbody\r\n0\r\n\r\n"),
    "LF at the end": with_chunks(b"4\r\nbody\r\n0\n\n"),
    "CR at the end": with_chunks(b"4\r\nbody\r\n0\r\n\rGET /evil HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    # §7.1.2: what stands behind the last chunk
    "a length behind the body": with_chunks(b"4\r\nbody\r\n0\r\nContent-Length: 9\r\n\r\n"),
    "a coding behind the body": with_chunks(b"4\r\nbody\r\n0\r\ntransfer-encoding: chunked\r\n\r\n"),
    "a host behind the body": with_chunks(b"4\r\nbody\r\n0\r\nHost: evil.example\r\n\r\n"),
    "no header behind the body": with_chunks(b"4\r\nbody\r\n0\r\nGET /evil HTTP/1.1\r\n\r\n"),
    "LF in a header behind the body": with_chunks(b"4\r\nbody\r\n0\r\nX: y\nZ: z\r\n\r\n"),
    "NUL in a header behind the body": with_chunks(b"4\r\nbody\r\n0\r\nX: y\0\r\n\r\n"),
    "a value on two lines behind the body": with_chunks(b"4\r\nbody\r\n0\r\nX: y\r\n z\r\n\r\n"),
    "headers without an end behind the body": with_chunks(b"0\r\n" + b"X: %b\r\n" % (b"a" * 4000) * 70),
}
"""Requests of which nothing reaches the provider, or, where they come piece by piece, nothing from there on."""

PASSED: dict[str, bytes] = {
    "a length": with_lines(LENGTH),
    "a length with zeros in front": with_lines(b"Content-Length: 0004\r\n"),
    "blanks round a length": with_lines(b"content-length: \t 4 \t\r\n"),
    "no body": b"GET /a?b=%0d%0a&c=// HTTP/1.1\r\n" + HOST + b"\r\n",
    "a body of a GET": b"GET / HTTP/1.1\r\n" + HOST + LENGTH + b"\r\nbody",
    "a method of its own": b"M-SEARCH / HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP/1.0": b"POST / HTTP/1.0\r\n" + HOST + LENGTH + b"\r\nbody",
    "chunks": with_chunks(CHUNKS),
    "Chunked": with_lines(b"TRANSFER-encoding:Chunked\r\n", CHUNKS),
    "extensions": with_chunks(b'4;a=b;c="d e"\r\nbody\r\n0;x\r\n\r\n'),
    "blanks before an extension": with_chunks(b"4 \t;a\r\nbody\r\n0\r\n\r\n"),
    "blanks behind a size": with_chunks(b"4  \r\nbody\r\n0\r\n\r\n"),
    "zeros before a size": with_chunks(b"0004\r\nbody\r\n000\r\n\r\n"),
    "large letters in a size": with_chunks(b"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
    "a header behind the body": with_chunks(b"4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n"),
    "bytes of other letters in a value": with_lines(b"X: \xc3\xa0 \xe4\r\n" + LENGTH),
    "tabs and nothing in values": with_lines(b"X:\ty\tz\r\nEmpty:\r\n" + LENGTH),
    "what looks like a length": with_lines(b"X-Content-Length: 9\r\nContent-Lengths: 9\r\n" + LENGTH),
    "a request in a body": with_lines(b"Content-Length: 24\r\n", b"GET /evil HTTP/1.1\r\n\r\nxy"),
    "an expectation": with_lines(b"Expect: 100-continue\r\n" + LENGTH),
    "an odd expectation": with_lines(b"Expect: y 100-continue\r\n" + LENGTH),
    "an upgrade that nobody takes": with_lines(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" + LENGTH),
}
"""Requests that are passed on as they came, but for the host."""


class Wire:
    """A provider that takes bytes, and gives the next of its `answers` to what comes once `expected` has come; with the
    last one it closes where it `closes`."""

    def __init__(self) -> None:
        self.seen = b""
        self.expected = b""
        self.answers = [OK]
        self.closes = False
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                self.seen += data
                if self.answers and len(self.seen) >= len(self.expected):
                    writer.write(self.answers.pop(0))
                    await writer.drain()
                if self.closes and not self.answers:
                    break
        writer.close()


@asynccontextmanager
async def wired() -> AsyncIterator[tuple[Wire, Relay]]:
    wire = Wire()
    server = await asyncio.start_server(wire.handle, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    numbers = iter(range(1000))
    relay = Relay([Upstream("x", f"http://127.0.0.1:{wire.port}")], lambda news: None, lambda: str(next(numbers)))
    await relay.start()
    try:
        yield wire, relay
    finally:
        await relay.close()
        server.close()


def there(raw: bytes, port: int) -> bytes:
    return raw.replace(HOST, b"Host: 127.0.0.1:%d\r\n" % port, 1)


async def said(relay: Relay, raw: bytes, step: int) -> bytes:
    """What the client is told, up to the end of its connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
    with suppress(ConnectionError):
        for at in range(0, len(raw), step):
            writer.write(raw[at : at + step])
            await writer.drain()
            await asyncio.sleep(0)
    got = b""
    with suppress(ConnectionError):
        got = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return got


@pytest.mark.parametrize("name", REFUSED)
async def test_a_request_that_may_be_read_two_ways_is_refused(name: str) -> None:
    raw = REFUSED[name]
    async with wired() as (wire, relay):
        got = await said(relay, raw, len(raw))
        assert got[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 404"), got
        assert len(got.partition(b"\r\n\r\n")[2]) == int(got.partition(b"content-length: ")[2].split()[0])
        assert not wire.seen
        if len(raw) < 1000:
            await said(relay, raw, 1)
            assert there(raw, wire.port).startswith(wire.seen) and wire.seen != there(raw, wire.port)
            assert b"evil" not in wire.seen


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("name", PASSED)
async def test_a_request_that_is_read_one_way_is_passed_on(name: str, step: int) -> None:
    raw = PASSED[name]
    async with wired() as (wire, relay):
        wire.expected = there(raw, wire.port)
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        for at in range(0, len(raw), step):
            writer.write(raw[at : at + step])
            await asyncio.sleep(0)
        assert await asyncio.wait_for(reader.readexactly(len(OK)), 20) == OK
        assert wire.seen == wire.expected
        writer.close()


async def test_lines_before_a_request_are_left_out() -> None:
    async with wired() as (wire, relay):
        wire.expected = there(with_lines(LENGTH), wire.port)
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"\r\n\r\n" + with_lines(LENGTH))
        assert await asyncio.wait_for(reader.readexactly(len(OK)), 20) == OK
        assert wire.seen == wire.expected
        writer.close()


class Answered(NamedTuple):
    """An answer on the wire: what the client is told of it (None: all), whether another request may follow, whether the
    provider closes behind it, to what it answers."""

    raw: bytes
    told: bytes | None = None
    follows: bool = False
    closes: bool = False
    request: bytes = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"


HEAD_ = b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"
START = b"HTTP/1.1 200 OK\r\n"
EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
ANSWERS: dict[str, Answered] = {
    "a length": Answered(OK, follows=True),
    "chunks": Answered(START + CHUNKED + b"\r\n" + CHUNKS, follows=True),
    "extensions and a trailer": Answered(START + CHUNKED + b"\r\n4;a=b\r\nbody\r\n0\r\nX: 1\r\n\r\n", follows=True),
    "to the end": Answered(START + b"\r\nbody", closes=True),
    "HTTP/1.0": Answered(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody"),
    "HTTP/1.0 that goes on": Answered(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbody", follows=True
    ),
    "close": Answered(START + b"Connection: close\r\n" + LENGTH + b"\r\nbody"),
    "no reason": Answered(b"HTTP/1.1 529\r\n" + LENGTH + b"\r\nbody", follows=True),
    "another answer behind it": Answered(OK + EVIL, OK),
    "more than the length": Answered(START + LENGTH + b"\r\nbody" + b"more", START + LENGTH + b"\r\nbody"),
    "more than the chunks": Answered(START + CHUNKED + b"\r\n" + CHUNKS + EVIL, START + CHUNKED + b"\r\n" + CHUNKS),
    # No body, whatever their heads say (§6.3)
    "HEAD": Answered(START + b"Content-Length: 44\r\n\r\n", follows=True, request=HEAD_),
    "HEAD and chunks": Answered(START + CHUNKED + b"\r\n", follows=True, request=HEAD_),
    "HEAD with a body": Answered(START + LENGTH + b"\r\nevil", START + LENGTH + b"\r\n", request=HEAD_),
    "204": Answered(b"HTTP/1.1 204 No Content\r\n\r\n", follows=True),
    "204 with a body": Answered(
        b"HTTP/1.1 204 No Content\r\n" + LENGTH + b"\r\nevil", b"HTTP/1.1 204 No Content\r\n" + LENGTH + b"\r\n"
    ),
    "304": Answered(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 44\r\n\r\n", follows=True),
    "304 with an answer behind it": Answered(
        b"HTTP/1.1 304 Not Modified\r\n\r\n" + EVIL, b"HTTP/1.1 304 Not Modified\r\n\r\n"
    ),
    # Heads before the head
    "100": Answered(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, follows=True),
    "103 with a length": Answered(b"HTTP/1.1 103 Early Hints\r\nContent-Length: 4\r\n\r\n" + OK, follows=True),
    "as many as may be": Answered(b"HTTP/1.1 102 Processing\r\n\r\n" * (MAX_EARLY_HEADS - 1) + OK, follows=True),
    "a flood of them": Answered(b"HTTP/1.1 100 Continue\r\n\r\n" * 5000 + OK),
    "101 that nobody asked for": Answered(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nwhatever"),
    # May be read two ways: passed on, and nothing follows (§6.3)
    "both lengths": Answered(START + CHUNKED + b"Content-Length: 5\r\n\r\n" + CHUNKS),
    "two lengths": Answered(START + LENGTH + b"Content-Length: 5\r\n\r\nbody", closes=True),
    "the same length twice": Answered(START + LENGTH + LENGTH + b"\r\nbody"),
    "a list of lengths": Answered(START + b"Content-Length: 4, 4\r\n\r\nbody", closes=True),
    "a negative length": Answered(START + b"Content-Length: -4\r\n\r\nbody", closes=True),
    "a length that overflows": Answered(START + b"Content-Length: 18446744073709551620\r\n\r\nbody", closes=True),
    "a length of five thousand digits": Answered(START + b"Content-Length: %b\r\n\r\nbody" % (b"4" * 5000)),
    "a coding in HTTP/1.0": Answered(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + CHUNKED + b"\r\n" + CHUNKS, closes=True
    ),
    "another coding": Answered(START + b"Transfer-Encoding: gzip\r\n\r\nbody", closes=True),
    "chunked before another": Answered(START + b"Transfer-Encoding: chunked, gzip\r\n\r\n" + CHUNKS, closes=True),
    "chunked after another": Answered(START + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS, follows=True),
    "LF in a header": Answered(START + b"X: y\nContent-Length: 0\r\n" + LENGTH + b"\r\nbody"),
    "CR in a header": Answered(START + b"X: y\rContent-Length: 0\r\n" + LENGTH + b"\r\nbody"),
    "NUL in a header": Answered(START + b"X: y\0\r\n" + LENGTH + b"\r\nbody"),
    "a value on two lines": Answered(START + b"X: y\r\n z\r\n" + LENGTH + b"\r\nbody"),
    "space before a colon": Answered(START + b"Content-Length : 4\r\n\r\nbody"),
    "lines that end in LF": Answered((START + LENGTH + b"\r\nbody").replace(b"\r\n", b"\n")),
    "a status of two digits": Answered(b"HTTP/1.1 20 OK\r\n" + LENGTH + b"\r\nbody"),
    "a status of four digits": Answered(b"HTTP/1.1 2000 OK\r\n" + LENGTH + b"\r\nbody"),
    "a status below 100": Answered(b"HTTP/1.1 099 OK\r\n" + LENGTH + b"\r\nbody"),
    "HTTP/2": Answered(b"HTTP/2 200 OK\r\n" + LENGTH + b"\r\nbody"),
    "no HTTP": Answered(b"SSH-2.0-x\r\n", closes=True),
    "a head that is too long": Answered(START + b"X: %b\r\n" % (b"a" * MAX_HEAD_BYTES) + LENGTH + b"\r\nbody"),
    "a size with a sign": Answered(START + CHUNKED + b"\r\n+4\r\nbody\r\n0\r\n\r\n"),
    "LF behind a size": Answered(START + CHUNKED + b"\r\n4\nbody\r\n0\r\n\r\n"),
    "more than the size": Answered(START + CHUNKED + b"\r\n3\r\nbody\r\n0\r\n\r\n"),
    "a length behind the body": Answered(START + CHUNKED + b"\r\n4\r\nbody\r\n0\r\nContent-Length: 9\r\n\r\n"),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_is_passed_on_and_nothing_follows_what_may_be_read_two_ways(name: str) -> None:
    one = ANSWERS[name]
    told = one.raw if one.told is None else one.told
    async with wired() as (wire, relay):
        wire.answers = [one.raw, EVIL]
        if one.closes:
            wire.answers, wire.closes = [one.raw], True
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(one.request)
        assert await asyncio.wait_for(reader.readexactly(len(told)), 20) == told
        with suppress(ConnectionError):
            writer.write(b"GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if one.follows:
                assert await asyncio.wait_for(reader.readexactly(len(EVIL)), 20) == EVIL
            else:
                assert await asyncio.wait_for(reader.read(), 20) == b""
        writer.close()
