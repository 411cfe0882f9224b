"""Small sessions made through core alone."""

from __future__ import annotations

from ctxtui.analysis.book import Book
from ctxtui.core import block
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.call import Call, Epoch, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Session, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.models import ModelCard, ModelTable


def words(text: str) -> int:
    """A tokenizer whose tokens are words."""
    return len(text.split())


def book(session: Session, table: ModelTable, limit: int | None = None) -> Book:
    """A book counted with `words`."""

    def measure(card: ModelCard):  # type: ignore[no-untyped-def]
        return lambda one: count_features(one, words, card)

    made = Book(session, table, measure)
    made.advance(limit)
    return made


def said(role: str, *parts: Block) -> list[Item]:
    """One message."""
    place = Place("messages", role)
    return [Item(block.header(role), place), *(Item(p, place) for p in parts)]


def thinking(text: str) -> Block:
    return block.from_part({"type": "thinking", "thinking": text, "signature": "sig"})


class Script:
    """Writes a session call by call."""

    def __init__(self, model: str, fidelity: Fidelity = Fidelity.TRANSCRIPT, provider: str = "anthropic") -> None:
        self.session = Session()
        self.model, self.fidelity, self.provider = model, fidelity, provider
        self.head, self.clock, self.epoch = ROOT, 1000.0, Epoch()

    def hear(self, *parts: Block) -> Script:
        self.head = self.session.tree.extend(self.head, said("user", *parts))
        return self

    def call(self, *answer: Block, usage: Usage | None = None, after: float = 10.0, error: str = "") -> Call:
        """A call on what was heard so far, answered by `answer`, begun `after` seconds later than the last."""
        self.clock += after
        reply = self.session.tree.extend(self.head, said("assistant", *answer)) if answer else self.head
        made = Call(
            f"msg_{len(self.session.calls) + 1}",
            MAIN,
            raw_head=self.head,
            sent_head=self.head,
            response_head=reply,
            provider=self.provider,
            model=self.model,
            started=self.clock,
            fidelity=self.fidelity,
            epoch=self.epoch,
            usage=usage,
            error=error,
        )
        self.head = reply
        self.session.apply(CallSeen(made))
        self.session.apply(TipMoved(MAIN, reply))
        return made
