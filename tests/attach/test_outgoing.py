"""Connections to providers through the environment's proxy, and those that go past it."""

from __future__ import annotations

import asyncio

import pytest

from ctxtui.attach.outgoing import connect_raw, proxy_for
from ctxtui.attach.upstream import Upstream


@pytest.mark.parametrize(
    ("url", "no_proxy", "goes_past"),
    [
        ("https://api.example.com", "", False),
        ("https://api.example.com", "*", True),
        ("https://api.example.com", "intra, .EXAMPLE.com", True),
        ("https://api.example.com", "*.example.com:443", True),
        ("https://api.example.com", "example.com:8443", False),
        ("https://badexample.com", "example.com", False),
        ("https://[fd00::1]:8443", "fd00::1", True),
        ("https://[fd00::1]:8443", "[fd00::1]", True),
        ("http://localhost:1", "", True),
        ("http://127.0.0.9:1", "", True),
        ("http://[::1]:1", "", True),
        ("https://127.example.com", "", False),
    ],
)
def test_which_addresses_go_past_the_proxy(url: str, no_proxy: str, goes_past: bool) -> None:
    env = {"ALL_PROXY": "http://proxy:3128", "NO_PROXY": no_proxy}
    assert proxy_for(Upstream("x", url), env) == ("" if goes_past else "http://proxy:3128")


@pytest.mark.parametrize("status", [200, 201, 407])
async def test_each_status_of_success_opens_the_tunnel(status: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %d Fine\r\n\r\n" % status)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    env = {"https_proxy": f"127.0.0.1:{server.sockets[0].getsockname()[1]}"}
    async with server:
        if status == 407:
            with pytest.raises(OSError, match="answers 407"):
                await connect_raw("api.example.com", 443, asyncio.Protocol, env)
        else:
            await connect_raw("api.example.com", 443, asyncio.Protocol, env)
