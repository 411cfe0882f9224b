"""The embedded offline provider of a chat without a key: started on loopback, ended with the chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ctxtui.core.errors import NotFound
from ctxtui.runtime.partner import Partner


async def start(partner: Partner) -> tuple[Partner, Callable[[], Awaitable[None]]]:
    """The partner at the address where the provider listens now, and what ends it."""
    raise NotFound(f"no provider for {partner.model}", way_out="set ANTHROPIC_API_KEY or start a local server")
