"""Cost of each block and category so far, from reports and prices of a thread's calls."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import add
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.content.block_lifetimes import BlockLifetimes, Lifetime
from ctxtui.analysis.figures import reattached_tokens, unrecorded_tokens
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.call import Call
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.tree import ROOT
from ctxtui.pricing.price import Cost

_THINKING = INDEX["thinking"]
_WIDTH: Final = len(CATEGORIES) + 2
"""Figures of a call: one for each category, unrecorded input, re-attached input."""
_CALLS_PER_CHUNK = 64
"""Calls for which the minimum cached depth is stored, so that a block's cost takes few steps."""


class CallRates(Struct, frozen=True):
    """Rates of a call for one counted token, in USD.

    `rates`: for the first `read` blocks of its context, for those up to number `write`, and for all later blocks.
    `answer`: for its answer.
    """

    read: int
    write: int
    rates: tuple[float, float, float]
    answer: float

    def rate(self, depth: int) -> float:
        return self.rates[(depth > self.read) + (depth > self.write)]


_NO_RATES = CallRates(0, 0, (0.0, 0.0, 0.0), 0.0)


class CostLedger:
    """Running costs of one thread, added call by call with `advance`.

    Calls without report, price or context cost nothing. `lifetimes` is advanced with the ledger.
    """

    def __init__(self, book: Book, running: RunningTotals, lifetimes: BlockLifetimes) -> None:
        self._book = book
        self._running = running
        self.version = running.version
        """Version of the weights that costs were shared out by."""
        self.lifetimes = lifetimes
        self._reads, self._writes = array("i"), array("i")
        """The members of `CallRates`, a column for each (of the rates one for all three)."""
        self._rates, self._answers = array("d"), array("d")
        self._sums = array("d", [0.0])
        """Running sum of the first rate (of reads) over the calls."""
        self._least: list[int] = []
        """Minimum depth that was read, by chunk of calls."""
        self._by_category = array("d", [0.0] * _WIDTH)
        """USD by category index, then of unrecorded and re-attached input, of the first n calls, one after another."""
        self.changes = 0
        """Number of changes so far."""
        self._turns = array("i")
        """By call: `Node.turn` at the end of its context."""
        self._path: list[int] = []
        self._cached: dict[int, tuple[int, int]] = {}
        """By tokens: the last call with a cached part of that length, and the node at its end."""

    @property
    def done(self) -> int:
        """Number of calls added."""
        return len(self._answers)

    def advance(self, calls: Sequence[Call], costs: Mapping[str, Cost | None], limit: int) -> int:
        """Add at most `limit` further `calls` of the thread; returns `done`.

        It stops at the first call that is not counted yet or has no entry in `costs` (by id; None: price unknown).
        """
        for index in range(self.done, min(len(calls), self.done + limit)):
            call = calls[index]
            if call.id not in costs or not self._running.is_counted(max(call.sent_head, call.response_head)):
                break
            self.lifetimes.advance(calls, index + 1 - self.lifetimes.done)
            self._add_call(index, call, costs[call.id])
        return self.done

    def _add_call(self, index: int, call: Call, cost: Cost | None) -> None:
        tree, path = self._book.session.tree, self._path
        shared = tree.common(path[-1] if path else ROOT, call.sent_head)
        del path[tree[shared].depth :]
        path.extend(tree.path(call.sent_head, shared))
        charged, parts = self._compute_rates(call, cost)
        self._turns.append(tree[call.sent_head].turn)
        self._sums.append(self._sums[-1] + charged.rates[0])
        if index % _CALLS_PER_CHUNK == 0:
            self._least.append(charged.read)
        self._least[-1] = min(self._least[-1], charged.read)
        self._by_category.extend(map(add, self._by_category[-_WIDTH:], parts))
        # Last, because `done` counts these and another thread may be reading.
        self._reads.append(charged.read)
        self._writes.append(charged.write)
        self._rates.extend(charged.rates)
        self._answers.append(charged.answer)
        self.changes += 1

    def _compute_rates(self, call: Call, cost: Cost | None) -> tuple[CallRates, tuple[float, ...]]:
        usage, running = call.usage, self._running
        missing = unrecorded_tokens(self._book, call)
        total = missing + running.read_tokens(call.sent_head, call.sent_head)
        if usage is None or not usage.input or not total:
            return _NO_RATES, (0.0,) * _WIDTH
        scale = total / usage.input
        ends = [usage.cache_read * scale, (usage.cache_read + usage.cache_write) * scale, float(total)]
        # The end of an earlier call's cached part is taken from that call, not from the counts.
        _, node = self._cached.get(usage.cache_read, (0, ROOT))
        has_end = node != ROOT and self._book.session.tree.holds(call.sent_head, node)
        end_token = missing + running.read_tokens(call.sent_head, node) if has_end else 0
        if has_end and 0.5 < (ends[1] - end_token) / (ends[1] - ends[0] or 1) < 2:
            # Otherwise most of its writes are unrecorded, and must not be charged to the few recorded blocks.
            ends[0] = end_token
        read, write = (self._count_blocks_until(call.sent_head, end - missing) for end in ends[:2])
        read = self._book.session.tree[node].depth if has_end else read
        write = max(read, write) if usage.cache_write else read
        if write:
            self._cached[usage.cache_read + usage.cache_write] = self.done, self._path[write - 1]
        if cost is None:
            return CallRates(read, write, (0.0, 0.0, 0.0), 0.0), (0.0,) * _WIDTH
        counts = (ends[0], ends[1] - ends[0], ends[2] - ends[1])
        rates = [usd / n if n else 0.0 for usd, n in zip((cost.read, cost.write, cost.fresh), counts, strict=True)]
        answer = cost.output / call.output if call.output else 0.0
        charged = CallRates(read, write, (rates[0], rates[1], rates[2]), answer)
        front = missing - reattached_tokens(self._book, call)
        return charged, self._cost_by_category(call.sent_head, charged, (front, missing), ends)

    def _count_blocks_until(self, head: int, token: float) -> int:
        read, tree = self._running.token_reader(head), self._book.session.tree
        return bisect_right(self._path, 2 * token, key=lambda node: read(node) + read(tree[node].parent))

    def _cost_by_category(
        self, head: int, charged: CallRates, lacks: tuple[int, int], ends: Sequence[float]
    ) -> tuple[float, ...]:
        parts, before, start = [0.0] * len(CATEGORIES), [0.0] * len(CATEGORIES), 0.0
        front, missing = lacks
        lacking = reattached = 0.0
        for end, rate in zip(ends, charged.rates, strict=True):
            sums = self._sums_until(head, end - missing)
            parts = [p + (s - b) * rate for p, s, b in zip(parts, sums, before, strict=True)]
            front_part = min(front, end) - min(front, start)
            lacking += front_part * rate
            reattached += (min(missing, end) - min(missing, start) - front_part) * rate
            before, start = sums, end
        return (*parts, lacking, reattached)

    def _sums_until(self, head: int, token: float) -> list[float]:
        running, path, read = self._running, self._path, self._running.token_reader(head)
        complete_blocks = bisect_right(path, token, key=read)
        last = path[complete_blocks - 1] if complete_blocks else ROOT
        sums = [float(n) for n in running.sums(head, last)]
        if complete_blocks < len(path) and token > 0:
            # The block at `token` may count in several categories: the same share of it counts in each.
            after = running.sums(head, path[complete_blocks])
            part = (token - read(last)) / ((read(path[complete_blocks]) - read(last)) or 1)
            sums = [before + (sum_after - before) * part for before, sum_after in zip(sums, after, strict=True)]
        return sums

    def truncate(self, calls: int) -> None:
        """Forget all but the first `calls` calls."""
        if calls >= self.done:
            return
        self.changes += 1
        # First, because `done` counts these and another thread may be reading.
        del self._answers[calls:]
        del self._reads[calls:], self._writes[calls:], self._rates[3 * calls :]
        del self._turns[calls:], self._sums[calls + 1 :], self._by_category[_WIDTH * (calls + 1) :]
        del self._least[-(-calls // _CALLS_PER_CHUNK) :]
        self._cached = {tokens: entry for tokens, entry in self._cached.items() if entry[0] < calls}
        if calls % _CALLS_PER_CHUNK:
            self._least[-1] = min(self._reads[calls - calls % _CALLS_PER_CHUNK :])

    def categories(self, calls: int) -> tuple[float, ...]:
        """USD by category index over the first `calls` calls.

        The last two are unrecorded and re-attached input.
        """
        return tuple(self._by_category[_WIDTH * calls : _WIDTH * (calls + 1)])

    def block_usd(self, node: int, tokens: int, calls: int) -> float | None:
        """USD that the block of `node` cost in the first `calls` calls, as answer and as input.

        It has `tokens` tokens. None until a call that held it, or answered with it, is added.
        """
        last, answering_call = min(calls, self.done), self.lifetimes.answering_call(node)
        first = self.lifetimes.first_call(node)
        if not any(call_index is not None and call_index < self.done for call_index in (answering_call, first)):
            return None
        usd = self._answers[answering_call] if answering_call is not None and answering_call < last else 0.0
        return tokens * (usd + self.rate(node, 0, last))

    def read_in(self, node: int, calls: int) -> list[Lifetime]:
        """Stretches of the first `calls` calls in which the provider read the block of `node`.

        Thinking is read only to the end of its turn if the provider removes it then.
        """
        tree = self._book.session.tree
        every = self.lifetimes.stretches(node, min(calls, self.done))
        if tree[node].category != _THINKING or not self._running.strips_thinking:
            return every
        return [
            Lifetime(start, bisect_right(self._turns, tree[there].turn, lo=start, hi=stop), there)
            if tree[there].turn_start != ROOT
            else Lifetime(start, stop, there)
            for start, stop, there in every
        ]

    def read_with_depth(self, node: int, calls: int) -> list[tuple[int, int, int]]:
        """Like `read_in`, as (start, stop, depth of the block)."""
        tree = self._book.session.tree
        return [(start, stop, tree[there].depth) for start, stop, there in self.read_in(node, calls)]

    def input_part(self, index: int, depth: int) -> int:
        """Part of the input of call `index` (from 0) that holds the block at `depth`.

        0 is read from the cache, 1 written to it, 2 neither.
        """
        return (depth > self._reads[index]) + (depth > self._writes[index])

    def rate(self, node: int, since: int, calls: int) -> float:
        """USD of carrying one token of the block of `node` in calls `since` (from 0) to `calls` - 1."""
        return sum(
            self.sum_rates(depth, max(start, since), stop)
            for start, stop, depth in self.read_with_depth(node, calls)
            if stop > since
        )

    def rates_of(self, index: int) -> CallRates:
        """The rates of call `index` (from 0)."""
        first, second, third = self._rates[3 * index : 3 * index + 3]
        return CallRates(self._reads[index], self._writes[index], (first, second, third), self._answers[index])

    def sum_rates(self, depth: int, first: int, last: int) -> float:
        """Sum of the rates of calls `first` to `last` - 1 for one token at `depth`."""
        total, call_index = 0.0, first
        while call_index < last:
            chunk = call_index // _CALLS_PER_CHUNK
            end = min(last, (chunk + 1) * _CALLS_PER_CHUNK)
            if self._least[chunk] >= depth:
                total += self._sums[end] - self._sums[call_index]
            else:
                for index in range(call_index, end):
                    total += self._rates[3 * index + self.input_part(index, depth)]
            call_index = end
        return total
