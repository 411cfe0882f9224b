"""State of a chat screen: a hosted session, and the answer being received."""

from __future__ import annotations

from ctxtui.agent.conversation import Draft
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.host import Host
from ctxtui.services.recordings.recording import RecordingNews
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.panels import Panels
from ctxtui.tui.inspector.signals import Signal
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.transcript.live_rows import LiveRows


class ChatState(InspectorState):
    """The chat that `source` hosts.

    The view follows it (`is_following`) until the user moves away.
    """

    source: ChatSource

    def __init__(self, source: ChatSource, panels: Panels, access: ScreenAccess) -> None:
        super().__init__(source, panels, access, follow=True)
        self.is_held = False
        self.is_following = True
        self.chat_signals = ChatSignals()
        self.on.moved.subscribe(self._moved)

    @property
    def host(self) -> Host:
        return self.source.host

    @property
    def is_running(self) -> bool:
        runner = self.host.runner
        return runner is not None and runner.state.is_running

    @property
    def rows(self) -> LiveRows | None:
        data = self.panels.transcript.data
        return data if isinstance(data, LiveRows) else None

    @property
    def at_end(self) -> bool:
        return self.is_following

    @property
    def recording_state(self) -> str:
        return "held" if self.is_held else "live"

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index`; at the end of the last one, follow the chat."""
        super().go(index, to_end=to_end)
        self.is_following = self.index >= self.count - 1 and (to_end or self.panels.transcript.at_last)

    def follow_end(self) -> None:
        self.go(self.count - 1, to_end=True)
        self.is_following = True

    def _moved(self) -> None:
        """Follow the chat only while the cursor is at its end."""
        self.is_following = self.index >= self.count - 1 and self.panels.transcript.at_last

    def add_hosted_news(self, news: RecordingNews) -> None:
        if self.loaded is not None:
            self.loaded.add_news(news)
            self.grow_soon()

    def grow_soon(self) -> None:
        """Update the view once current work is done."""
        self._access.once(self._grow)

    def _grow(self) -> None:
        self.grow(at_end=self.at_end)

    def set_held(self, is_held: bool) -> None:
        self.is_held = is_held
        self.grow_soon()


class ChatSignals:
    """Signals between the controllers of a chat.

    - `began`: the answer to a draft began (Unix seconds); `grown`: it has grown.
    - `model`: the model is known.
    - `permission`: a tool waits for permission.
    - `held`: a request is held.
    - `early`: number of messages typed before the model was ready.
    - `alarm`: an alarm, "" when dismissed.
    """

    def __init__(self) -> None:
        self.began: Signal[[Draft, float]] = Signal()
        self.grown: Signal[[]] = Signal()
        self.permission: Signal[[]] = Signal()
        self.model: Signal[[ChatModel]] = Signal()
        self.held: Signal[[]] = Signal()
        self.early: Signal[[int]] = Signal()
        self.alarm: Signal[[str]] = Signal()


class ChatController(Controller):
    """A controller of a chat."""

    state: ChatState

    @property
    def host(self) -> Host:
        return self.state.host
