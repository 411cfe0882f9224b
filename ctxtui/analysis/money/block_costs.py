"""What single blocks cost over a session, from the ledgers of its threads; for a whole bill, not for a screen."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.analysis.figures import unrecorded_tokens
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.resent import Resent, Sending
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import HEADER
from ctxtui.pricing.price import Cost

_CANDIDATES = 50
"""Blocks that are priced for each one that is wanted."""


class DearBlock(Struct, frozen=True):
    """A block that was dear to carry: its first `node`, its `tokens`, what it cost in USD, how often it was sent
    (`calls`: once for each call and each place in it); `category` is the index of the one that it is shown in. `gone`
    is the call (from 1) since which it is in its thread's context no longer, 0 where it still is."""

    node: int
    category: int
    tokens: int
    usd: float
    calls: int
    gone: int = 0


class ThreadCosts:
    """The ledger of one thread of a counted book, entered to its end, or for the calls up to number `until`; and how
    long each block stayed."""

    def __init__(
        self,
        book: Book,
        thread: str,
        running: RunningTotals,
        costs: Mapping[str, Cost | None],
        until: int | None = None,
    ) -> None:
        self.tree = book.session.tree
        self.thread = thread
        self.calls = book.session.thread_calls(thread)[:until]
        self.running = running
        self.stays = Stays(self.tree)
        self.stays.advance(self.calls)
        self.ledger = CostLedger(book, running, self.stays)
        self.ledger.advance(self.calls, costs, len(self.calls))
        self._book = book
        self._resent: list[Resent] | None = None

    def nodes(self) -> list[int]:
        """The first node of every block that was sent, headers left out."""
        return [node for node in self.stays.every() if self.tree[node].block.kind != HEADER]

    def missing(self, index: int) -> int:
        """Tokens of call `index` (from 0) that are not in the record."""
        return unrecorded_tokens(self._book, self.calls[index])

    def kept(self, index: int) -> int:
        """Input tokens of call `index` that begin its context as they began an earlier one's."""
        if self._resent is None:
            sending = Sending(self._book, lambda _: self.running)
            self._resent = [sending.enter(call) for call in self.calls]
        return self._resent[index].kept

    def gone(self, node: int) -> int:
        """The call (from 1) since which the block of `node` is in the context no longer, as the record or the reports
        show it; 0 where the last call had it."""
        last = len(self.calls) - 1
        there = self.stays.standing(node, last)
        if there is None:
            return max((stop for _, stop, _ in self.stays.stretches(node, last + 1)), default=0) + 1
        absent = self._book.contexts.at(self.calls[last].sent_head).get(there)
        return absent.since if absent is not None else 0

    def input_usd(self, node: int, since: int = 0) -> float:
        """USD that calls from `since` on took for carrying the block of `node`."""
        return self.ledger.rate(node, since, self.ledger.done) * self.running.block_tokens(node)


def thread_costs(book: Book, costs: Mapping[str, Cost | None]) -> list[ThreadCosts]:
    """The costs of every thread with calls; the book must be counted whole."""
    running: dict[str, RunningTotals] = {}
    found = []
    for thread, ids in list(book.session.order.items()):
        if ids:
            model = book.session.calls[ids[-1]].model
            if model not in running:
                running[model] = RunningTotals(book, model)
                running[model].advance()
            found.append(ThreadCosts(book, thread, running[model], costs))
    return found


def heaviest(threads: list[ThreadCosts], most: int) -> list[DearBlock]:
    """The `most` dearest blocks over all threads, dearest first; one that was sent in several places counts once."""
    where: dict[str, list[tuple[ThreadCosts, int]]] = {}
    carried: dict[str, int] = {}
    for thread in threads:
        for node in thread.nodes():
            digest = thread.tree[node].block.digest
            where.setdefault(digest, []).append((thread, node))
            weight = thread.running.block_tokens(node) * thread.stays.count(node, len(thread.calls))
            carried[digest] = carried.get(digest, 0) + weight
    # Money follows tokens x calls but for the rates: far more candidates than are wanted are priced.
    likely = sorted(carried, key=lambda digest: -carried[digest])[: most * _CANDIDATES]
    found = [_heavy(where[digest]) for digest in likely if carried[digest]]
    # What cost nothing, or nobody knows how much, is not dear.
    return sorted((one for one in found if one.usd > 0), key=lambda one: (-one.usd, -one.tokens * one.calls))[:most]


def _heavy(places: list[tuple[ThreadCosts, int]]) -> DearBlock:
    thread, node = places[0]
    usd = sum(there.input_usd(at) for there, at in places)
    calls = sum(stop - start for there, at in places for start, stop, _ in there.ledger.read_in(at, there.ledger.done))
    gone = [there.gone(at) for there, at in places]
    running = thread.running
    return DearBlock(node, running.category(node), running.block_tokens(node), usd, calls, 0 if 0 in gone else gone[0])
