"""With nothing held and nothing edited every byte is the client's and the provider's own, both ways."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.attach import route
from ctxtui.attach.exchange import CUT, GONE
from ctxtui.attach.relay import Relay
from ctxtui.attach.upstream import Upstream
from tests.attach.raw import ended, raw_provider, relayed, talk

BODY = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "höi"}]}).encode()
HEAD = (
    b"POST /v1/messages?beta=true HTTP/1.1\r\nX-Odd-CASE:  two blanks\r\nhost: %b\r\naccept: */*\r\nAccept: again\r\n"
    b"Authorization: Bearer sk-secret-0123456789\r\n"
)


def asked(host: bytes, body: bytes = BODY, more: bytes = b"") -> bytes:
    return HEAD % host + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


ANSWER = (
    b"HTTP/1.1 200 Fine\r\nX-WeIrD: kept\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"5\r\nevent\r\n", b"3;ext=1\r\nxyz", b"\r\n0\r\n", b"Trailer: 1\r\n\r\n",
)  # fmt: skip


async def test_bytes_heads_and_status_are_passed_on_both_ways(tmp_path: Path) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        here, there = f"127.0.0.1:{relay.port}".encode(), f"127.0.0.1:{provider.port}".encode()
        provider.replies = [ANSWER, ANSWER]
        got = await talk(relay.port, asked(here), asked(here), end=b"Trailer: 1\r\n\r\n")
        assert got == b"".join(ANSWER) * 2
        # The host is the provider's, as it has to be; nothing else differs.
        assert provider.seen == [asked(there), asked(there)]
        assert provider.connections == 1


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("encoding", PACKED)
async def test_chunked_requests_and_packed_bodies_go_untouched(tmp_path: Path, encoding: str) -> None:
    pack, name = PACKED[encoding], encoding.encode()
    packed = pack(BODY)
    chunked = b"%x\r\n" % len(packed) + packed + b"\r\n0\r\n\r\n"
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, recorder):
        head = b"POST /v1/messages HTTP/1.1\r\nHost: %b\r\nContent-Encoding: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = pack(b'{"type":"message"}')
        reply = b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (name, len(answer)) + answer
        provider.replies = [[reply]]
        got = await talk(relay.port, head % (b"localhost:1", name) + chunked, end=answer[-8:])
        assert got == reply
        assert provider.seen == [head % (f"127.0.0.1:{provider.port}".encode(), name) + chunked]
        assert await asyncio.to_thread(recorder.flush)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert lines[1]["asked"]["body"]["text"] == BODY.decode() and lines[1]["asked"]["body"]["encoding"] == encoding
    assert [line["data"] for line in lines if "data" in line] == ['{"type":"message"}']


@pytest.mark.parametrize(
    ("reply", "method"),
    [
        (b"HTTP/1.1 204 No Content\r\nX: 1\r\n\r\n", b"POST"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n", b"HEAD"),
        (b"HTTP/1.1 529 \r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\n{}", b"POST"),
        (b"HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n", b"GET"),
    ],
)
async def test_answers_of_every_kind(tmp_path: Path, reply: bytes, method: bytes) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        provider.replies = [[reply], [reply]]
        request = method + b" /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
        assert await talk(relay.port, request, request, end=reply[-4:]) == reply * 2


async def test_an_answer_to_the_end_of_the_connection(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        writer.close()

    async with raw_provider(answer) as provider, relayed(provider.port, tmp_path) as (relay, _):
        got = await talk(relay.port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert got == b"HTTP/1.0 200 OK\r\n\r\nall of it"


async def test_a_hundred_continue(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert await reader.readexactly(4) == b"body"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with raw_provider(answer) as provider, relayed(provider.port, tmp_path) as (relay, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert await reader.readuntil(b"ok") == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        writer.close()


async def test_chunks_come_as_they_are_sent_not_when_the_answer_is_whole(tmp_path: Path) -> None:
    going = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await going.wait()
        writer.write(b"4\r\nlast\r\n0\r\n\r\n")

    async with raw_provider(answer) as provider, relayed(provider.port, tmp_path) as (relay, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"first\r\n"), 20)
        going.set()
        await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 20)
        writer.close()


async def test_a_client_that_goes_away_ends_the_request(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        with suppress(ConnectionError):
            await reader.read()
        gone.set()

    async with raw_provider(answer) as provider, relayed(provider.port, tmp_path) as (relay, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"GET /v1/messages HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"first\r\n"), 20)
        writer.transport.abort()
        await asyncio.wait_for(gone.wait(), 20)
        async with asyncio.timeout(20):
            while not ended(tmp_path):
                await asyncio.sleep(0.01)
    assert json.loads((tmp_path / "s.jsonl").read_text().splitlines()[-1])["error"] == GONE


async def test_a_provider_that_breaks_off_is_passed_on_as_that(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        writer.close()

    async with raw_provider(answer) as provider, relayed(provider.port, tmp_path) as (relay, _):
        got = await talk(relay.port, b"GET /v1/messages HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert got == b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"


@pytest.mark.parametrize("length", [b"", b"Content-Length: 100\r\n"])
async def test_a_connection_that_breaks_is_passed_on_as_that(tmp_path: Path, length: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\nhalf")
        await going.wait()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    going = asyncio.Event()
    async with raw_provider(answer) as provider, relayed(provider.port, tmp_path) as (relay, recorder):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(b"GET /v1/messages HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"half"), 20)
        going.set()
        # Where nothing says how long it is, an end in good order would be taken for all of it.
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), 20)
        writer.close()
        assert await asyncio.to_thread(recorder.flush)
    assert json.loads((tmp_path / "s.jsonl").read_text().splitlines()[-1])["error"] == CUT


async def test_no_provider_is_an_answer_that_says_so(tmp_path: Path) -> None:
    async with raw_provider() as provider:
        port = provider.port
    async with relayed(port, tmp_path) as (relay, _):
        got = await talk(relay.port, asked(b"localhost"))
        assert got.startswith(b"HTTP/1.1 502 ") and b"cannot be reached" in got


@pytest.mark.parametrize(
    ("url", "proxy"), [("http://a..b", ""), ("http://x.example", "http://h:port"), ("http://x.example", "http://[h")]
)
async def test_an_address_that_cannot_be_used_is_an_answer_that_says_so(
    url: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    relay = Relay([Upstream("x", url)], lambda event: None, lambda: "x")
    await relay.start()
    try:
        got = await talk(relay.port, asked(b"localhost"))
    finally:
        await relay.close()
    assert got.startswith(b"HTTP/1.1 502 ") and b"cannot be reached" in got


@given(st.from_regex(route._LOOPBACK_HOST, fullmatch=True))
def test_a_host_that_is_known_at_once_is_at_home(value: str) -> None:
    assert not route._NO_NAME.intersection(value) and route.is_loopback_address(f"//{value}")


@pytest.mark.parametrize(
    "line",
    [
        b"Host: evil.example",
        b"Host: localhost\r\nOrigin: https://evil.example",
        b"Host: localhost\r\nOrigin: null",
        b"Host: 127.0.0.1.evil.example",
        b"Host: localhost\r\nSec-Fetch-Site: cross-site",
        b"Host: localhost\r\nSec-Fetch-Site: same-site",
    ],
)
async def test_a_web_page_is_not_let_in(tmp_path: Path, line: bytes) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        got = await talk(relay.port, b"POST /v1/messages HTTP/1.1\r\n" + line + b"\r\nContent-Length: 0\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 403 ") and not provider.seen


@pytest.mark.parametrize(
    "line", [b"Origin: http://localhost:3000", b"Sec-Fetch-Site: none", b"Sec-Fetch-Site: same-origin"]
)
async def test_a_page_of_this_machine_is_let_in(tmp_path: Path, line: bytes) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        provider.replies = [[b"HTTP/1.1 204 No Content\r\n\r\n"]]
        got = await talk(relay.port, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + line + b"\r\n\r\n", end=b"\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 204 ")


@pytest.mark.parametrize("where", ["header", "query"])
async def test_keys_are_in_no_record(tmp_path: Path, where: str) -> None:
    key = b"AIza-other-9876543210"
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, recorder):
        half, rest = key[:9], key[9:]
        said = b'{"error":"no such key %b"}' % key
        reply = [b"HTTP/1.1 401 No\r\nSet-Cookie: %b\r\nContent-Length: %d\r\n\r\n" % (key, len(said))]
        reply += [said.partition(half)[0] + half, rest + b'"}']
        provider.replies = [reply]
        request = asked(b"localhost", more=b"X-Api-Key: " + key + b"\r\n")
        if where == "query":
            request = asked(b"localhost").replace(b"?beta=true", b"?beta=true&key=%b" % key, 1)
        got = await talk(relay.port, request, end=b'"}')
        assert got == b"".join(reply)
        assert key in provider.seen[0]
        assert await asyncio.to_thread(recorder.flush)
    written = (tmp_path / "s.jsonl").read_bytes()
    assert b"no such key" in written and rest not in written and half not in written
