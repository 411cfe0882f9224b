"""The first frame of a session's screen: with what was opened in it, where that is there at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

from textual.message import Message
from textual.screen import Screen

from ctxtui.tui.inspector.loader import Complete, Failed

_WAIT: Final = 0.25
"""Seconds for which the empty panes wait for what stands in them: painting them takes a tenth of the time to that."""


class FirstPaint:
    """Lets nothing of `screen` be painted until something is `there`, the reading is over, or it takes long."""

    def __init__(self, screen: Screen[Any], there: Callable[[], bool]) -> None:
        self._screen = screen
        self._there = there
        self._unpainted = ExitStack()
        self._waits = False

    def begin(self) -> None:
        """From now on nothing is painted."""
        self._waits = True
        self._unpainted.enter_context(self._screen.app.batch_update())
        self._screen.set_timer(_WAIT, self._paint)

    def hear(self, message: Message) -> None:
        """What a thread posted was taken."""
        if self._waits and (self._there() or isinstance(message, Complete | Failed)):
            self._paint()

    def _paint(self) -> None:
        if self._waits:
            self.end()
            self._screen.refresh()

    def end(self) -> None:
        """Whatever is painted from now on is painted at once."""
        self._waits = False
        self._unpainted.close()
