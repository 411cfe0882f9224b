"""The embedded offline provider of a chat without a key: started on loopback, ended with the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from ctxtui.core.errors import ProviderError
from ctxtui.runtime.apart import Child, ChildGone
from ctxtui.runtime.partner import Partner

PACE: Final = 300.0
"""Tokens a second: as quick as a model is, so that a chat can be watched and interrupted."""


async def start(partner: Partner) -> tuple[Partner, Callable[[], Awaitable[None]]]:
    """The partner at the address where the provider listens now, and what ends it. Raises `ProviderError`.

    It runs in a process of its own: its tokenizer would stop the screen for a moment.
    """
    child = Child("ctxtui.offline.child:starter")
    try:
        url = await asyncio.to_thread(child.ask, PACE)
    except ChildGone as error:
        raise ProviderError(f"the offline provider could not be started: {error}") from error

    async def end() -> None:
        await asyncio.to_thread(child.close)

    return replace(partner, endpoint=replace(partner.endpoint, base_url=url)), end
