"""The floor of a relay in Python: ``python raw_relay.py PORT`` passes bytes on to PORT, keeps a copy of the chunks, and
knows nothing of HTTP. Prints its own port. Tests put TLS in front of a server with it."""

from __future__ import annotations

import asyncio
import sys
from functools import partial


async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One way."""
    kept = []
    try:
        while data := await reader.read(65536):
            kept.append(data)
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def passed_on(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Both ways of one connection, to what listens at `port`."""
    there, back = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(pour(reader, back), pour(there, writer))


async def main() -> None:
    """Serve until the process ends."""
    server = await asyncio.start_server(partial(passed_on, int(sys.argv[1])), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
