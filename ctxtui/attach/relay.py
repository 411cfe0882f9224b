"""Passes a client's bytes on to its provider and the answer's back, as they come, and tells a recorder.

A connection of the client goes on with one to the provider, which is its alone. Of a request's head the host changes,
which has to be the provider's, and in a relay of several providers the name in front of the path; everything else is
passed on as the bytes that came (`passage` reads them, `connection` has the connections).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.attach.connection import Connection
from ctxtui.attach.gate import Gate
from ctxtui.attach.news import ExchangeEvent
from ctxtui.attach.peer import system_tells
from ctxtui.attach.route import Route
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig

SWITCH_INTERVAL: Final = 0.00005
"""Seconds that another thread may keep the relay's event loop waiting (`sys.setswitchinterval`)."""
HOST: Final = "127.0.0.1"


class Relay(Struct):
    """Serves the user's programs on loopback. `tell` hears of everything that goes by (it must not wait or raise), each
    exchange under a `name` of its own. With `named` the first step of a path names the provider, else there is one.

    Where the system does not tell whose a connection is, a relay of one provider serves whoever knows the `word` in its
    base URL, and one of several serves everybody on this machine."""

    upstreams: Sequence[Upstream]
    tell: Callable[[ExchangeEvent], None]
    name: Callable[[], str]
    named: bool = False
    gate: Gate | None = None
    clock: Callable[[], float] = time.time
    port: int = 0
    word: str = ""
    _guarded: bool = field(default_factory=system_tells)
    _server: asyncio.Server | None = None
    _connections: set[Connection] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not (self._guarded or self.named):
            self.word = secrets.token_urlsafe(16)

    async def start(self, port: int = 0) -> None:
        """Begin to serve. Raises `BadConfig` where the port is taken."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._made, HOST, port)
        except OSError as error:
            raise BadConfig(f"port {port} cannot be opened: {error.strerror}", way_out="name another --port") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """End at once, with what is open."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.abort()
        # Their ends are told in the next round.
        await asyncio.sleep(0)

    def base_url(self, upstream: Upstream) -> str:
        """What a client is given in place of the provider's own base URL."""
        name = upstream.name if self.named else self.word
        return f"http://{HOST}:{self.port}{name and '/'}{name}{upstream.path}"

    def _made(self) -> Connection:
        wants = self.gate.wants if self.gate is not None else None
        route = Route(self.upstreams, self.tell, self.name, named=self.named, word=self.word, wants=wants)
        return Connection(route, self.gate, self.clock, self._connections, self._guarded)
