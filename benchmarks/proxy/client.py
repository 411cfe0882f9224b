"""One client for all relays: raw HTTP/1.1 over asyncio, a new connection for each measured answer."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import NamedTuple

STAMP = re.compile(rb"T(\d{8,})")


class Timed(NamedTuple):
    """Seconds to the first chunk, from each chunk's leaving the provider to its coming, and of all."""

    first: float
    chunks: list[float]
    whole: float


async def ask(port: int, path: str, mode: str, headers: str = "") -> Timed:
    """One streamed answer, through what listens at `port`; `headers` are further ones, each with its line's end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    said = [{"role": "user", "content": f"MODE:{mode} " + "x" * 2000}]
    body = json.dumps({"model": "m", "stream": True, "messages": said}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n{headers}"
    begun = time.perf_counter_ns()
    writer.write(head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
    status = await reader.readuntil(b"\r\n\r\n")
    assert b" 200" in status[:20], status[:200]
    first, late = 0, []
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        data = await reader.readexactly(size + 2)
        now = time.perf_counter_ns()
        first = first or now - begun
        late += [(now - int(stamp)) / 1e9 for stamp in STAMP.findall(data)]
        if not size:
            break
    whole = (time.perf_counter_ns() - begun) / 1e9
    writer.close()
    return Timed(first / 1e9, late, whole)
