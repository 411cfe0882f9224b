"""The offline provider of a chat without a key: started on loopback, ended with the chat; it can play a recording."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec.structs import replace

from ctxtui.core.call import answer_items
from ctxtui.core.errors import ProviderError
from ctxtui.core.session import MAIN, Session
from ctxtui.offline.playback import Playback
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.child_process import ChildGone, ChildProcess

PACE: Final = 300.0
"""Tokens a second: as quick as a model is, so that a chat can be watched and interrupted."""


async def start(partner: ChatModel) -> tuple[ChatModel, Callable[[], Awaitable[None]]]:
    """The partner at the address where the provider listens now, and what ends it. Raises `ProviderError`.

    It runs in a process of its own: its tokenizer would stop the screen for a moment.
    """
    child = ChildProcess("ctxtui.offline.http.hosting:starter")
    try:
        url = await asyncio.to_thread(child.ask, PACE)
    except ChildGone as error:
        raise ProviderError(f"the offline provider could not be started: {error}") from error

    async def end() -> None:
        await asyncio.to_thread(child.close)

    return replace(partner, endpoint=dataclasses.replace(partner.endpoint, base_url=url)), end


def playback_of(session: Session, thread: str = MAIN) -> Playback:
    """The answers of `thread`, call by call; a call whose answer was not recorded is left out."""
    tree = session.tree
    return Playback(
        [
            (tree.items(call.sent_head), said, call.stop_reason)
            for call in session.thread_calls(thread)
            if (said := answer_items(tree, call))
        ]
    )
