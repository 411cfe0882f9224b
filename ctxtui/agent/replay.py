"""Restores a conversation whose host ended: replays the events since its last written call."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, Protocol

from ctxtui.agent.answer_reader import AnswerReader
from ctxtui.agent.conversation import Conversation, Draft
from ctxtui.core import block, canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.speech import Result, ResultImage

BROKEN_OFF: Final = "interrupted: ctxtui ended"
"""The error of a call whose host ended during its answer."""
OPENED: Final = "opened"
"""Kind of the event with the dialect of a new chat."""


class FlightEvent(Protocol):
    """One event as the store holds it (`store.sessions.in_flight.InFlightEvent`)."""

    @property
    def at(self) -> float: ...
    @property
    def kind(self) -> str: ...
    @property
    def data(self) -> str | bytes: ...


class Replay:
    """Replays pending events (messages, results, answers) into `conversation`.

    The conversation must end after its last written call.

    - `own_id`: id of a broken-off call if the provider gave none; `used_ids`: ids of existing calls.
    - `replayed`: number of events so far, without those of the queue, the draft and the opening.
    """

    def __init__(self, conversation: Conversation, provider: str, used_ids: frozenset[str], own_id: str) -> None:
        self.conversation = conversation
        self._provider, self._used_ids, self._own_id = provider, used_ids, own_id
        self.reader: AnswerReader | None = None
        self.queue: tuple[str, ...] = ()
        self.draft = ""
        self.replayed = 0

    def replay(self, event: FlightEvent) -> None:
        """Apply the next event: to the queue, the draft or the context."""
        data = event.data
        if event.kind == "queue":
            self.queue = tuple(json.loads(data))
        elif event.kind == "draft" and isinstance(data, str):
            self.draft = data
        elif event.kind != OPENED:
            self.replayed += 1
            self._replay_context(event)

    def _replay_context(self, event: FlightEvent) -> None:
        data, conversation = event.data, self.conversation
        if event.kind == "said" and isinstance(data, str):
            conversation.add_user_message(data)
            self._remove_from_queue(data)
        elif event.kind == "context":
            self._add_with_attachments(json.loads(data))
        elif event.kind == "results":
            conversation.add_results([_decode_result(*result) for result in json.loads(data)])
        elif event.kind == "back":
            path = conversation.tree.path(conversation.head)
            conversation.rewind_to(path[int(data) - 1] if int(data) else 0)
        elif event.kind == "sent":
            self._begin_answer(json.loads(data))
        elif event.kind == "heard" and self.reader is not None:
            self.reader.feed(data.encode() if isinstance(data, str) else data, event.at)
        elif event.kind == "failed":
            self.reader = None

    def _remove_from_queue(self, text: str) -> None:
        """Remove a message from the queue if it was sent after the queue was recorded."""
        if self.queue[:1] == (text,):
            self.queue = self.queue[1:]

    def _add_with_attachments(self, about: dict[str, Json]) -> None:
        """Append a message with its attachments (see `services.chat.recorder`)."""
        path = self.conversation.tree.path(self.conversation.head)[: about["keep"]]
        items = [
            Item(block.make(kind, canonical.loads(body)), Place(section, role, mark))
            for section, role, mark, kind, body in about["items"]
        ]
        self.conversation.rewind_to(self.conversation.tree.extend(path[-1] if path else ROOT, items))
        self._remove_from_queue(about["text"])

    def _begin_answer(self, about: dict[str, object]) -> None:
        conversation = self.conversation
        draft = Draft(b"", conversation.head, conversation.head, conversation.skeleton)
        reader = DIALECTS[str(about["dialect"])].stream_reader()
        at, attempt = about["at"], about["attempt"]
        assert isinstance(at, float | int) and isinstance(attempt, int)
        self.reader = AnswerReader(
            draft,
            reader,
            thread=MAIN,
            provider=self._provider,
            model=conversation.model,
            own_id=self._own_id,
            started=float(at),
            attempt=attempt,
            used_ids=self._used_ids,
        )

    def settle(self) -> Call | None:
        """Put the received part of a broken-off answer into the context.

        Returns the answer's call, None if there was no such answer.
        """
        reader = self.reader
        if reader is None or reader.first_byte is None:
            return None
        reader.close()
        response = reader.response
        self.conversation.add_answer(response, cut=True)
        return reader.make_call(response, self.conversation.head, reader.first_byte, BROKEN_OFF)


def _decode_result(id_: str, text: str, is_error: bool, images: Iterable[Iterable[str]] = ()) -> Result:
    """Decode a result; older records have no images."""
    return Result(id_, "", text, is_error, tuple(ResultImage(*image) for image in images))
