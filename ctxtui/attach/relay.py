"""Passes a client's bytes on to its provider and the answer's back, as they come, and tells a recorder.

One connection of the client is one to the provider. Of a request's head the host changes, which has to be the
provider's, and in a relay of several providers the name in front of the path; everything else is passed on as the bytes
that came.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from ctxtui.attach import http1
from ctxtui.attach.exchange import Exchange
from ctxtui.attach.gate import Gate
from ctxtui.attach.http1 import Head
from ctxtui.attach.news import News
from ctxtui.attach.refusal import refusal
from ctxtui.attach.side import PIECE, Away, Side
from ctxtui.attach.upstream import Upstream
from ctxtui.attach.visitors import stranger
from ctxtui.core.errors import BadConfig, Malformed

HOST: Final = "127.0.0.1"
_CONNECT: Final = 30.0
"""Seconds for a connection to a provider."""


@dataclass(slots=True)
class Relay:
    """Serves on loopback. `tell` hears of everything that goes by (it must not wait or raise), each exchange under a
    `name` of its own. With `named` the first step of a path names the provider, else there is one."""

    upstreams: Sequence[Upstream]
    tell: Callable[[News], None]
    name: Callable[[], str]
    _: KW_ONLY
    named: bool = False
    gate: Gate | None = None
    clock: Callable[[], float] = time.time
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, port: int = 0) -> None:
        """Begin to serve. Raises `BadConfig` where the port is taken."""
        try:
            self._server = await asyncio.start_server(self._connected, HOST, port, limit=PIECE)
        except OSError as error:
            raise BadConfig(f"port {port} cannot be opened: {error.strerror}", way_out="name another --port") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """End at once, with what is open."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def base_url(self, upstream: Upstream) -> str:
        """What a client is given in place of the provider's own base URL."""
        name = f"/{upstream.name}" if self.named else ""
        return f"http://{HOST}:{self.port}{name}{upstream.path}"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await _Connection(self, Side(reader, writer)).serve()
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)


class _Connection:
    """A client's connection, with those to providers that it leads to."""

    def __init__(self, relay: Relay, client: Side) -> None:
        self._relay = relay
        self._client = client
        self._sides: dict[str, Side] = {}

    async def serve(self) -> None:
        """Pass on one exchange after the other until either end closes."""
        try:
            while await self._next():
                pass
        except Away:
            pass
        except Malformed as error:
            await self._refuse(400, str(error))
        finally:
            for side in self._sides.values():
                side.close()
            self._client.close()

    async def _next(self) -> bool:
        """One exchange; whether another one may follow."""
        head = await self._head()
        if head is None:
            return False
        asked = http1.asked(head)
        why = stranger(head)
        if why:
            told = f"only programs of this machine are served, under its own name; this came with {why!r}"
            await self._refuse(403, told)
            return False
        found = self._upstream(asked.target)
        if found is None:
            names = ", ".join(f"/{one.name}/" for one in self._relay.upstreams)
            await self._refuse(404, f"{asked.target[:80]!r} leads to no provider; paths begin with {names}")
            return False
        upstream, target = found
        body = http1.request_body(head)
        exchange = Exchange(
            relay=self._relay, client=self._client, upstream=upstream, head=head, target=target, body=body
        )
        exchange.begin(asked.method)
        if not await exchange.passes_gate():
            return False
        try:
            side = await self._side(upstream)
        except (OSError, TimeoutError) as error:
            why = f"{upstream.origin} cannot be reached: {_words(error)}"
            exchange.end(why)
            await self._refuse(502, why)
            return False
        return await exchange.carry(side)

    async def _head(self) -> Head | None:
        """The client's next request; None where it, or the provider, ends the connection first."""
        idle = [asyncio.ensure_future(self._end_of(side)) for side in self._sides.values()]
        mine = asyncio.ensure_future(self._client.head())
        try:
            await asyncio.wait([mine, *idle], return_when=asyncio.FIRST_COMPLETED)
            if not mine.done():
                # As the client would see it from the provider itself.
                return None
            return mine.result()
        finally:
            for task in (mine, *idle):
                task.cancel()
            await asyncio.gather(mine, *idle, return_exceptions=True)

    @staticmethod
    async def _end_of(side: Side) -> None:
        while data := await side.reader.read(PIECE):
            side.held += data

    def _upstream(self, target: str) -> tuple[Upstream, str] | None:
        """The provider that a request's target leads to, and the target as it is told; None where none is meant."""
        if not target.startswith("/"):
            return None
        if not self._relay.named:
            return self._relay.upstreams[0], target
        name, slash, rest = target[1:].partition("/")
        if not slash:
            name, question, query = name.partition("?")
            rest = question + query
        found = next((one for one in self._relay.upstreams if one.name == name), None)
        return (found, f"/{rest}") if found is not None else None

    async def _side(self, upstream: Upstream) -> Side:
        known = self._sides.get(upstream.name)
        if known is not None:
            return known
        server = upstream.host if upstream.tls else None
        opening = asyncio.open_connection(
            upstream.host, upstream.port, ssl=upstream.context, server_hostname=server, limit=PIECE
        )
        async with asyncio.timeout(_CONNECT):
            reader, writer = await opening
        side = self._sides[upstream.name] = Side(reader, writer)
        return side

    async def _refuse(self, status: int, why: str) -> None:
        """An answer of ctxtui's own, where none can come from a provider."""
        with suppress(OSError):
            await self._client.put(refusal(status, why))


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {_CONNECT:g} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
