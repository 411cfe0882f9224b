"""The floor of a relay in Python: ``python raw_relay.py PORT`` passes bytes on to PORT, keeps a copy of the chunks, and
knows nothing of HTTP. Prints its own port."""

from __future__ import annotations

import asyncio
import sys

TO = int(sys.argv[1]) if len(sys.argv) > 1 else 0


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One way."""
    kept = []
    try:
        while data := await reader.read(65536):
            kept.append(data)
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Both ways of one connection."""
    there, back = await asyncio.open_connection("127.0.0.1", TO)
    await asyncio.gather(pipe(reader, back), pipe(there, writer))


async def main() -> None:
    """Serve until the process ends."""
    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
