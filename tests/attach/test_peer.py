"""The relay's port serves programs of its own user, and a client that has ended its half of a connection waits for its
answer."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from ctxtui.attach.exchange import GONE
from ctxtui.attach.peer import can_identify_peers, user_of
from ctxtui.attach.relay import Relay
from ctxtui.attach.upstream import Upstream
from tests.attach.raw import raw_provider, relayed

NOBODY = 65534
ASKED = b"POST /v1/x?a=b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FROM_SHELL = r"""exec 3<>/dev/tcp/127.0.0.1/%d
printf 'POST /v1/x?a=b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}' >&3
cat <&3"""
told_by_system = pytest.mark.skipif(not can_identify_peers(), reason="the system does not tell whose a connection is")
as_another = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("bash"), reason="only root can become another user"
)


async def from_shell(port: int, user: int) -> bytes:
    """What a program of `user` is told."""
    told = await asyncio.create_subprocess_exec(
        "bash", "-c", FROM_SHELL % port, stdout=asyncio.subprocess.PIPE, cwd="/", user=user
    )
    return (await asyncio.wait_for(told.communicate(), 20))[0]


@told_by_system
@as_another
async def test_another_user_is_served_nothing(tmp_path: Path) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        provider.replies = [[ANSWER]]
        told = await from_shell(relay.port, NOBODY)
        assert told.startswith(b"HTTP/1.1 403 ") and b"of user 65534" in told
        assert not provider.seen and not provider.connections
        assert await from_shell(relay.port, os.geteuid()) == ANSWER


@told_by_system
def test_whose_a_connection_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
            with socket.socket(family) as line:
                line.connect((host, server.getsockname()[1]))
                accepted = server.accept()[0]
                assert user_of(accepted) == os.geteuid()
                line.shutdown(socket.SHUT_WR)
                assert user_of(accepted) == os.geteuid()
            # Closed: the system names root for what belongs to nobody any more.
            assert user_of(accepted) is None
            accepted.close()
    assert user_of(accepted) is None


@asynccontextmanager
async def untold(port: int) -> AsyncIterator[Relay]:
    """A relay where the system does not tell whose a connection is."""
    relay = Relay([Upstream("x", f"http://127.0.0.1:{port}")], lambda news: None, lambda: "x", _guarded=False)
    await relay.start()
    try:
        yield relay
    finally:
        await relay.close()


async def test_elsewhere_the_address_holds_a_word() -> None:
    async with raw_provider() as provider, untold(provider.port) as relay:
        provider.replies = [[ANSWER]]
        word = relay.base_url(relay.upstreams[0]).rpartition("/")[2].encode()
        assert len(word) > 20
        for path in (b"/v1/x?a=b", b"/" + word[:-1] + b"/v1/x?a=b", b"/" + word + b"x/v1/x?a=b"):
            reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
            writer.write(ASKED.replace(b"/v1/x?a=b", path))
            told = await asyncio.wait_for(reader.read(), 20)
            assert told.startswith(b"HTTP/1.1 404 ") and word not in told and not provider.seen
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(ASKED.replace(b"/v1", b"/" + word + b"/v1"))
        assert await asyncio.wait_for(reader.readexactly(len(ANSWER)), 20) == ANSWER
        assert provider.seen == [ASKED.replace(b"localhost", b"127.0.0.1:%d" % provider.port)]
        writer.close()


@told_by_system
async def test_a_client_that_ends_its_half_gets_its_answer(tmp_path: Path) -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        await going.wait()
        writer.write(ANSWER)

    going = asyncio.Event()
    async with raw_provider(slow) as provider, relayed(provider.port, tmp_path) as (relay, recorder):
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(ASKED)
        writer.write_eof()
        async with asyncio.timeout(20):
            while not any(one._check_timer for one in relay._connections):
                await asyncio.sleep(0.005)
        going.set()
        assert await asyncio.wait_for(reader.read(), 20) == ANSWER
        writer.close()
        assert await asyncio.to_thread(recorder.flush)
    assert GONE not in (tmp_path / "s.jsonl").read_text()


async def test_several_requests_and_the_end_at_once_are_all_answered(tmp_path: Path) -> None:
    async with raw_provider() as provider, relayed(provider.port, tmp_path) as (relay, _):
        provider.replies = [[ANSWER]] * 3
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(ASKED * 3 + ASKED[:-1])
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 20) == ANSWER * 3
        assert len(provider.seen) == 3
        writer.close()


@pytest.mark.parametrize("half_first", [False, True])
async def test_a_client_that_closes_while_it_waits_ends_its_request(tmp_path: Path, half_first: bool) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        asked.set()
        with suppress(ConnectionError):
            await reader.read()
        gone.set()

    asked, gone = asyncio.Event(), asyncio.Event()
    async with raw_provider(silent) as provider, relayed(provider.port, tmp_path) as (relay, recorder):
        _, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(ASKED)
        if half_first:
            writer.write_eof()
        await asyncio.wait_for(asked.wait(), 20)
        writer.close()
        await asyncio.wait_for(gone.wait(), 20)
        assert await asyncio.to_thread(recorder.flush)
    assert GONE in (tmp_path / "s.jsonl").read_text()
