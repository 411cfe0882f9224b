"""Connections to providers, and those of them that nobody uses for a moment: the next client takes one of them, as it
would go on with its own."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, cast

from ctxtui.attach.upstream import Upstream
from ctxtui.dataclasses import dataclass, field

MOST_UNSENT: Final = 1 << 16
"""Bytes that wait for a slow end before the other one is asked to wait."""
_SPARE: Final = 4.0
"""Seconds for which a connection is kept that nobody uses: usual servers keep it for five and more."""
_MARGIN: Final = 1.0
"""Seconds before a server's own time in which it is not used any more: no request may meet its end."""
_MOST: Final = 8
"""Connections to one provider that are kept so."""


class ProviderUser(Protocol):
    """Who has a provider's connection."""

    def provider_data(self, data: bytes) -> None:
        """The provider said something."""

    def provider_lost(self, provider: ProviderConnection, broken: bool) -> None:
        """Its connection is at its end, or was `broken`."""

    def hold_back(self, paused: bool) -> None:
        """It takes no more for now, or takes more again."""


class ProviderConnection(asyncio.Protocol):
    """The connection to a provider, for its `user`; None while it is a spare one."""

    def __init__(self, upstream: Upstream, user: ProviderUser | None) -> None:
        self.upstream = upstream
        self.transport: asyncio.Transport | None = None
        self.user = user
        self.over: Callable[[], None] | None = None
        """Called when a spare one is of no more use."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(MOST_UNSENT)

    def data_received(self, data: bytes) -> None:
        """It says something; what nobody asked for is of no use to anybody."""
        if self.user is not None:
            self.user.provider_data(data)
        else:
            self.abort()

    def eof_received(self) -> bool:
        """It says nothing more, and is closed."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """It is at its end."""
        if self.user is not None:
            self.user.provider_lost(self, exc is not None)
        elif self.over is not None:
            self.over()

    def pause_writing(self) -> None:
        """It takes no more for now."""
        if self.user is not None:
            self.user.hold_back(True)

    def resume_writing(self) -> None:
        """It takes more again."""
        if self.user is not None:
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

    @property
    def is_quiet(self) -> bool:
        """Whether it is open, all that was passed on has left, and nothing has come that nobody has read."""
        one = self.transport
        if one is None or one.is_closing() or one.get_write_buffer_size():
            return False
        # An end that has come and was not told yet is seen here as well.
        look = select.poll()
        look.register(one.get_extra_info("socket").fileno(), select.POLLIN)
        return not look.poll(0)


@dataclass(slots=True)
class SpareConnections:
    """Connections that are open and that nobody uses, for `seconds` each at most."""

    seconds: float = _SPARE
    _spare: dict[Upstream, list[tuple[ProviderConnection, asyncio.TimerHandle]]] = field(default_factory=dict)

    def take(self, upstream: Upstream, user: ProviderUser) -> ProviderConnection | None:
        """The one that was used last, from now on the user's; None where there is none."""
        kept = self._spare.get(upstream)
        while kept:
            found, timer = kept.pop()
            timer.cancel()
            found.over = None
            if found.is_quiet:
                found.user = user
                return found
            found.abort()
        return None

    def keep(self, provider: ProviderConnection, told: float) -> None:
        """One that nobody uses any more, and that its server keeps for the seconds that it `told`."""
        kept = self._spare.setdefault(provider.upstream, [])
        provider.user = None
        provider.resume()
        seconds = min(self.seconds, told - _MARGIN)
        if seconds <= 0 or not provider.is_quiet or len(kept) >= _MOST:
            provider.close()
            return
        timer = asyncio.get_running_loop().call_later(seconds, provider.close)
        entry = (provider, timer)
        kept.append(entry)

        def over() -> None:
            timer.cancel()
            with suppress(ValueError):
                kept.remove(entry)

        provider.over = over

    def close(self) -> None:
        """End them all."""
        for kept in self._spare.values():
            for provider, timer in kept:
                timer.cancel()
                provider.over = None
                provider.abort()
            kept.clear()
