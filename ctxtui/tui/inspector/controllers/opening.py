"""Opening in the Inspector: what its threads post is taken, shown, and followed as it grows."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.loader import Began, Brought, Complete, Failed, Glimpsed, Read, Worked
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.messages import Refused

_LIVE_EVERY = 5.0
"""Seconds between looks at whether a recording is still being written."""


class OpeningController(Controller):
    """Opens a session and follows it."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._takes: dict[type[Message], Callable[..., None]] = {
            Glimpsed: self._glimpsed,
            Began: self._began,
            Brought: self._brought,
            Complete: self._complete,
            Worked: self._worked,
            Read: self._read,
            Failed: self._failed,
        }
        state.on.loader.subscribe(self.take)

    def start(self) -> None:
        """Begin to read; the empty screen is there already."""
        self.access.work(self.state.feed.read, "feed")
        self.access.work(self.state.feed.figure, "feed")
        self.access.every(_LIVE_EVERY, self.state.look_alive)

    def close(self) -> None:
        """The threads and helpers end with the screen."""
        self.state.feed.stop()

    def take(self, message: Message) -> None:
        """What a thread posted."""
        self._takes[type(message)](message)

    def _glimpsed(self, message: Glimpsed) -> None:
        self.state.open_glimpse(message.end)
        self.access.after_frame(self.state.feed.taken)

    def _began(self, message: Began) -> None:
        self.state.open(message.loaded)

    def _brought(self, message: Brought) -> None:
        if self.state.loaded is not None:
            self.state.take(message.news)
            self.state.feed.taken()

    def _complete(self, message: Complete) -> None:
        self._all_read()
        self.state.end_reading()

    def _worked(self, message: Worked) -> None:
        self.state.on.worked.emit(message.done)
        self.state.take_figures(done=message.done)

    def _read(self, message: Read) -> None:
        """A large block was read: its row and what is open of it can be drawn."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.bodies.clear()
        self.panels.transcript.reopen()

    def _failed(self, message: Failed) -> None:
        """Opening or reading ended in an error: it is said, what is shown stays."""
        self.prompt.refuse(str(message.error))
        self._all_read()
        if not self.panels.transcript.row_count:
            self.access.post(Refused(message.error))

    def _all_read(self) -> None:
        """No more of the recording comes: what waited for that does so no longer."""
        if self.state.study is not None:
            self.state.study.note_read(whole=True)
