"""The embedded offline provider of a chat without a key: started on loopback, ended with the chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from ctxtui.runtime.partner import Partner


async def start(partner: Partner) -> tuple[Partner, Callable[[], Awaitable[None]]]:
    """The partner at the address where the provider listens now, and what ends it."""
    # Imported here: a chat with a real provider needs none of it.
    from ctxtui.offline import serving

    stack = AsyncExitStack()
    running = await stack.enter_async_context(serving())
    endpoint = replace(partner.endpoint, base_url=running.url)
    return replace(partner, endpoint=endpoint), stack.aclose
