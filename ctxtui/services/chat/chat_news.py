"""What a chat's host tells whoever shows it, and what it asks: words that pass between the two."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from ctxtui.agent import progress
from ctxtui.agent.conversation import Draft
from ctxtui.core.session import MAIN, Event
from ctxtui.services.chat.chat_model import ChatModel


class ChatNews(Struct, frozen=True):
    """Something happened: a `moment` of the turn (None: something else), and what of it is new in the session. Where it
    has a `partner`, the chat will talk to that one; the line to it is not open yet. `thread` is the line of context in
    which it happened: a sub-agent's, or the main one."""

    moment: progress.Moment | None
    events: tuple[Event, ...] = ()
    partner: ChatModel | None = None
    thread: str = MAIN


TOLD: Final = "told"
"""The kind of what a tool tells the user: it is not put on record."""
Tell = Callable[[ChatNews], None]
Judge = Callable[["Draft"], Awaitable[str]]
"""Says why a drafted request is to be held ("": it may go)."""


async def no_rule(_: Draft) -> str:
    """Holds nothing."""
    return ""
