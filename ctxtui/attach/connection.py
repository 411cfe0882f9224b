"""A client's connection and the one to its provider, as an event loop has them: bytes go by in the callback in which
they come, so that nothing is waited for in between."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from ctxtui.attach.gate import Gate, WaitingRequest
from ctxtui.attach.outgoing import CONNECT, connect
from ctxtui.attach.passage import Passage
from ctxtui.attach.peer import is_let_in, user_of
from ctxtui.attach.route import Route
from ctxtui.attach.upstream import Upstream
from ctxtui.wire.bounds import MAX_UNSENT


class ProviderConnection(asyncio.Protocol):
    """The connection to a provider, for its `user`."""

    def __init__(self, upstream: Upstream, user: Connection) -> None:
        self.upstream = upstream
        self.transport: asyncio.Transport | None = None
        self.user = user

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(MAX_UNSENT)

    def data_received(self, data: bytes) -> None:
        """It says something."""
        self.user.provider_data(data)

    def eof_received(self) -> bool:
        """It says nothing more, and is closed."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """It is at its end."""
        self.user.provider_lost(self, exc is not None)

    def pause_writing(self) -> None:
        """It takes no more for now."""
        self.user.hold_back(True)

    def resume_writing(self) -> None:
        """It takes more again."""
        self.user.hold_back(False)

    def say(self, data: bytes) -> None:
        """Pass bytes on to it."""
        if self.transport is not None:
            self.transport.write(data)

    def close(self) -> None:
        """End it, once what was passed on has left."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """End it at once."""
        if self.transport is not None:
            self.transport.abort()

    def pause(self) -> None:
        """Let the provider wait."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def resume(self) -> None:
        """Hear the provider again."""
        with suppress(RuntimeError):
            if self.transport is not None and not self.transport.is_closing():
                self.transport.resume_reading()


_LOOK: Final = 1.0
"""Seconds between looks whether a client that says nothing more still waits for its answer."""


class Connection(asyncio.Protocol):
    """A client's connection, and what its passage asks to be done. With `guarded` the system tells whose it is, and the
    user's own programs alone are served."""

    def __init__(
        self,
        route: Route,
        gate: Gate | None,
        clock: Callable[[], float],
        connections: set[Connection],
        guarded: bool,
    ) -> None:
        self._gate = gate
        self._clock = clock
        self._connections = connections
        self._guarded = guarded
        self._passage = Passage(route, self)
        self._client: asyncio.Transport | None = None
        self._provider: ProviderConnection | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The client is there."""
        self._client = cast(asyncio.Transport, transport)
        self._client.set_write_buffer_limits(MAX_UNSENT)
        self._connections.add(self)
        if self._guarded and not is_let_in(user := user_of(transport.get_extra_info("socket"))):
            self._passage.refused = f"programs of user {os.getuid()} are served here, and this is one of user {user}"

    def data_received(self, data: bytes) -> None:
        """The client said something."""
        self._passage.client_data(data, self._clock())
        self._hold_back()

    def eof_received(self) -> bool:
        """The client says nothing more; what is for it still goes."""
        self._passage.client_ended(self._clock(), gone=not self._is_open())
        self._look_later()
        return True

    def _is_open(self) -> bool:
        """Whether the client still has its end of the connection open, where the system tells it."""
        return self._client is not None and self._guarded and user_of(self._client.get_extra_info("socket")) is not None

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(_LOOK, self._look)

    def _look(self) -> None:
        # Nothing tells us when a client goes that has ended its half before.
        if self._is_open():
            self._look_later()
        else:
            self._passage.client_lost(self._clock())

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._connections.discard(self)
        self._passage.client_lost(self._clock())
        self._stop_waiting()
        self._drop()
        if self._looking is not None:
            self._looking.cancel()

    def pause_writing(self) -> None:
        """The client takes no more for now."""
        if self._provider is not None:
            self._provider.pause()

    def resume_writing(self) -> None:
        """The client takes more again."""
        if self._provider is not None:
            self._provider.resume()

    def to_client(self, data: bytes) -> None:
        """Pass bytes on to the client."""
        assert self._client is not None
        self._client.write(data)

    def to_provider(self, data: bytes) -> None:
        """Pass bytes on to the provider."""
        if self._provider is not None:
            self._provider.say(data)

    def open(self, upstream: Upstream) -> None:
        """Connect to a provider, or keep the connection to it."""
        known = self._provider
        if known is not None and known.upstream is upstream:
            self._passage.connected(self._clock())
            return
        self._part()
        self._wait(self._open(upstream))

    def ask(self, waiting: WaitingRequest) -> None:
        """Ask the gate about a request."""
        assert self._gate is not None
        self._wait(self._ask(self._gate, waiting))

    def end(self, abort: bool = False) -> None:
        """Close both connections, once what was passed on has left; with `abort` the provider's at once."""
        if self._provider is not None:
            if abort:
                self._provider.abort()
            else:
                self._part()
        if self._client is not None:
            self._client.close()

    def break_off(self) -> None:
        """Have the client see that the provider's connection broke: not every answer says by itself that it is cut."""
        client = self._client
        if client is None:
            return
        if client.get_write_buffer_size():
            client.close()
            return
        client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.abort()

    def abort(self) -> None:
        """End at once: ctxtui ends."""
        self._passage.close(self._clock())
        self._stop_waiting()
        self._drop()
        if self._client is not None:
            self._client.abort()

    def provider_data(self, data: bytes) -> None:
        """The provider said something."""
        self._passage.provider_data(data, self._clock())

    def provider_lost(self, provider: ProviderConnection, broken: bool) -> None:
        """The provider's connection is at its end, or was `broken`."""
        if provider is self._provider:
            self._provider = None
            self._passage.provider_ended(self._clock(), broken)

    def hold_back(self, paused: bool) -> None:
        """The provider takes no more for now, or takes more again."""
        self._paused(paused or self._passage.full)

    def _hold_back(self) -> None:
        if self._passage.full:
            self._paused(True)

    def _paused(self, paused: bool) -> None:
        if self._client is not None and not self._client.is_closing():
            if paused:
                self._client.pause_reading()
            else:
                self._client.resume_reading()

    def _wait(self, work: Any) -> None:
        self._waiting = asyncio.get_running_loop().create_task(work)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()

    def _drop(self) -> None:
        if self._provider is not None:
            provider, self._provider = self._provider, None
            provider.abort()

    def _part(self) -> None:
        """The provider's connection is of no more use."""
        if self._provider is not None:
            provider, self._provider = self._provider, None
            provider.close()

    async def _open(self, upstream: Upstream) -> None:
        provider = ProviderConnection(upstream, self)
        try:
            async with asyncio.timeout(CONNECT):
                await connect(upstream, lambda: provider)
        except (OSError, TimeoutError) as error:
            self._passage.not_connected(_words(error), self._clock())
        else:
            self._provider = provider
            self._passage.connected(self._clock())
        self.hold_back(False)

    async def _ask(self, gate: Gate, waiting: WaitingRequest) -> None:
        try:
            verdict = await gate.decide(waiting)
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must not stop a request
            self._passage.undecided(error, self._clock())
        else:
            self._passage.decided(verdict, self._clock())
        self.hold_back(False)


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not error.args:
        return f"no connection within {CONNECT:g} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
