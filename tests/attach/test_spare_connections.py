"""A connection to the provider that is of no more use to its client goes on with the next one, where that is safe."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from benchmarks.proxy.raw_relay import passed_on
from ctxtui.attach import provider_connection
from ctxtui.attach.local_ca import LocalAuthority
from ctxtui.attach.relay import Relay
from ctxtui.attach.upstream import Upstream
from tests.attach.raw import RawProvider, raw_provider, relayed, talk

ASKED = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: 2\r\n\r\n{}"
ANSWER = b"HTTP/1.1 200 OK\r\n%bContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def served(folder: Path, answers: int, more: bytes = b"") -> AsyncIterator[tuple[RawProvider, Relay]]:
    async with raw_provider() as provider, relayed(provider.port, folder) as (relay, _):
        provider.replies = [[ANSWER % more] for _ in range(answers)]
        # However slow the machine is: none of them is ended by the time.
        relay._spare.seconds = 600.0
        yield provider, relay


async def kept(relay: Relay, count: int) -> None:
    """Until so many connections wait for a client."""
    async with asyncio.timeout(20):
        while sum(map(len, relay._spare._spare.values())) != count:
            await asyncio.sleep(0.005)


async def test_clients_one_after_the_other_share_a_connection(tmp_path: Path) -> None:
    async with served(tmp_path, 3) as (provider, relay):
        for _ in range(3):
            assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""
            await kept(relay, 1)
        assert provider.connections == 1 and len(provider.seen) == 3


async def test_clients_at_once_have_their_own(tmp_path: Path) -> None:
    async with served(tmp_path, 8) as (provider, relay):
        got = await asyncio.gather(*(talk(relay.port, ASKED % b"", end=b"ok") for _ in range(4)))
        assert got == [ANSWER % b""] * 4 and provider.connections == 4
        await kept(relay, 4)
        got = await asyncio.gather(*(talk(relay.port, ASKED % b"", end=b"ok") for _ in range(4)))
        assert got == [ANSWER % b""] * 4 and provider.connections == 4


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (b"Authorization: Negotiate YII=\r\n", b""),
        (b"Authorization: NTLM TlRM\r\n", b""),
        (b"Connection: close\r\n", b""),
        (b"", b"Connection: close\r\n"),
        (b"", b"Keep-Alive: timeout=1, max=5\r\n"),
    ],
)
async def test_what_is_one_clients_alone_or_ends_is_not_shared(tmp_path: Path, asked: bytes, answered: bytes) -> None:
    async with served(tmp_path, 2, answered) as (provider, relay):
        for n in range(2):
            assert await talk(relay.port, ASKED % asked, end=b"ok") == ANSWER % answered
            await kept(relay, 0)
            async with asyncio.timeout(20):
                while relay._connections:
                    await asyncio.sleep(0.005)
            assert provider.connections == n + 1


async def test_one_that_its_provider_ends_is_not_used(tmp_path: Path) -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(ASKED % b"") - len(b"localhost") + len(f"127.0.0.1:{provider.port}"))
        writer.write(ANSWER % b"")
        await going.wait()
        writer.close()

    going = asyncio.Event()
    async with raw_provider(once) as provider, relayed(provider.port, tmp_path) as (relay, _):
        relay._spare.seconds = 600.0
        assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""
        await kept(relay, 1)
        going.set()
        await kept(relay, 0)
        assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""


async def test_one_that_says_what_nobody_asked_is_not_used(tmp_path: Path) -> None:
    async def too_much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(ANSWER % b"")
        await going.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")

    going = asyncio.Event()
    async with raw_provider(too_much) as provider, relayed(provider.port, tmp_path) as (relay, _):
        relay._spare.seconds = 600.0
        assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""
        await kept(relay, 1)
        going.set()
        await kept(relay, 0)
        assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""


async def test_one_in_the_middle_of_an_answer_is_not_used(tmp_path: Path) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        provider.replies = [[ANSWER[:-1] % b""], [ANSWER % b""]]
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(ASKED % b"")
        assert await reader.readuntil(b"o") and await reader.readuntil(b"\r\n\r\no")
        writer.close()
        assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""
        assert provider.connections == 2


async def test_over_tls_it_is_shared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = LocalAuthority()
    trusted = ssl.create_default_context(cadata=authority.certificate.decode())
    monkeypatch.setattr("ctxtui.attach.upstream._context", lambda: trusted)
    async with raw_provider() as provider:
        provider.replies = [[ANSWER % b""] for _ in range(3)]
        tls = authority.context("localhost")
        server = await asyncio.start_server(partial(passed_on, provider.port), "127.0.0.1", 0, ssl=tls)
        upstream = Upstream("x", f"https://localhost:{server.sockets[0].getsockname()[1]}")
        relay = Relay([upstream], lambda news: None, lambda: "x")
        relay._spare.seconds = 600.0
        await relay.start()
        try:
            for _ in range(3):
                assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""
                await kept(relay, 1)
            assert provider.connections == 1 and len(provider.seen) == 3
        finally:
            await relay.close()
            server.close()


async def test_it_is_kept_for_a_moment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(tmp_path, 1) as (_, relay):
        assert provider_connection._SPARE < 5
        relay._spare.seconds = 0.01
        assert await talk(relay.port, ASKED % b"", end=b"ok") == ANSWER % b""
        await kept(relay, 0)
