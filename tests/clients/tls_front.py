"""The providers' own hosts, as a client without any base URL finds them: `-m tests.clients.tls_front PORT CA TO`.

A proxy on loopback that takes CONNECT for any host, shows a certificate for it by an authority that it makes (written
to CA), and passes what is said on to the offline provider on the port TO. What came is printed, a host a line.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
from pathlib import Path

from ctxtui.attach.local_ca import LocalAuthority

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


_HOST = re.compile(rb"(?i)(\r\nhost: )[a-z.]+(?=\r\n)")


async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes, to its end; the offline provider is asked under its own name."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(_HOST.sub(rb"\1localhost", data))
            await writer.drain()
    except (OSError, ssl.SSLError):
        pass
    finally:
        writer.close()


async def main() -> None:
    port, place, provider = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    authority = LocalAuthority("the test's")

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            host = head.split(b" ", 2)[1].rpartition(b":")[0].decode()
            print(host, flush=True)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await writer.drain()
            await writer.start_tls(authority.context(host))
            there, back = await asyncio.open_connection("127.0.0.1", provider)
            await asyncio.gather(pour(reader, back), pour(there, writer))
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", port)
    place.write_bytes(authority.certificate)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
