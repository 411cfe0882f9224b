"""Sends ctxtui's own request like a client's (to keep a cache warm), so that it is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from ctxtui.attach.connection import Connection
from ctxtui.attach.exchange_events import AnswerBegun, ExchangeEnded, ExchangeEvent, RequestBegun
from ctxtui.attach.route import Route
from ctxtui.attach.upstream import Upstream

_OWN_FIELDS: Final = frozenset(
    ("content-length", "transfer-encoding", "content-encoding", "connection", "expect", "idempotency-key")
)
"""Headers that belong to one body, one connection or one request."""


class _NoClient(asyncio.Transport):
    """A client's end of a connection, which discards the answer."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._protocol = protocol
        self._is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        """Not 0, so that a broken connection is closed rather than reset: there is no socket."""
        return 1

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    abort = close


async def send_like(
    begun: RequestBegun,
    body: bytes,
    session: str,
    record: Callable[[ExchangeEvent], None],
    name: Callable[[], str],
    clock: Callable[[], float],
) -> int:
    """Send `body` like the request `begun`.

    Return the answer's status, 0 if there is no complete answer. The request is recorded in `session`, as one that
    keeps a cache warm.
    """
    status = 0
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def record_own(event: ExchangeEvent) -> None:
        nonlocal status
        record(replace(event, session=session, keep_warm=True) if isinstance(event, RequestBegun) else event)
        if isinstance(event, AnswerBegun):
            status = event.status
        elif isinstance(event, ExchangeEnded) and not ended.done():
            status = 0 if event.error else status
            ended.set_result(None)

    scheme, _, rest = begun.url.partition("://")
    host, _, target = rest.partition("/")
    route = Route([Upstream("keep-warm", f"{scheme}://{host}")], record_own, name, allows_foreign=True)
    connection = Connection(route, None, clock, set(), guarded=False)
    connection.connection_made(_NoClient(connection))
    fields = [f"{key}: {value}" for key, value in begun.fields if key.lower() not in _OWN_FIELDS]
    head = "\r\n".join([f"{begun.method} /{target} HTTP/1.1", *fields, f"content-length: {len(body)}", "", ""])
    try:
        connection.data_received(head.encode("latin-1") + body)
        await ended
    finally:
        connection.abort()
    return status
