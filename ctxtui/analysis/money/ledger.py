"""The ledger: what each block and each category has cost so far, from the reports and prices of a thread's calls."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import add
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.content.block_lifetimes import Lifetime, Stays
from ctxtui.analysis.figures import reattached_tokens, unrecorded_tokens
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.call import Call
from ctxtui.core.category import CATEGORIES, INDEX
from ctxtui.core.tree import ROOT
from ctxtui.pricing.price import Cost

_THINKING = INDEX["thinking"]
_WIDTH: Final = len(CATEGORIES) + 2
_CHUNK = 64
"""Calls whose least cached depth is kept as one figure, so that a block's cost takes few steps in long sessions."""


class Charged(Struct, frozen=True):
    """What a call took for one token of ours, in USD: for blocks down to depth `read` of its context the first of
    `rates`, down to depth `write` the second, below that the third; `answer` for a token of its answer."""

    read: int
    write: int
    rates: tuple[float, float, float]
    answer: float

    def rate(self, depth: int) -> float:
        """USD for one token of the block at `depth`."""
        return self.rates[(depth > self.read) + (depth > self.write)]


_FREE = Charged(0, 0, (0.0, 0.0, 0.0), 0.0)


class CostLedger:
    """Running costs of one thread, entered call by call with `advance`; only calls with report and price count.

    `stays` knows in which of the thread's calls each block stood; it is taken on with the ledger.
    """

    def __init__(self, book: Book, running: RunningTotals, stays: Stays) -> None:
        self._book = book
        self._running = running
        self.version = running.version
        """That of the weights behind the tokens that costs were shared out by."""
        self.stays = stays
        self._reads, self._writes = array("i"), array("i")
        """The members of `Charged`, a column for each (of the rates one for all three)."""
        self._rates, self._answers = array("d"), array("d")
        self._sums = array("d", [0.0])
        self._least: list[int] = []
        self._by_category = array("d", [0.0] * _WIDTH)
        """USD by category index, then of what is not recorded and of what was attached again, of the first n calls, one
        after another."""
        self.changes = 0
        """How often a call was entered, or calls were taken back: what was worked out holds until then."""
        self._turns = array("i")
        self._path: list[int] = []
        self._cached: dict[int, tuple[int, int]] = {}
        """By tokens: the last call whose cached part was so long, and the node at which that ends."""

    @property
    def done(self) -> int:
        """How many calls are entered."""
        return len(self._answers)

    def advance(self, calls: Sequence[Call], costs: Mapping[str, Cost | None], limit: int) -> int:
        """Enter up to `limit` further `calls` of the thread, as far as they are counted and priced; returns `done`."""
        for index in range(self.done, min(len(calls), self.done + limit)):
            call = calls[index]
            if call.id not in costs or not self._running.is_counted(max(call.sent_head, call.response_head)):
                break
            self.stays.advance(calls, index + 1 - self.stays.done)
            self._enter(index, call, costs[call.id])
        return self.done

    def _enter(self, index: int, call: Call, cost: Cost | None) -> None:
        tree, path = self._book.session.tree, self._path
        shared = tree.common(path[-1] if path else ROOT, call.sent_head)
        del path[tree[shared].depth :]
        path.extend(tree.path(call.sent_head, shared))
        charged, parts = self._charge(call, cost)
        self._turns.append(tree[call.sent_head].turn)
        self._sums.append(self._sums[-1] + charged.rates[0])
        if index % _CHUNK == 0:
            self._least.append(charged.read)
        self._least[-1] = min(self._least[-1], charged.read)
        self._by_category.extend(map(add, self._by_category[-_WIDTH:], parts))
        # Last, since `done` counts these: another thread may read while this one enters.
        self._reads.append(charged.read)
        self._writes.append(charged.write)
        self._rates.extend(charged.rates)
        self._answers.append(charged.answer)
        self.changes += 1

    def _charge(self, call: Call, cost: Cost | None) -> tuple[Charged, tuple[float, ...]]:
        usage, running = call.usage, self._running
        missing = unrecorded_tokens(self._book, call)
        total = missing + running.read_tokens(call.sent_head, call.sent_head)
        if usage is None or not usage.input or not total:
            return _FREE, (0.0,) * _WIDTH
        scale = total / usage.input
        ends = [usage.cache_read * scale, (usage.cache_read + usage.cache_write) * scale, float(total)]
        # What an earlier call had cached ends where that call says, however its blocks are counted.
        _, node = self._cached.get(usage.cache_read, (0, ROOT))
        known = node != ROOT and self._book.session.tree.holds(call.sent_head, node)
        told = missing + running.read_tokens(call.sent_head, node) if known else 0
        if known and 0.5 < (ends[1] - told) / (ends[1] - ends[0] or 1) < 2:
            # Else most of what it wrote is in no block, and not to be charged to the few that are.
            ends[0] = told
        read, write = (self._blocks_until(call.sent_head, end - missing) for end in ends[:2])
        read = self._book.session.tree[node].depth if known else read
        write = max(read, write) if usage.cache_write else read
        if write:
            self._cached[usage.cache_read + usage.cache_write] = self.done, self._path[write - 1]
        if cost is None:
            return Charged(read, write, (0.0, 0.0, 0.0), 0.0), (0.0,) * _WIDTH
        counts = (ends[0], ends[1] - ends[0], ends[2] - ends[1])
        rates = [usd / n if n else 0.0 for usd, n in zip((cost.read, cost.write, cost.fresh), counts, strict=True)]
        answer = cost.output / call.output if call.output else 0.0
        charged = Charged(read, write, (rates[0], rates[1], rates[2]), answer)
        front = missing - reattached_tokens(self._book, call)
        return charged, self._categories(call.sent_head, charged, (front, missing), ends)

    def _blocks_until(self, head: int, token: float) -> int:
        """How many blocks of the path lie more than half before `token`."""
        read, tree = self._running.token_reader(head), self._book.session.tree
        return bisect_right(self._path, 2 * token, key=lambda node: read(node) + read(tree[node].parent))

    def _categories(
        self, head: int, charged: Charged, lacks: tuple[int, int], ends: Sequence[float]
    ) -> tuple[float, ...]:
        """USD by category, then of what is not recorded and of what was attached again: `lacks` are the tokens in front
        of the blocks up to the end of the one and of the other."""
        parts, before, start = [0.0] * len(CATEGORIES), [0.0] * len(CATEGORIES), 0.0
        front, missing = lacks
        lacking = again = 0.0
        for end, rate in zip(ends, charged.rates, strict=True):
            sums = self._sums_until(head, end - missing)
            parts = [p + (s - b) * rate for p, s, b in zip(parts, sums, before, strict=True)]
            own = min(front, end) - min(front, start)
            lacking += own * rate
            again += (min(missing, end) - min(missing, start) - own) * rate
            before, start = sums, end
        return (*parts, lacking, again)

    def _sums_until(self, head: int, token: float) -> list[float]:
        """Tokens by category of the context `head` up to `token`, which may stand inside a block."""
        running, path, read = self._running, self._path, self._running.token_reader(head)
        whole = bisect_right(path, token, key=read)
        last = path[whole - 1] if whole else ROOT
        sums = [float(n) for n in running.sums(head, last)]
        if whole < len(path) and token > 0:
            # The block that `token` stands in may count in several categories: each gets the same share of its own.
            after = running.sums(head, path[whole])
            part = (token - read(last)) / ((read(path[whole]) - read(last)) or 1)
            sums = [before + (till - before) * part for before, till in zip(sums, after, strict=True)]
        return sums

    def back(self, calls: int) -> None:
        """Keep the first `calls` calls only: the next one was replaced by a fuller record of it."""
        if calls >= self.done:
            return
        self.changes += 1
        # First, for the same reason as they are entered last.
        del self._answers[calls:]
        del self._reads[calls:], self._writes[calls:], self._rates[3 * calls :]
        del self._turns[calls:], self._sums[calls + 1 :], self._by_category[_WIDTH * (calls + 1) :]
        del self._least[-(-calls // _CHUNK) :]
        self._cached = {tokens: one for tokens, one in self._cached.items() if one[0] < calls}
        if calls % _CHUNK:
            self._least[-1] = min(self._reads[calls - calls % _CHUNK :])

    def categories(self, calls: int) -> tuple[float, ...]:
        """USD by category index over the first `calls` calls (at most `done`); then what is not recorded, last what was
        attached again."""
        return tuple(self._by_category[_WIDTH * calls : _WIDTH * (calls + 1)])

    def block(self, node: int, tokens: int, calls: int) -> float | None:
        """USD that the block of `node` with its `tokens` has cost over the first `calls` calls, wherever in their
        contexts it stood: written once as an answer, then part of every context that held it. None while the first
        call that held it is not entered."""
        last, made = min(calls, self.done), self.stays.answered(node)
        first = self.stays.first(node)
        if not any(at is not None and at < self.done for at in (made, first)):
            return None
        usd = self._answers[made] if made is not None and made < last else 0.0
        return tokens * (usd + self.rate(node, 0, last))

    def read_in(self, node: int, calls: int) -> list[Lifetime]:
        """The stretches of the first `calls` calls in which the provider read the block of `node`: thinking only to the
        end of its turn where it is taken out then."""
        tree = self._book.session.tree
        every = self.stays.stretches(node, min(calls, self.done))
        if tree[node].category != _THINKING or not self._running.strips_thinking:
            return every
        return [
            Lifetime(start, bisect_right(self._turns, tree[there].turn, lo=start, hi=stop), there)
            if tree[there].turn_start != ROOT
            else Lifetime(start, stop, there)
            for start, stop, there in every
        ]

    def stood(self, node: int, calls: int) -> list[tuple[int, int, int]]:
        """The same with the depth at which it stood."""
        tree = self._book.session.tree
        return [(start, stop, tree[there].depth) for start, stop, there in self.read_in(node, calls)]

    def part(self, index: int, depth: int) -> int:
        """Whether call `index` (from 0) read the block at `depth` (0), wrote it (1), or did neither (2)."""
        return (depth > self._reads[index]) + (depth > self._writes[index])

    def rate(self, node: int, since: int, calls: int) -> float:
        """USD that calls `since` (from 0) to `calls` - 1 took for carrying one token of the block of `node`."""
        return sum(
            self.carried(depth, max(start, since), stop)
            for start, stop, depth in self.stood(node, calls)
            if stop > since
        )

    def charged(self, index: int) -> Charged:
        """What call `index` (from 0, below `done`) took for one token of ours."""
        first, second, third = self._rates[3 * index : 3 * index + 3]
        return Charged(self._reads[index], self._writes[index], (first, second, third), self._answers[index])

    def carried(self, depth: int, first: int, last: int) -> float:
        """The sum of what calls `first` to `last` - 1 took for one token at `depth`."""
        total, at = 0.0, first
        while at < last:
            chunk = at // _CHUNK
            end = min(last, (chunk + 1) * _CHUNK)
            if self._least[chunk] >= depth:
                total += self._sums[end] - self._sums[at]
            else:
                for index in range(at, end):
                    total += self._rates[3 * index + self.part(index, depth)]
            at = end
        return total
