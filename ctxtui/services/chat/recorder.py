"""Turn the progress events of a hosted turn into session events and writes to the store."""

from __future__ import annotations

import json
from collections.abc import Callable

from ctxtui.agent import progress
from ctxtui.agent.answer_reader import AnswerReader
from ctxtui.agent.conversation import Draft
from ctxtui.agent.events import ToolResult
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, Epoch
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, Session, TipMoved
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.store.writer import InFlight, StoredCall, Work
from ctxtui.wire.registry import DIALECTS

MAX_TITLE_CHARS = 80


def make_reader(
    session: Session,
    chat_model: ChatModel,
    draft: Draft,
    own_id: str,
    attempt: int,
    *,
    at: float,
    epoch: Epoch | None = None,
    thread: str = MAIN,
) -> AnswerReader:
    """Make a reader for the answer of `chat_model` to `draft`, sent at Unix time `at`."""
    return AnswerReader(
        draft,
        DIALECTS[chat_model.endpoint.dialect].stream_reader(),
        thread=thread,
        provider=chat_model.endpoint.name,
        model=chat_model.model,
        own_id=own_id,
        started=at,
        epoch=epoch or Epoch(),
        attempt=attempt,
        used_ids=frozenset(session.calls),
    )


class ChatRecorder:
    """Records the progress events of a thread; `put` queues work for the writer.

    Until a call has ended, its parts are stored as events in flight, from which an interrupted chat is restored.
    """

    def __init__(
        self, session: Session, put: Callable[[Work], object], clock: Callable[[], float], thread: str = MAIN
    ) -> None:
        self._session = session
        self._put = put
        self._clock = clock
        self._thread = thread
        self._last = next(reversed(session.order.get(thread, ())), "")

    def record(self, moment: progress.ProgressEvent) -> list[Event]:
        """Record `moment`; return the events to apply to the session."""
        match moment:
            case progress.UserMessageAdded(text, head, before):
                plain = self._is_plain_text(text, head, before)
                self._put_in_flight(
                    "said" if plain else "context", text if plain else self._context_json(text, head, before)
                )
                return [*self._set_title(text), TipMoved(self._thread, head)]
            case progress.ToolResultsAdded(results, head):
                self._put_in_flight("results", results_json(results))
                return [TipMoved(self._thread, head)]
            case progress.RequestSent(draft, at, attempt):
                self._put_in_flight(
                    "sent", json.dumps({"at": at, "attempt": attempt, "dialect": draft.skeleton.dialect})
                )
            case progress.CallBegan(call):
                return [CallSeen(call)]
            case progress.PieceReceived(data, _) if data:
                self._put_in_flight("heard", data)
            case progress.CallEnded(call, head, _):
                self._last = call.id
                self._put(StoredCall(call, head))
                return [CallSeen(call), TipMoved(self._thread, head)]
            case progress.CallFailed(message, call):
                return self._record_failure(message, call)
            case progress.Notice(kind, text):
                happened = Happened(kind, text, self._thread, self._clock(), self._last)
                self._put(happened)
                return [happened]
        return []

    def _is_plain_text(self, text: str, head: int, before: int) -> bool:
        tree = self._session.tree
        items = tree.items(head, before) if tree.holds(head, before) else []
        content = [item for item in items if item.block.kind != HEADER]
        return len(content) == 1 and not content[0].place.mark and read(content[0].block).text == text

    def _context_json(self, text: str, head: int, before: int) -> str:
        """JSON of a context that changed with `text`.

        ``keep`` is the number of blocks that stay, ``items`` are those after them.
        """
        tree = self._session.tree
        same = tree.common(before, head)
        items = [[*item.place, item.block.kind, item.block.body.decode()] for item in tree.items(head, same)]
        return json.dumps({"text": text, "keep": tree[same].depth, "items": items})

    def store_slot(self, kind: str, text: str) -> None:
        """Store the `text` of a slot, a kind (queue, draft, opened) that keeps only the newest."""
        self._put_in_flight(kind, text)

    def record_move(self, head: int, blocks: int) -> list[Event]:
        """Record that the context was reset to `head`, its first `blocks` blocks."""
        self._put_in_flight("back", str(blocks))
        return [TipMoved(self._thread, head)]

    def _put_in_flight(self, kind: str, data: str | bytes) -> None:
        self._put(InFlight(self._last, self._clock(), kind, data, self._thread))

    def _set_title(self, text: str) -> list[Event]:
        if self._session.about.title or self._thread != MAIN:
            return []
        title = " ".join(text.split())[:MAX_TITLE_CHARS]
        self._put(Described(title=title))
        return [Described(title=title)]

    def _record_failure(self, message: str, call: Call | None) -> list[Event]:
        if call is None:
            self._put_in_flight("failed", message)
            return []
        self._last = call.id
        # The partial answer is stored with the call; the context does not include it.
        self._put(StoredCall(call, call.raw_head))
        return [CallSeen(call), TipMoved(self._thread, call.raw_head)]


def results_json(results: tuple[ToolResult, ...]) -> str:
    return json.dumps([[result.id, result.text, result.is_error, [*map(list, result.images)]] for result in results])
