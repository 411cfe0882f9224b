"""Messages between a chat's host and its screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from ctxtui.agent import progress
from ctxtui.agent.conversation import Draft
from ctxtui.core.session import MAIN, Event
from ctxtui.services.chat.chat_model import ChatModel


class ChatNews(Struct, frozen=True):
    """News of a chat: a progress event (`moment`) of a thread's turn, with new session `events`.

    `chat_model` is set once, when the model is chosen and not connected yet.
    """

    moment: progress.ProgressEvent | None
    events: tuple[Event, ...] = ()
    chat_model: ChatModel | None = None
    thread: str = MAIN


TOOL_MESSAGE: Final = "told"
"""The kind of a `moment` that is only a message to the user and is not recorded."""
Tell = Callable[[ChatNews], None]
Judge = Callable[[Draft], Awaitable[str]]
"""Returns the reason to hold a drafted request ("": send it)."""


async def no_rule(_: Draft) -> str:
    return ""
