"""Wishes that travel upward: from a widget to its screen, from a screen to the app."""

from __future__ import annotations

from textual.message import Message

from ctxtui.core.errors import CtxtuiError


class Open(Message):
    """Open a session: `target` is a path or the id of a stored session."""

    def __init__(self, target: str) -> None:
        self.target = target
        super().__init__()


class Talk(Message):
    """Go on from call `number` (0: the end) of `thread` in the session `target` (a path or a stored id)."""

    def __init__(self, target: str, thread: str, number: int) -> None:
        self.target = target
        self.thread = thread
        self.number = number
        super().__init__()


class GoHome(Message):
    """Leave this screen for the list of sessions."""


class Refused(Message):
    """What this screen was to show cannot be opened, and there is nothing else on it."""

    def __init__(self, error: CtxtuiError) -> None:
        self.error = error
        super().__init__()
