"""Messages that request something of the screen or the app."""

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
    """Cursor position in a session that is opened: a block that a search found.

    `call` (from 1) is the first call of `thread` that has the block `digest`; None: no call has it yet. Hits of
    `words`, a regular expression if `regex`, are marked.
    """

    thread: str
    call: int | None
    digest: str
    words: str
    regex: bool = False


class OpenRequest(Message):
    """Request to open another screen over `sender_screen`.

    It is ignored once such a screen is open: of a burst of keys only the first one opens a screen.
    """

    sender_screen: Screen[Any] | None = None

    def sent_from(self, screen: Screen[Any]) -> Self:
        self.sender_screen = screen
        return self


class Open(OpenRequest):
    """Open a session: `target` is a path or the id of a stored session.

    `note` is shown once it is open.
    """

    def __init__(self, target: str, aim: Aim | None = None, note: str = "") -> None:
        self.target = target
        self.aim = aim
        self.note = note
        super().__init__()


class TalkFrom(OpenRequest):
    """Continue in a chat from call `number` (0: the end) of `thread` in a session.

    `target` is the session's path or stored id. `edits` are applied unless the chat has edits already.
    """

    def __init__(self, target: str, thread: str, number: int, edits: Sequence[Edit] = ()) -> None:
        self.target = target
        self.edits = edits
        self.thread = thread
        self.number = number
        super().__init__()


class Opened(Message):
    """The session on `screen` was opened and is shown."""

    def __init__(self, screen: Screen[Any]) -> None:
        self.screen = screen
        super().__init__()


class GoHome(Message):
    """Leave this screen for Home."""


class Refused(Message):
    """This screen's session cannot be opened, and the screen has nothing else to show."""

    def __init__(self, error: CtxtuiError) -> None:
        self.error = error
        super().__init__()


class TerminalGone(Message):
    """The terminal was closed."""
