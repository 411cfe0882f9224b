"""What was in flight in a talk, played again: words, results, an answer as far as it came."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, Protocol

from ctxtui.agent.conversation import Conversation, Draft
from ctxtui.agent.exchange import AnswerReader
from ctxtui.core import block, canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.speech import Result, ResultImage

BROKEN_OFF: Final = "interrupted: ctxtui ended"
OPENED: Final = "opened"
"""The event that says in which dialect a chat begins."""


class FlightEvent(Protocol):
    """One event as the store keeps it (`store.in_flight.InFlightEvent`)."""

    @property
    def at(self) -> float: ...
    @property
    def kind(self) -> str: ...
    @property
    def data(self) -> str | bytes: ...


class Replay:
    """Plays events into `conversation`, which stands at the end of what its calls hold. `own_id` names the call of an
    answer that broke off where the provider did not, `known` are the ids of calls that there are.
    """

    def __init__(self, conversation: Conversation, provider: str, known: frozenset[str], own_id: str) -> None:
        self.talk = conversation
        self._provider, self._known, self._own_id = provider, known, own_id
        self.exchange: AnswerReader | None = None
        self.queue: tuple[str, ...] = ()
        self.draft = ""
        self.replayed = 0

    def take(self, event: FlightEvent) -> None:
        """One thing that was in flight."""
        data = event.data
        if event.kind == "queue":
            self.queue = tuple(json.loads(data))
        elif event.kind == "draft" and isinstance(data, str):
            self.draft = data
        elif event.kind != OPENED:
            self.replayed += 1
            self._context(event)

    def _context(self, event: FlightEvent) -> None:
        data, talk = event.data, self.talk
        if event.kind == "said" and isinstance(data, str):
            talk.say(data)
            self._waited(data)
        elif event.kind == "context":
            self._said_with(json.loads(data))
        elif event.kind == "results":
            talk.results([_result(*one) for one in json.loads(data)])
        elif event.kind == "back":
            path = talk.tree.path(talk.head)
            talk.back_to(path[int(data) - 1] if int(data) else 0)
        elif event.kind == "sent":
            self._begin(json.loads(data))
        elif event.kind == "heard" and self.exchange is not None:
            self.exchange.feed(data.encode() if isinstance(data, str) else data, event.at)
        elif event.kind == "failed":
            self.exchange = None

    def _waited(self, text: str) -> None:
        """Where it waited, and the record of what waits is older than this, it is not said twice."""
        if self.queue[:1] == (text,):
            self.queue = self.queue[1:]

    def _said_with(self, about: dict[str, Json]) -> None:
        """A message with what went with it (see `Recording`)."""
        path = self.talk.tree.path(self.talk.head)[: about["keep"]]
        items = [
            Item(block.make(kind, canonical.loads(body)), Place(section, role, mark))
            for section, role, mark, kind, body in about["items"]
        ]
        self.talk.back_to(self.talk.tree.extend(path[-1] if path else ROOT, items))
        self._waited(about["text"])

    def _begin(self, about: dict[str, object]) -> None:
        talk = self.talk
        draft = Draft(b"", talk.head, talk.head, talk.skeleton)
        reader = DIALECTS[str(about["dialect"])].stream_reader()
        at, attempt = about["at"], about["attempt"]
        assert isinstance(at, float | int) and isinstance(attempt, int)
        self.exchange = AnswerReader(
            draft,
            reader,
            thread=MAIN,
            provider=self._provider,
            model=talk.model,
            own_id=self._own_id,
            started=float(at),
        )
        self.exchange.attempt, self.exchange.known = attempt, self._known

    def settle(self) -> Call | None:
        """The answer that broke off goes into the context as far as it stands; its call."""
        exchange = self.exchange
        if exchange is None or exchange.first_byte is None:
            return None
        exchange.close()
        response = exchange.response
        self.talk.answer(response, cut=True)
        return exchange.call(response, self.talk.head, exchange.first_byte, BROKEN_OFF)


def _result(id_: str, text: str, wrong: bool, images: Iterable[Iterable[str]] = ()) -> Result:
    """A result as it was on its way; older ones say nothing of images."""
    return Result(id_, "", text, wrong, tuple(ResultImage(*one) for one in images))
