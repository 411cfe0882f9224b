"""The two records of one chat joined by their answers: the chat history has models and figures, the other one the
messages that were sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.session import CallSeen, Event, TipMoved
from ctxtui.core.tree import Tree

_TELLING: Final = 40
"""Characters from which on a part of an answer tells it from others: a heading in an answer cuts it in the chat
history, which marks what a person typed the same way."""


class Answers:
    """The calls of both records, each by its id, in order."""

    def __init__(self) -> None:
        self._sent: dict[str, tuple[Call, str]] = {}
        self._noted: dict[str, tuple[Call, str]] = {}

    def sent(self, call: Call, tree: Tree) -> None:
        """A call of the record of messages, or a fuller version of it."""
        self._sent[call.id] = call, words_of(call, tree)

    def noted(self, call: Call, tree: Tree) -> None:
        """A call of the chat history, or a fuller version of it."""
        self._noted[call.id] = call, words_of(call, tree)

    def with_figures(self) -> Iterator[CallSeen]:
        """Calls of the record of messages with model and usage."""
        for sent, noted in self._pairs():
            extra = {**sent.extra, **noted.extra}
            yield CallSeen(replace(sent, model=noted.model, usage=noted.usage, epoch=noted.epoch, extra=extra))

    def with_messages(self) -> Iterator[Event]:
        """Calls of the chat history with the context that was sent, and its times; where the chat ends then."""
        last = next(reversed(self._noted), "")
        for sent, noted in self._pairs():
            yield CallSeen(
                replace(
                    noted,
                    raw_head=sent.raw_head,
                    sent_head=sent.sent_head,
                    response_head=sent.response_head,
                    started=sent.started,
                    ended=sent.ended,
                )
            )
            if noted.id == last:
                yield TipMoved(noted.thread, sent.response_head)

    def _pairs(self) -> Iterator[tuple[Call, Call]]:
        """The calls that are one, both records being in order of time; a call that only one has is passed over."""
        sent = list(self._sent.values())
        at = 0
        for noted, words in self._noted.values():
            found = next((n for n in range(at, len(sent)) if _same(sent[n][1], words)), None)
            if found is not None:
                yield sent[found][0], noted
                at = found + 1


def words_of(call: Call, tree: Tree) -> str:
    """What a call answered, its white space made even."""
    items = tree.items(call.response_head, call.raw_head)
    return " ".join(" ".join(read(item.block).text for item in items if item.block.kind != HEADER).split())


def _same(sent: str, noted: str) -> bool:
    return bool(noted) and (sent == noted or (len(noted) >= _TELLING and noted in sent))
