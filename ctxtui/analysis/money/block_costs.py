"""Cost of single blocks over a session, from the ledgers of its threads.

A thread's ledger has what each of its calls paid for a token that was read from the cache, written to it, or neither.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.figures import unrecorded_tokens
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.money.resent import Resent, ResentTracker
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import HEADER
from ctxtui.pricing.price import Cost

_CANDIDATES_PER_BLOCK = 50
"""Blocks priced for each one requested."""


class ExpensiveBlock(Struct, frozen=True):
    """A block that was expensive to carry.

    - `calls`: number of its uses, once for each call and position.
    - `gone`: the call (from 1) from which on it is no longer in its thread's context; 0 if it still is.
    """

    node: int
    category: int
    tokens: int
    usd: float
    calls: int
    gone: int = 0


class ThreadCosts:
    """Ledger of one thread of a counted book, with the lifetimes of its blocks.

    It includes the calls up to number `until`; `running` counts all of them, as one model does.
    """

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
        self.lifetimes = BlockLifetimes(self.tree)
        self.lifetimes.advance(self.calls)
        self.ledger = CostLedger(book, running, self.lifetimes)
        self.ledger.advance(self.calls, costs, len(self.calls))
        self._book = book
        self._resent: list[Resent] | None = None

    def nodes(self) -> list[int]:
        """First node of every block that was sent, without headers."""
        return [node for node in self.lifetimes.all_nodes() if self.tree[node].block.kind != HEADER]

    def unrecorded_tokens(self, index: int) -> int:
        return unrecorded_tokens(self._book, self.calls[index])

    def kept_tokens(self, index: int) -> int:
        """Input tokens of call `index` in its common prefix with an earlier call."""
        if self._resent is None:
            sending = ResentTracker(self._book, lambda _: self.running)
            self._resent = [sending.add_call(call) for call in self.calls]
        return self._resent[index].prefix_tokens

    def gone_since(self, node: int) -> int:
        """Call (from 1) from which on the block of `node` is absent, by record or reports.

        0: the last call had it.
        """
        last = len(self.calls) - 1
        last_node = self.lifetimes.node_at_call(node, last)
        if last_node is None:
            return max((stop for _, stop, _ in self.lifetimes.stretches(node, last + 1)), default=0) + 1
        absent = self._book.contexts.absences_at(self.calls[last].sent_head).get(last_node)
        return absent.since if absent is not None else 0

    def input_usd(self, node: int, since: int = 0) -> float:
        """USD of carrying the block of `node` in calls from `since` on."""
        return self.ledger.rate(node, since, self.ledger.done) * self.running.block_tokens(node)


def thread_costs(book: Book, costs: Mapping[str, Cost | None]) -> list[ThreadCosts]:
    """Costs of every thread with calls; the book must be counted whole."""
    running: dict[str, RunningTotals] = {}
    threads = []
    for thread, ids in list(book.session.order.items()):
        if ids:
            model = book.session.calls[ids[-1]].model
            if model not in running:
                running[model] = RunningTotals(book, model)
                running[model].advance()
            threads.append(ThreadCosts(book, thread, running[model], costs))
    return threads


def most_expensive_blocks(threads: list[ThreadCosts], limit: int) -> list[ExpensiveBlock]:
    """The `limit` most expensive blocks over all threads; one in several positions counts once."""
    places_by_digest: dict[str, list[tuple[ThreadCosts, int]]] = {}
    carried: dict[str, int] = {}
    for thread in threads:
        for node in thread.nodes():
            digest = thread.tree[node].block.digest
            places_by_digest.setdefault(digest, []).append((thread, node))
            weight = thread.running.block_tokens(node) * thread.lifetimes.count_calls(node, len(thread.calls))
            carried[digest] = carried.get(digest, 0) + weight
    # Cost is roughly proportional to tokens x calls: far more candidates than requested are priced.
    likely = sorted(carried, key=lambda digest: -carried[digest])[: limit * _CANDIDATES_PER_BLOCK]
    blocks = [_sum_block(places_by_digest[digest]) for digest in likely if carried[digest]]
    # Blocks without a (known) cost are left out.
    return sorted(
        (block for block in blocks if block.usd > 0), key=lambda block: (-block.usd, -block.tokens * block.calls)
    )[:limit]


def _sum_block(places: list[tuple[ThreadCosts, int]]) -> ExpensiveBlock:
    thread, node = places[0]
    usd = sum(thread_costs.input_usd(at) for thread_costs, at in places)
    calls = sum(
        stop - start
        for thread_costs, at in places
        for start, stop, _ in thread_costs.ledger.read_in(at, thread_costs.ledger.done)
    )
    gone_calls = [thread_costs.gone_since(at) for thread_costs, at in places]
    running = thread.running
    return ExpensiveBlock(
        node, running.category(node), running.block_tokens(node), usd, calls, 0 if 0 in gone_calls else gone_calls[0]
    )
