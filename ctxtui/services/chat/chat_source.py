"""A hosted chat as the inspector's session source."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.call import Call
from ctxtui.pricing.price import Cost
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.request_forecast import RequestForecaster, make_forecaster
from ctxtui.services.counting.live_count import LiveCount
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.services.session_source import SessionSource
from ctxtui.services.study.study import Study
from ctxtui.services.study.thread_study import RecordingEnd


class ChatSource(SessionSource):
    """Opens the session of `host`; otherwise the same as the source of a recording."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.choice.session or "chat", host.config.settings)
        self.host = host

    def open(self) -> tuple[Loaded, Iterator[RecordingNews]]:
        self._services.preload()
        self.host.files.counter = self._services.counter
        session = self.host.open()
        # The stored id: reading the session again by name, as the lab does, must find this one.
        self.name = session.about.id
        return Loaded(session, session.about.id), iter(())

    def clock(self) -> float:
        return self.host.clock()

    def read_end(self) -> RecordingEnd | None:
        """None: a chat needs no preview of its end."""
        return None

    def _reports_in_process(self) -> bool:
        return True

    def is_live(self, loaded: Loaded) -> bool:
        """True: a chat may always grow."""
        return True

    def price(self, call: Call) -> Cost | None:
        """The price of a call, None if unknown; for the writer's thread."""
        return self._services.price(call)

    def live_count(self, study: Study, model: str) -> LiveCount:
        """A counter for the next answer while it streams."""
        return LiveCount(self._services.counting, study.book.card(model), study.book.weights(model))

    def forecaster(self, study: Study, chat_model: ChatModel) -> RequestForecaster:
        return make_forecaster(study.book, self._services.counter, chat_model, self._services.prices)
