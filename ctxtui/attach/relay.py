"""Passes a client's bytes to its provider and the answer back, and reports them.

A relay is an HTTP server on this machine that a program uses in place of its provider. In a request's head only the
host and the path change (`route`); all else is passed on as received, unless a gate decides otherwise. `passage`
parses, `connection` holds the connections.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.attach.connection import Connection
from ctxtui.attach.exchange_events import ExchangeEvent
from ctxtui.attach.gate import Gate
from ctxtui.attach.peer import can_identify_peers
from ctxtui.attach.route import Route
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig

SWITCH_INTERVAL: Final = 0.00005
"""Seconds that another thread may block the relay's event loop (`sys.setswitchinterval`)."""
HOST: Final = "127.0.0.1"


class Relay(Struct):
    """Serves the user's programs on loopback.

    `tell` must not wait or raise; `named` and `name` are as in `Route`. If the system cannot identify a connection's
    user, a relay of one provider serves clients that know the secret `word` in its base URL; a relay of several serves
    everyone on the machine.
    """

    upstreams: Sequence[Upstream]
    tell: Callable[[ExchangeEvent], None]
    name: Callable[[], str]
    named: bool = False
    gate: Gate | None = None
    clock: Callable[[], float] = time.time
    port: int = 0
    word: str = ""
    _guarded: bool = field(default_factory=can_identify_peers)
    _server: asyncio.Server | None = None
    _connections: set[Connection] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not (self._guarded or self.named):
            self.word = secrets.token_urlsafe(16)

    async def start(self, port: int = 0) -> None:
        """Begin to serve on `port` (0: any free one). Raises `BadConfig` if it cannot be opened."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._make_connection, HOST, port)
        except OSError as error:
            raise BadConfig(f"port {port} cannot be opened: {error.strerror}", way_out="name another --port") from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.abort()
        # Their ends are reported in the next round.
        await asyncio.sleep(0)

    def base_url(self, upstream: Upstream) -> str:
        """The base URL for a client, instead of that of `upstream`."""
        name = upstream.name if self.named else self.word
        return f"http://{HOST}:{self.port}{name and '/'}{name}{upstream.path}"

    def _make_connection(self) -> Connection:
        wants = self.gate.wants if self.gate is not None else None
        route = Route(self.upstreams, self.tell, self.name, named=self.named, word=self.word, wants=wants)
        return Connection(route, self.gate, self.clock, self._connections, self._guarded)
