"""A connection to a provider. It belongs to one connection of a client, and ends with it: whatever a provider makes of
what it is told, no answer reaches another client."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from ctxtui.attach.upstream import Upstream
from ctxtui.wire.bounds import MAX_UNSENT

if TYPE_CHECKING:
    from ctxtui.attach.connection import Connection


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
