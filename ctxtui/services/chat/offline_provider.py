"""The offline provider of a chat without a key, and the answers that `ctxtui offline` plays."""

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

TOKENS_PER_SECOND: Final = 300.0
"""Tokens per second, similar to a model, so that a chat can be watched and interrupted."""


async def start_offline(chat_model: ChatModel) -> tuple[ChatModel, Callable[[], Awaitable[None]]]:
    """Start the offline provider in a child process.

    Return the model with its address, and a function that stops it. Raises `ProviderError`.
    """
    child = ChildProcess("ctxtui.offline.http.hosting:starter")
    try:
        url = await asyncio.to_thread(child.ask, TOKENS_PER_SECOND)
    except ChildGone as error:
        raise ProviderError(f"the offline provider could not be started: {error}") from error

    async def end() -> None:
        await asyncio.to_thread(child.close)

    return replace(chat_model, endpoint=dataclasses.replace(chat_model.endpoint, base_url=url)), end


def build_playback(session: Session, thread: str = MAIN) -> Playback:
    """The recorded answers of `thread`, call by call; calls without an answer are left out."""
    tree = session.tree
    return Playback(
        [
            (tree.items(call.sent_head), answer, call.stop_reason)
            for call in session.thread_calls(thread)
            if (answer := answer_items(tree, call))
        ]
    )
