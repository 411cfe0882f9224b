"""What single blocks cost over a session, from the ledgers of its threads; for a whole bill, not for a screen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ctxtui.core.block import HEADER
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.lab.book import Book
from ctxtui.lab.figures import not_recorded
from ctxtui.lab.ledger import Ledger
from ctxtui.lab.resent import Resent, Sending
from ctxtui.lab.running import Running
from ctxtui.lab.staying import Stays
from ctxtui.pricing.price import Cost

_THINKING = INDEX["thinking"]


@dataclass(frozen=True, slots=True)
class Heavy:
    """A block that was dear to carry: its first `node`, its `tokens`, what it cost in USD, in how many `calls` it was
    sent."""

    node: int
    tokens: int
    usd: float
    calls: int


class ThreadCosts:
    """The ledger of one thread of a counted book, entered to its end, and how long each block stayed."""

    def __init__(self, book: Book, thread: str, running: Running, costs: Mapping[str, Cost | None]) -> None:
        self.tree = book.session.tree
        self.thread = thread
        self.calls = book.session.thread_calls(thread)
        self.running = running
        self.ledger = Ledger(book, running)
        self.ledger.advance(self.calls, costs, len(self.calls))
        self.stays = Stays(self.tree)
        self.stays.advance(self.calls)
        self._book = book
        self._resent: list[Resent] | None = None
        self._turns = [self.tree[call.sent_head].turn for call in self.calls]

    def nodes(self) -> Iterator[int]:
        """Every node that was sent, headers left out."""
        tree = self.tree
        return (node for node in self.ledger.entered if tree[node].block.kind != HEADER)

    def spans(self, node: int, since: int = 0) -> list[tuple[int, int]]:
        """The stretches of calls [from, to), from call `since` on, in which the provider read `node`: thinking only to
        the end of its turn where it is taken out then."""
        end = self.ledger.done
        here = self.tree[node]
        if here.category == _THINKING and self.running.strips_thinking and here.turn_start != ROOT:
            first = self.ledger.entered[node]
            end = min(end, bisect_right(self._turns, here.turn, lo=first))
        return [(max(a, since), b) for a, b in self.stays.spans(node, end) if b > since]

    def missing(self, index: int) -> int:
        """Tokens of call `index` (from 0) that are not in the record."""
        return not_recorded(self._book, self.calls[index]) or 0

    def kept(self, index: int) -> int:
        """Input tokens of call `index` that begin its context as they began an earlier one's."""
        if self._resent is None:
            sending = Sending(self._book, dict.fromkeys((call.model for call in self.calls), self.running))
            self._resent = [sending.enter(call) for call in self.calls]
        return self._resent[index].kept

    def input_usd(self, node: int, since: int = 0) -> float:
        """USD that calls from `since` on took for carrying the block of `node`."""
        depth = self.tree[node].depth
        rate = sum(self.ledger.carried(depth, start, stop) for start, stop in self.spans(node, since))
        return rate * self.running.own(node)


def thread_costs(book: Book, costs: Mapping[str, Cost | None]) -> list[ThreadCosts]:
    """The costs of every thread with calls; the book must be counted whole."""
    running: dict[str, Running] = {}
    found = []
    for thread, ids in book.session.order.items():
        if ids:
            model = book.session.calls[ids[-1]].model
            if model not in running:
                running[model] = Running(book, model)
                running[model].advance()
            found.append(ThreadCosts(book, thread, running[model], costs))
    return found


def heaviest(threads: list[ThreadCosts], most: int) -> list[Heavy]:
    """The `most` dearest blocks over all threads, dearest first; one that was sent in several places counts once."""
    found: dict[str, Heavy] = {}
    for thread in threads:
        for node in thread.nodes():
            tokens = thread.running.own(node)
            if not tokens:
                continue
            usd = thread.input_usd(node)
            calls = sum(stop - start for start, stop in thread.spans(node))
            digest = thread.tree[node].block.digest
            old = found.get(digest)
            found[digest] = (
                Heavy(node, tokens, usd, calls)
                if old is None
                else Heavy(old.node, old.tokens, old.usd + usd, old.calls + calls)
            )
    return sorted(found.values(), key=lambda one: (-one.usd, -one.tokens * one.calls))[:most]
