"""A client's connection and the provider's, on an event loop.

Bytes that are not held are passed on in the callback in which they arrive.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from ctxtui.attach.exchange import fault_record
from ctxtui.attach.gate import AnswerVerdict, DecideAnswer, Gate, RequestVerdict, WaitingAnswer, WaitingRequest
from ctxtui.attach.outgoing import CONNECT_TIMEOUT_S, connect
from ctxtui.attach.passage import Passage
from ctxtui.attach.peer import is_allowed, user_of
from ctxtui.attach.route import Route
from ctxtui.attach.upstream import Upstream
from ctxtui.wire.bounds import MAX_UNSENT_BYTES


class ProviderConnection(asyncio.Protocol):
    """The connection to a provider; `user` is the client's connection that it serves."""

    def __init__(self, upstream: Upstream, user: Connection) -> None:
        self.upstream = upstream
        self.transport: asyncio.Transport | None = None
        self.user = user

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(MAX_UNSENT_BYTES)

    def data_received(self, data: bytes) -> None:
        self.user.provider_data(data)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.user.provider_lost(self, exc is not None)

    def pause_writing(self) -> None:
        self.user.hold_back(True)

    def resume_writing(self) -> None:
        self.user.hold_back(False)

    def send(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def pause(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def resume(self) -> None:
        with suppress(RuntimeError):
            if self.transport is not None and not self.transport.is_closing():
                self.transport.resume_reading()


_CHECK_INTERVAL_S: Final = 1.0
"""Seconds between checks whether a client that ended its half still waits for its answer."""


class Connection(asyncio.Protocol):
    """A client's connection, and that to its provider; does what its `Passage` decides.

    `guarded`: the system can identify the client's user, and only programs of ctxtui's user and of root are served.
    """

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
        self._task: asyncio.Task[None] | None = None
        self._check_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._client = cast(asyncio.Transport, transport)
        self._client.set_write_buffer_limits(MAX_UNSENT_BYTES)
        self._connections.add(self)
        if self._guarded and not is_allowed(user := user_of(transport.get_extra_info("socket"))):
            self._passage.refused = f"only programs of user {os.getuid()} are served, not those of user {user}"

    def data_received(self, data: bytes) -> None:
        self._passage.client_data(data, self._clock())
        if self._passage.is_full:
            self._set_paused(True)

    def eof_received(self) -> bool:
        self._passage.client_ended(self._clock(), gone=not self._is_open())
        self._schedule_check()
        return True

    def _is_open(self) -> bool:
        """Whether the client still has its end open; False if the system cannot say."""
        return self._client is not None and self._guarded and user_of(self._client.get_extra_info("socket")) is not None

    def _schedule_check(self) -> None:
        self._check_timer = asyncio.get_running_loop().call_later(_CHECK_INTERVAL_S, self._check_client)

    def _check_client(self) -> None:
        # No event reports that a client disconnects after it ended its half.
        if self._is_open():
            self._schedule_check()
        else:
            self._passage.client_lost(self._clock())

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._passage.client_lost(self._clock())
        self._stop_waiting()
        self.abort_provider()
        if self._check_timer is not None:
            self._check_timer.cancel()

    def pause_writing(self) -> None:
        if self._provider is not None:
            self._provider.pause()

    def resume_writing(self) -> None:
        if self._provider is not None:
            self._provider.resume()

    def to_client(self, data: bytes) -> None:
        assert self._client is not None
        self._client.write(data)

    def to_provider(self, data: bytes) -> None:
        if self._provider is not None:
            self._provider.send(data)

    def abort_provider(self) -> None:
        if self._provider is not None:
            provider, self._provider = self._provider, None
            provider.abort()

    def open(self, upstream: Upstream) -> None:
        """Connect to a provider, or keep the connection to it, and report that to the passage."""
        provider = self._provider
        if provider is not None and provider.upstream is upstream:
            self._passage.connected(self._clock())
            return
        self._close_provider()
        self._start_task(self._open(upstream))

    def ask(self, waiting: WaitingRequest) -> None:
        assert self._gate is not None
        self._start_task(self._ask(self._gate, waiting))

    def ask_about_answer(self, decide: DecideAnswer, waiting: WaitingAnswer) -> None:
        self._start_task(self._ask_about_answer(decide, waiting))

    def end(self, abort: bool = False) -> None:
        """Close both connections after sending what is buffered; `abort`: the provider's at once."""
        if self._provider is not None:
            if abort:
                self._provider.abort()
            else:
                self._close_provider()
        if self._client is not None:
            self._client.close()

    def break_off(self) -> None:
        """Reset the client's connection, as an answer may not show that it is cut off.

        If bytes are still to be sent, it is closed after them instead, as a reset would discard them.
        """
        client = self._client
        if client is None:
            return
        if client.get_write_buffer_size():
            client.close()
            return
        # Without lingering, the system sends a reset.
        client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.abort()

    def abort(self) -> None:
        """Close both connections at once; the exchange ends as unfinished."""
        self._passage.close(self._clock())
        self._stop_waiting()
        self.abort_provider()
        if self._client is not None:
            self._client.abort()

    def provider_data(self, data: bytes) -> None:
        self._passage.provider_data(data, self._clock())

    def provider_lost(self, provider: ProviderConnection, broken: bool) -> None:
        """Handle the end of a provider's connection; `broken`: it was not closed properly."""
        if provider is self._provider:
            self._provider = None
            self._passage.provider_ended(self._clock(), broken)

    def hold_back(self, paused: bool) -> None:
        """Pause reading from the client, or resume it unless the passage is full."""
        self._set_paused(paused or self._passage.is_full)

    def _set_paused(self, paused: bool) -> None:
        if self._client is not None and not self._client.is_closing():
            if paused:
                self._client.pause_reading()
            else:
                self._client.resume_reading()

    def _start_task(self, work: Any) -> None:
        self._task = asyncio.get_running_loop().create_task(work)

    def _stop_waiting(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _close_provider(self) -> None:
        if self._provider is not None:
            provider, self._provider = self._provider, None
            provider.close()

    async def _open(self, upstream: Upstream) -> None:
        provider = ProviderConnection(upstream, self)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await connect(upstream, lambda: provider)
        except (OSError, ValueError) as error:
            self._passage.not_connected(_error_text(error), self._clock())
        else:
            self._provider = provider
            self._passage.connected(self._clock())
        self.hold_back(False)

    async def _ask(self, gate: Gate, waiting: WaitingRequest) -> None:
        try:
            verdict = await gate.decide(waiting)
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must not stop a request
            verdict = RequestVerdict(report=fault_record(error))
        self._passage.decided(verdict, self._clock())
        self.hold_back(False)

    async def _ask_about_answer(self, decide: DecideAnswer, waiting: WaitingAnswer) -> None:
        try:
            verdict = await decide(waiting)
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must not stop an answer
            verdict = AnswerVerdict(report=fault_record(error))
        self._passage.answer_decided(verdict, self._clock())
        self.hold_back(False)


def _error_text(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not error.args:
        return f"no connection within {CONNECT_TIMEOUT_S:g} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
