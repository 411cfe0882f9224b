"""A proxy for one program that uses ``HTTPS_PROXY``.

It terminates TLS for its providers (host and port), passes their requests on and records model calls; any other
address is tunnelled untouched.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import os
import re
import secrets
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, cast

from msgspec import Struct, field

from ctxtui.attach import http1
from ctxtui.attach.connection import Connection
from ctxtui.attach.exchange_events import ExchangeEvent
from ctxtui.attach.gate import Gate
from ctxtui.attach.http1 import Head, build_error_answer
from ctxtui.attach.local_ca import LocalAuthority
from ctxtui.attach.outgoing import CONNECT_TIMEOUT_S, connect_raw
from ctxtui.attach.relay import HOST
from ctxtui.attach.route import Route
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig, Malformed
from ctxtui.wire.bounds import MAX_UNSENT_BYTES

_OPEN: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_USER: Final = "ctxtui"
_PORT: Final = re.compile("[0-9]{1,5}")


class ForwardProxy(Struct):
    """Serves clients on loopback that know its password.

    `env` are environment variables, which may name a proxy for outgoing connections; `tell` and `name` as in `Route`.
    `troubles`: messages about failed TLS with the program, one per host and reason.
    """

    upstreams: Sequence[Upstream]
    tell: Callable[[ExchangeEvent], None]
    name: Callable[[], str]
    authority: LocalAuthority
    gate: Gate | None = None
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Callable[[], float] = time.time
    password: str = field(default_factory=lambda: secrets.token_hex(16))
    port: int = 0
    troubles: list[str] = field(default_factory=list)
    connections: set[Connection] = field(default_factory=set)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(lambda: _Visitor(self), HOST, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.sleep(0)

    @property
    def url(self) -> str:
        """The proxy URL for the program."""
        return f"http://{_USER}:{self.password}@{HOST}:{self.port}"

    def is_authorized(self, head: Head) -> bool:
        kind, _, given_credentials = head.get("proxy-authorization").partition(" ")
        credentials = base64.b64encode(f"{_USER}:{self.password}".encode())
        return kind.lower() == "basic" and hmac.compare_digest(given_credentials.strip().encode(), credentials)

    def answer_connect(self, transport: asyncio.Transport, host: str, port: int) -> None:
        """Answer a CONNECT: intercept a provider's address, tunnel any other."""
        matches = (candidate.at(host, port) for candidate in self.upstreams)
        upstream = next((match for match in matches if match is not None), None)
        work = self._intercept(transport, upstream) if upstream is not None else self._tunnel(transport, host, port)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _intercept(self, transport: asyncio.Transport, upstream: Upstream) -> None:
        wants = self.gate.wants if self.gate is not None else None
        route = Route([upstream], self.tell, self.name, wants=wants, allows_foreign=True, records_everything=False)
        # Without a check of the client's user: the password has identified the program.
        connection = _SecuredConnection(route, self.gate, self.clock, self.connections, guarded=False)
        context = self.authority.context(upstream.host)
        transport.write(_OPEN)
        secured = None
        # Other errors: the program went away.
        with suppress(OSError):
            try:
                secured = await asyncio.get_running_loop().start_tls(transport, connection, context, server_side=True)
            except ssl.SSLError as error:
                self._add_trouble(upstream.host, error.reason)
        if secured is None:
            transport.abort()
            return
        connection.connection_made(secured)

    def _add_trouble(self, host: str, reason: str) -> None:
        trouble = f"TLS with the program failed for {host} ({reason}); it may not trust the certificate of --forward"
        if trouble not in self.troubles:
            self.troubles.append(trouble)

    async def _tunnel(self, transport: asyncio.Transport, host: str, port: int) -> None:
        near, far = _Pipe(), _Pipe()
        near.other, far.other = far, near
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await connect_raw(host, port, lambda: far, self.env)
        except (OSError, ValueError, BadConfig) as error:
            why = getattr(error, "strerror", None) or str(error) or "it took too long"
            transport.write(build_error_answer(502, f"{host}:{port} cannot be reached: {why}"))
            transport.close()
            return
        transport.write(_OPEN)
        transport.set_protocol(near)
        near.connection_made(transport)
        transport.resume_reading()


class _Visitor(asyncio.Protocol):
    """The program's connection until its CONNECT request."""

    def __init__(self, proxy: ForwardProxy) -> None:
        self._proxy = proxy
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._buffer += data
        try:
            parsed = http1.next_head(self._buffer)
            if parsed is None:
                return
            self._transport.pause_reading()
            head, rest = parsed
            request = http1.request_line(head)
        except Malformed as error:
            self._refuse(400, str(error))
            return
        if not self._proxy.is_authorized(head):
            self._refuse(407, "this proxy serves one program, which knows its password")
            return
        host, _, port = request.target.rpartition(":")
        if request.method != "CONNECT" or not host or not _is_port(port) or rest:
            self._refuse(400, "this proxy only accepts CONNECT HOST:PORT, with nothing sent before its answer")
            return
        self._proxy.answer_connect(self._transport, host.strip("[]"), int(port))

    def _refuse(self, status: int, why: str) -> None:
        assert self._transport is not None
        self._transport.write(build_error_answer(status, why))
        self._transport.close()


def _is_port(text: str) -> bool:
    return _PORT.fullmatch(text) is not None and 0 < int(text) < 65536


class _SecuredConnection(Connection):
    """A client's connection over TLS, which cannot be half open."""

    def eof_received(self) -> bool:
        return False


class _Pipe(asyncio.Protocol):
    """One end of a tunnel: its data goes to the `other` end."""

    other: _Pipe

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(MAX_UNSENT_BYTES)
        for data in self._early:
            self._transport.write(data)
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        self.other.write(data)

    def write(self, data: bytes) -> None:
        if self._transport is None:
            self._early.append(data)
        else:
            self._transport.write(data)

    def eof_received(self) -> bool:
        self._ended = True
        if self.other._transport is None or self.other._ended:
            return False
        with suppress(OSError, RuntimeError):
            self.other._transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other._transport is not None:
            self.other._transport.close()

    def pause_writing(self) -> None:
        if self.other._transport is not None:
            with suppress(RuntimeError):
                self.other._transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other._transport is not None:
            with suppress(RuntimeError):
                self.other._transport.resume_reading()
