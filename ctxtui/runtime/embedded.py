"""The embedded offline provider of a chat without a key: started on loopback, ended with the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from ctxtui.runtime.partner import Partner

PACE: Final = 300.0
"""Tokens a second: as quick as a model is, so that a chat can be watched and interrupted."""


async def start(partner: Partner) -> tuple[Partner, Callable[[], Awaitable[None]]]:
    """The partner at the address where the provider listens now, and what ends it."""
    # Imported here: a chat with a real provider needs none of it.
    from ctxtui.offline import Server, offline

    stack = ExitStack()
    # In a thread and event loop of its own: the screen's is not kept waiting.
    running = await asyncio.to_thread(stack.enter_context, offline(Server(pace=PACE)))
    endpoint = replace(partner.endpoint, base_url=running.url)
    return replace(partner, endpoint=endpoint), lambda: asyncio.to_thread(stack.close)
