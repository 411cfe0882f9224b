"""One end of a connection that a relay passes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from ctxtui.attach import http1
from ctxtui.attach.http1 import Head
from ctxtui.core.errors import Malformed

PIECE: Final = 1 << 16


class Away(Exception):
    """The client's connection is at its end."""


class Cut(Exception):
    """The provider's connection is at its end, in the middle of something."""


@dataclass(slots=True)
class Side:
    """One end of a connection; `held` was read and belongs to what comes next."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    held: bytes = b""

    async def some(self) -> bytes:
        """What has come, b"" at the end."""
        if self.held:
            data, self.held = self.held, b""
            return data
        return await self.reader.read(PIECE)

    async def head(self) -> Head | None:
        """The next head; None where the connection ends before one. Raises `Malformed`."""
        known = b""
        while http1.END not in known:
            data = await self.some()
            if not data:
                if known.strip():
                    raise Malformed("a head that breaks off")
                return None
            known += data
            if len(known) > http1.MOST_HEAD:
                raise Malformed("a head that is too long")
            known = known.lstrip(b"\r\n")
        raw, end, self.held = known.partition(http1.END)
        return http1.read_head(raw + end)

    async def put(self, data: bytes) -> None:
        """Pass bytes on; waits while the other end is slow."""
        self.writer.write(data)
        transport = self.writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > PIECE:
            await self.writer.drain()

    def close(self) -> None:
        """Nothing more goes this way."""
        self.writer.close()

    def abort(self) -> None:
        """End it at once."""
        self.writer.transport.abort()
