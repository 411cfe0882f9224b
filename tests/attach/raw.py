"""A provider and a client that know nothing but bytes: what arrives is what was sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.upstream import Upstream

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawProvider:
    """Takes each connection's bytes as they come; `answer` says what becomes of a request once it is whole."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.replies: list[Sequence[bytes]] = []
        self.port = 0
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                raw = await reader.readuntil(b"\r\n\r\n")
                lines = [line for line in raw.lower().split(b"\r\n") if line.startswith(b"content-length")]
                length = int(lines[0].split(b":")[1]) if lines else 0
                if b"chunked" in raw.lower():
                    raw += await reader.readuntil(b"0\r\n\r\n")
                else:
                    raw += await reader.readexactly(length)
                self.seen.append(raw)
                for piece in self.replies.pop(0):
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if b"connection: close" in b"".join(self.replies[0] if self.replies else []).lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError, IndexError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def raw_provider(handle: Answer | None = None) -> AsyncIterator[RawProvider]:
    provider = RawProvider()
    server = await asyncio.start_server(handle or provider.handle, "127.0.0.1", 0)
    provider.port = server.sockets[0].getsockname()[1]
    try:
        yield provider
    finally:
        server.close()


@asynccontextmanager
async def relayed(port: int, folder: Path, session: str = "s", **more: object) -> AsyncIterator[tuple[Relay, Recorder]]:
    """A relay to the provider on `port`, and what it records."""
    recorder = Recorder(RecordedRun(folder, "r", session))
    relay = Relay([Upstream("anthropic", f"http://127.0.0.1:{port}")], recorder.put, recorder.next_name, **more)  # type: ignore[arg-type]
    await relay.start()
    try:
        yield relay, recorder
    finally:
        await relay.close()
        recorder.close()


def ended(folder: Path) -> int:
    """The number of exchanges recorded in `folder` that have ended."""
    return sum(path.read_bytes().count(b'"ended"') for path in folder.glob("*.jsonl"))


async def talk(port: int, *requests: bytes, end: bytes = b"") -> bytes:
    """What comes back for `requests`, one after the other on one connection, each up to `end` or the end of it all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    got = b""
    for request in requests:
        writer.write(request)
        await writer.drain()
        if end:
            got += await asyncio.wait_for(reader.readuntil(end), 20)
    if not end:
        got += await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return got
