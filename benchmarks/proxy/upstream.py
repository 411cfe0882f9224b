"""A provider on loopback: ``python upstream.py`` prints its port. A body with MODE:sse gets 500 chunks 2 ms apart, each
with the time at which it left; MODE:fast the same without pauses, MODE:one the first of them alone."""

from __future__ import annotations

import asyncio
import time

CHUNKS, GAP = 500, 0.002
CHUNK = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"T%d "}}]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Every request of a connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
            body = await reader.readexactly(length)
            writer.write(HEAD)
            await writer.drain()
            due = time.perf_counter()
            for _ in range(1 if b"MODE:one" in body else CHUNKS):
                data = CHUNK % time.perf_counter_ns()
                writer.write(b"%x\r\n%s\r\n" % (len(data), data))
                await writer.drain()
                if b"MODE:sse" in body:
                    due += GAP
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    """Serve until the process ends."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
