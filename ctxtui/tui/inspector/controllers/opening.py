"""Opening and following a session."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.loader import Began, Brought, Complete, EndRead, Failed, RequestsRun, Worked
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.messages import Refused

_LIVE_CHECK_SECONDS = 5.0
"""Seconds between checks whether a recording is still being written."""


class OpeningController(Controller):
    """Starts the loader of a session and handles its messages, also while the session grows."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._handlers: dict[type[Message], Callable[..., None]] = {
            EndRead: self._on_end_read,
            Began: lambda message: state.open(message.loaded),
            Brought: self._on_brought,
            Complete: self._on_complete,
            Worked: self._on_worked,
            RequestsRun: self._on_requests_run,
            Failed: self._on_failed,
        }
        state.on.loader.subscribe(self.handle)

    def start(self) -> None:
        self.access.work(self.state.loader.read, "loader")
        self.access.work(self.state.loader.compute_figures, "loader")
        self.access.every(_LIVE_CHECK_SECONDS, self.state.check_live)

    def close(self) -> None:
        self.state.loader.stop()

    def handle(self, message: Message) -> None:
        self._handlers[type(message)](message)

    def _on_end_read(self, message: EndRead) -> None:
        self.state.open_end(message.end)
        self.access.after_frame(self.state.loader.on_displayed)

    def _on_brought(self, message: Brought) -> None:
        self.state.add_news(message.news)
        self.state.loader.on_displayed()

    def _on_complete(self, message: Complete) -> None:
        self._finish_reading()
        self.state.end_reading()

    def _on_worked(self, message: Worked) -> None:
        self.state.on.worked.emit(message.done)
        self.state.take_figures(done=message.done)

    def _on_requests_run(self, message: RequestsRun) -> None:
        """Draw opened blocks again: a large one may have been read."""
        if self.panels.transcript.data is not None:
            self.panels.transcript.data.bodies.clear()
        self.panels.transcript.reopen()

    def _on_failed(self, message: Failed) -> None:
        """Show a loading error; the content so far stays. Without any rows, the app handles it (`Refused`)."""
        self.prompt.refuse(str(message.error))
        self._finish_reading()
        if not self.panels.transcript.row_count:
            self.access.post(Refused(message.error))

    def _finish_reading(self) -> None:
        if self.state.study is not None:
            self.state.study.note_read(whole=True)
