"""A hosted turn on record: its moments as events of the session, and as work for the store's writer."""

from __future__ import annotations

import json
from collections.abc import Callable

from ctxtui.agent import progress
from ctxtui.agent.conversation import Draft
from ctxtui.agent.events import ToolResult
from ctxtui.agent.exchange import AnswerReader
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, Epoch
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, Session, TipMoved
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.store.writer import CallEnded, InFlight, Work
from ctxtui.wire.registry import DIALECTS

_TITLE = 80


def reader_for(
    session: Session,
    partner: ChatModel,
    draft: Draft,
    own_id: str,
    attempt: int,
    *,
    at: float,
    epoch: Epoch | None = None,
    thread: str = MAIN,
) -> AnswerReader:
    """What reads the answer of `partner` to `draft`, sent at Unix time `at`, and makes the call of it."""
    return AnswerReader(
        draft,
        DIALECTS[partner.endpoint.dialect].stream_reader(),
        thread=thread,
        provider=partner.endpoint.name,
        model=partner.model,
        own_id=own_id,
        started=at,
        epoch=epoch or Epoch(),
        attempt=attempt,
        known=frozenset(session.calls),
    )


class Recording:
    """What the moments of a chat come to, of its main line or of the sub-agent `thread`. `put` hands work to the
    writer; `clock` gives Unix seconds."""

    def __init__(
        self, session: Session, put: Callable[[Work], object], clock: Callable[[], float], thread: str = MAIN
    ) -> None:
        self._session = session
        self._put = put
        self._clock = clock
        self._thread = thread
        self._last = next(reversed(session.order.get(thread, ())), "")

    def take(self, moment: progress.Moment) -> list[Event]:
        """Record `moment`; the events that the session is to take in."""
        match moment:
            case progress.UserSaid(text, head, before):
                plain = self._plain(text, head, before)
                self._flight("said" if plain else "context", text if plain else self._context(text, head, before))
                return [*self._titled(text), TipMoved(self._thread, head)]
            case progress.ResultsCame(results, head):
                self._flight("results", results_json(results))
                return [TipMoved(self._thread, head)]
            case progress.RequestSent(draft, at, attempt):
                self._flight("sent", json.dumps({"at": at, "attempt": attempt, "dialect": draft.skeleton.dialect}))
            case progress.CallBegan(call):
                return [CallSeen(call)]
            case progress.PieceReceived(data, _) if data:
                self._flight("heard", data)
            case progress.CallEnded(call, head, _):
                self._last = call.id
                self._put(CallEnded(call, head))
                return [CallSeen(call), TipMoved(self._thread, head)]
            case progress.CallFailed(message, call):
                return self._failed(message, call)
            case progress.Noted(kind, text):
                happened = Happened(kind, text, self._thread, self._clock(), self._last)
                self._put(happened)
                return [happened]
        return []

    def _plain(self, text: str, head: int, before: int) -> bool:
        """Whether the context grew by these words alone."""
        tree = self._session.tree
        said = tree.items(head, before) if tree.holds(head, before) else []
        words = [item for item in said if item.block.kind != HEADER]
        return len(words) == 1 and not words[0].place.mark and read(words[0].block).text == text

    def _context(self, text: str, head: int, before: int) -> str:
        """How the context became another one with these words: how many of its blocks stay, and what follows them."""
        tree = self._session.tree
        same = tree.common(before, head)
        items = [[*item.place, item.block.kind, item.block.body.decode()] for item in tree.items(head, same)]
        return json.dumps({"text": text, "keep": tree[same].depth, "items": items})

    def slot(self, kind: str, text: str) -> None:
        """Keep the last `text` of a kind: the queue, the draft."""
        self._flight(kind, text)

    def moved(self, head: int, blocks: int) -> list[Event]:
        """The context was taken back to `head`, which is its first `blocks` blocks."""
        self._flight("back", str(blocks))
        return [TipMoved(self._thread, head)]

    def _flight(self, kind: str, data: str | bytes) -> None:
        self._put(InFlight(self._last, self._clock(), kind, data, self._thread))

    def _titled(self, text: str) -> list[Event]:
        if self._session.about.title or self._thread != MAIN:
            return []
        title = " ".join(text.split())[:_TITLE]
        self._put(Described(title=title))
        return [Described(title=title)]

    def _failed(self, message: str, call: Call | None) -> list[Event]:
        if call is None:
            self._flight("failed", message)
            return []
        self._last = call.id
        # What came is on the call, beside the context, which stays where it was.
        self._put(CallEnded(call, call.raw_head))
        return [CallSeen(call), TipMoved(self._thread, call.raw_head)]


def results_json(results: tuple[ToolResult, ...]) -> str:
    """Tool results as text."""
    return json.dumps([[one.id, one.text, one.is_error, [*map(list, one.images)]] for one in results])
