"""What a chat's screen shows: a session that is being hosted, and an answer that comes in."""

from __future__ import annotations

from ctxtui.agent.conversation import Draft
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.chat_source import ChatSource
from ctxtui.services.chat.host import Host
from ctxtui.services.recordings.recording import RecordingNews
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.panels import Panels
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.signals import Signal
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.transcript.live_rows import LiveRows


class ChatState(InspectorState):
    """The chat that `source` hosts. `status` is what the turn does, in a word or two; `along` says that the view goes
    along with the chat: until the user looks elsewhere."""

    source: ChatSource

    def __init__(self, source: ChatSource, panels: Panels, access: ScreenAccess) -> None:
        super().__init__(source, panels, access, follow=True)
        self.status = ""
        self.along = True
        self.tells = ChatSignals()
        self.on.moved.subscribe(self._moved)

    @property
    def host(self) -> Host:
        """What hosts the chat."""
        return self.source.host

    @property
    def running(self) -> bool:
        """Whether a turn is under way."""
        runner = self.host.runner
        return runner is not None and runner.state.is_running

    @property
    def rows(self) -> LiveRows | None:
        """The transcript's rows."""
        data = self.panels.transcript.data
        return data if isinstance(data, LiveRows) else None

    @property
    def at_end(self) -> bool:
        """Whether the view goes along."""
        return self.along

    @property
    def word(self) -> str:
        """The header's word."""
        return "held" if self.status == "held" else "live"

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index`; the end of the last one goes along."""
        super().go(index, to_end=to_end)
        self.along = self.index >= self.count - 1 and (to_end or self.panels.transcript.at_last)

    def go_along(self) -> None:
        """To the end, and on with the chat."""
        self.go(self.count - 1, to_end=True)
        self.along = True

    def _moved(self) -> None:
        """The user moved the cursor: away from the end, or back to it."""
        self.along = self.index >= self.count - 1 and self.panels.transcript.at_last

    def hear(self, news: RecordingNews) -> None:
        """There is more on record; in the event loop."""
        if self.loaded is not None:
            self.loaded.take(news)
            self.grow_soon()

    def grow_soon(self) -> None:
        """Show what there is, once, when what is under way is done."""
        self._planner.once(self._grow)

    def _grow(self) -> None:
        self.grow(at_end=self.at_end)

    def doing(self, status: str) -> None:
        """What the turn does, in a word or two."""
        self.status = status
        self.grow_soon()


class ChatSignals:
    """What the controllers of a chat tell each other: the answer to a draft `began` (in seconds since 1970), has
    `grown`; it is known who the `partner` is;
    a tool waits for `leave`; a request is `held`; so many messages were said `early`; something must not be
    overlooked (`alarm`, "" when it was seen)."""

    def __init__(self) -> None:
        self.began: Signal[[Draft, float]] = Signal()
        self.grown: Signal[[]] = Signal()
        self.leave: Signal[[]] = Signal()
        self.partner: Signal[[ChatModel]] = Signal()
        self.held: Signal[[]] = Signal()
        self.early: Signal[[int]] = Signal()
        self.alarm: Signal[[str]] = Signal()


class ChatController(Controller):
    """A controller of a chat."""

    state: ChatState

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)

    @property
    def host(self) -> Host:
        """What hosts the chat."""
        return self.state.host
