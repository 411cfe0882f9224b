"""A connection to the provider belongs to one connection of a client: whatever the provider makes of what it was told,
no answer reaches another client."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.attach.raw import raw_provider, relayed, talk

ASKED = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"


async def test_an_answer_that_comes_late_reaches_nobody_else(tmp_path: Path) -> None:
    """As of a request in the body of the first, which the provider saw and the relay did not."""
    requests = 0
    left: list[asyncio.StreamWriter] = []

    async def two_for_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"{}"):
                requests += 1
                if requests > 1:
                    # The late answer is on its way as the next client asks, on whatever connection there is.
                    for other in left:
                        other.write(POISON)
                writer.write(ANSWER)
                left.append(writer)
        writer.close()

    async with raw_provider(two_for_one) as provider, relayed(provider.port, tmp_path) as (relay, _):
        for _ in range(4):
            assert await talk(relay.port, ASKED, end=b"ok") == ANSWER


async def test_each_client_has_its_own_and_keeps_it(tmp_path: Path) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        provider.replies = [[ANSWER] for _ in range(6)]
        for n in range(3):
            assert await talk(relay.port, ASKED, ASKED, end=b"ok") == ANSWER * 2
            assert provider.connections == n + 1


async def test_what_nobody_asked_for_ends_the_connection_and_is_not_kept(tmp_path: Path) -> None:
    broken = asyncio.Event()

    async def too_much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(ANSWER)
        with suppress(ConnectionError):
            await going.wait()
            while True:
                writer.write(b"y" * (1 << 20))
                await writer.drain()
        broken.set()

    going = asyncio.Event()
    async with raw_provider(too_much) as provider, relayed(provider.port, tmp_path) as (relay, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(ASKED)
        assert await asyncio.wait_for(reader.readexactly(len(ANSWER)), 20) == ANSWER
        going.set()
        assert await asyncio.wait_for(reader.read(), 20) == b""
        await asyncio.wait_for(broken.wait(), 20)
        writer.close()
