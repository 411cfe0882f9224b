"""A chat that ended in the middle: found, so that it can be offered, and put together again.

Its calls are in the record; what happened after the last of them was in flight.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ctxtui.agent.conversation import Conversation, Draft
from ctxtui.agent.events import ToolResult
from ctxtui.agent.exchange import AnswerReader
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN
from ctxtui.services.chat.continue_from import CHAT
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.store.in_flight import InFlightEvent
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.speech import Result

ENDED: Final = "ctxtui ended before this was done."
OPENED: Final = "opened"
"""The event that says in which dialect a chat begins."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found: the `partial` call whose answer broke off (None: there was none) and the context `head` just
    after it, the `stopped` results of calls that never got one, the messages that waited, the draft in the prompt, and
    how many events were `replayed`."""

    partial: Call | None = None
    head: int = 0
    stopped: tuple[ToolResult, ...] = ()
    queue: tuple[str, ...] = ()
    draft: str = ""
    replayed: int = 0

    def __bool__(self) -> bool:
        return bool(self.partial or self.stopped or self.queue or self.draft or self.replayed)


class _Replay:
    def __init__(self, conversation: Conversation, provider: str, known: frozenset[str], own_id: str) -> None:
        self.talk = conversation
        self._provider, self._known, self._own_id = provider, known, own_id
        self.exchange: AnswerReader | None = None
        self.queue: tuple[str, ...] = ()
        self.draft = ""
        self.replayed = 0

    def take(self, event: InFlightEvent) -> None:
        """One thing that was in flight."""
        data = event.data
        if event.kind == "queue":
            self.queue = tuple(json.loads(data))
        elif event.kind == "draft" and isinstance(data, str):
            self.draft = data
        elif event.kind != OPENED:
            self.replayed += 1
            self._context(event)

    def _context(self, event: InFlightEvent) -> None:
        data, talk = event.data, self.talk
        if event.kind == "said" and isinstance(data, str):
            talk.say(data)
        elif event.kind == "results":
            talk.results([Result(id_, "", text, wrong) for id_, text, wrong in json.loads(data)])
        elif event.kind == "back":
            path = talk.tree.path(talk.head)
            talk.back_to(path[int(data) - 1] if int(data) else 0)
        elif event.kind == "sent":
            self._begin(json.loads(data))
        elif event.kind == "heard" and self.exchange is not None:
            self.exchange.feed(data.encode() if isinstance(data, str) else data, event.at)
        elif event.kind == "failed":
            self.exchange = None

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
        return exchange.call(response, self.talk.head, exchange.first_byte, "interrupted: ctxtui ended")


def recover(
    conversation: Conversation, events: Sequence[InFlightEvent], provider: str, known: frozenset[str], own_id: str
) -> Recovered:
    """Play `events` into `conversation`, which stands at the end of what the calls hold; afterwards its context is
    legal. `known` are the ids of the session's calls, `own_id` names the partial one where the provider did not."""
    replay = _Replay(conversation, provider, known, own_id)
    for event in events:
        replay.take(event)
    partial = replay.settle()
    head = conversation.head
    lost = conversation.open_calls()
    conversation.results([Result(call.id, call.name, ENDED, True) for call in lost])
    stopped = tuple(ToolResult(call.id, ENDED, is_error=True) for call in lost)
    return Recovered(partial, head, stopped, replay.queue, replay.draft, replay.replayed)


def dialect_of(events: Sequence[InFlightEvent], last: Call | None) -> str:
    """The dialect that a chat was held in: as its last call was spelled, else as it was opened; "" where unknown."""
    if last is not None and last.skeleton is not None:
        return last.skeleton.dialect
    opened = next((event.data for event in events if event.kind == OPENED), "{}")
    return str(json.loads(opened).get("dialect", ""))


_UNDER_WAY: Final = frozenset({"said", "sent", "heard", "results"})


def is_unfinished(id_: str, settings: Settings) -> bool:
    """Whether the stored chat `id_` ended while a turn was under way, and nobody hosts it now; for a worker thread."""
    from ctxtui.store.in_flight import left_over

    try:
        return any(event.kind in _UNDER_WAY for event in left_over(database(settings.data_dir), id_))
    except CtxtuiError:
        return False


def hosted_by(id_: str, settings: Settings) -> str:
    """In which process the stored session `id_` is hosted now, and since when; "" for none. For a worker thread."""
    from ctxtui.store.leases import host_of

    try:
        host = host_of(database(settings.data_dir), id_)
    except CtxtuiError:
        return ""  # whoever goes on with it needs the database, and says what is wrong with it
    return host.where if host is not None else ""


def unfinished_here(cwd: Path, settings: Settings) -> str:
    """The id of this folder's newest chat where that ended in the middle of a turn, else ""; for a worker thread."""
    path = database(settings.data_dir)
    if not path.exists():
        return ""
    from ctxtui.store.store import Store

    try:
        with Store.open(path, readonly=True) as store:
            chats = [row for row in store.sessions() if row.client == CHAT and row.cwd == str(cwd)]
    except CtxtuiError:
        return ""
    newest = max(chats, key=lambda row: row.ended or row.imported, default=None)
    return newest.id if newest is not None and is_unfinished(newest.id, settings) else ""
