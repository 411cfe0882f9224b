"""A chat as the Inspector's source: the session that is hosted, studied like any other."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.call import Call
from ctxtui.pricing.price import Cost
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.request_forecast import Foreteller, foreteller_for
from ctxtui.services.counting.live_count import LiveCount
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.services.session_source import SessionSource
from ctxtui.services.study.study import Study
from ctxtui.services.study.thread_study import RecordingEnd


class ChatSource(SessionSource):
    """Opens what `host` hosts, and is otherwise as the source of a recording."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.wish.name or "chat", host.config.settings)
        self.host = host

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        """The session, which is there at once. Raises what opening a recording raises."""
        self._services.preload()
        self.host.files.counter = self._services.counter
        session = self.host.open()
        # What it is kept under: whoever reads it once more, as the lab does, must not take another one for it.
        self.name = session.about.id
        return Loaded(session, session.about.id), iter(())

    def clock(self) -> float:
        """The chat's."""
        return self.host.clock()

    def read_end(self) -> RecordingEnd | None:
        """Nothing to glimpse."""
        return None

    def _is_readable_once(self) -> bool:
        return True

    def is_live(self, loaded: Loaded) -> bool:
        """A chat is."""
        return True

    def price(self, call: Call) -> Cost | None:
        """What a call costs; for the writer's thread."""
        return self._services.price(call)

    def live_count(self, study: Study, model: str) -> LiveCount:
        """What counts the next answer."""
        return LiveCount(self._services.counting, study.book.card(model), study.book.weights(model))

    def foreteller(self, study: Study, partner: ChatModel) -> Foreteller:
        """What foretells the requests of the chat."""
        return foreteller_for(study.book, self._services.counter, partner, self._services.prices)
