"""Wishes that travel upward: from a widget to its screen, from a screen to the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from textual.message import Message
from textual.screen import Screen

from ctxtui.core.errors import CtxtuiError

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit


class Aim(Struct, frozen=True):
    """Where to stand in a session that is opened: the block `digest`, which call `call` (from 1; None: none yet) of
    `thread` first has, with the hits of `words` marked."""

    thread: str
    call: int | None
    digest: str
    words: str
    regex: bool = False


class Wish(Message):
    """Asks for another screen over the one that it is `made_on`. Void once such a screen is there: of a burst of keys
    the first opens one."""

    made_on: Screen[Any] | None = None

    def on(self, screen: Screen[Any]) -> Self:
        """The same wish, made on `screen`."""
        self.made_on = screen
        return self


class Open(Wish):
    """Open a session: `target` is a path or the id of a stored session. `note` is said of it when it is there."""

    def __init__(self, target: str, aim: Aim | None = None, note: str = "") -> None:
        self.target = target
        self.aim = aim
        self.note = note
        super().__init__()


class TalkFrom(Wish):
    """Go on from call `number` (0: the end) of `thread` in the session `target` (a path or a stored id), under
    `edits`, which the new chat has from the first request on."""

    def __init__(self, target: str, thread: str, number: int, edits: Sequence[Edit] = ()) -> None:
        self.target = target
        self.edits = edits
        self.thread = thread
        self.number = number
        super().__init__()


class Opened(Message):
    """A session is open on `screen` and can be looked at."""

    def __init__(self, screen: Screen[Any]) -> None:
        self.screen = screen
        super().__init__()


class GoHome(Message):
    """Leave this screen for the list of sessions."""


class Refused(Message):
    """What this screen was to show cannot be opened, and there is nothing else on it."""

    def __init__(self, error: CtxtuiError) -> None:
        self.error = error
        super().__init__()


class TerminalGone(Message):
    """There is no terminal any more: nobody looks, and nobody types."""
