"""The bill: a session's cost as a sum of parts (`PARTS`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.figures import figures
from ctxtui.analysis.money.input_split import NO_COST, CostSum, split_input
from ctxtui.analysis.money.resent import Resent, ResentTracker
from ctxtui.analysis.running_totals import running_totals
from ctxtui.core.call import COUNTED, Call, answer_path
from ctxtui.core.session import MAIN
from ctxtui.pricing.price import Cost, further_usage, known_usd, lacks_price


def round_to_sum(amounts: Sequence[float], decimals: int = 2) -> list[float]:
    """Round `amounts` to `decimals`, so that the displayed values add up to the displayed sum."""
    unit = 10**decimals
    scaled = [amount * unit for amount in amounts]
    rounded_down = [int(amount // 1) for amount in scaled]
    # Rounded like displayed figures: half a cent may be slightly above or below in binary.
    short = round(round(sum(amounts), decimals) * unit) - sum(rounded_down)
    order = sorted(range(len(scaled)), key=lambda i: rounded_down[i] - scaled[i])
    for index in order[: max(0, short)]:
        rounded_down[index] += 1
    return [amount / unit for amount in rounded_down]


CARRY, REWRITES, FIRST, OUTPUT, OTHER, RECORDED = "carry", "rewrites", "first writes", "output", "other", "recorded"
WARM: Final = "keep warm"
PARTS: Final = (CARRY, REWRITES, FIRST, OUTPUT, WARM, OTHER, RECORDED)
"""Parts of a bill, in order.

- ``carry``: input that was sent before and is paid again as usual: read from the cache or, without one, at full price.
- ``rewrites``: the extra cost over a read of input that the cache had held and that was not read from it.
- ``first writes``: input sent for the first time.
- ``output``: answers.
- ``keep warm``: whole requests that ctxtui sent to keep a cached prefix from expiring.
- ``other``: web searches, and further model calls that the provider makes within an answer (its *passes*).
- ``recorded``: calls without a list price, by the cost in their record, which cannot be split.
"""


class ResidualSum(NamedTuple):
    """Residuals of one sign: their `tokens` (positive), and USD at each call's input cost."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def plus(self, usd: float, tokens: int, calls: int = 1) -> ResidualSum:
        return ResidualSum(self.usd + usd, self.tokens + tokens, self.calls + calls)


NO_RESIDUAL: Final = ResidualSum()


class Bill(Struct, kw_only=True):
    """Cost of calls. `parts` by name add up to `usd`.

    - `threads`: USD by thread id.
    - `priced`: number of calls with a known cost, also free ones; `unpriced`: by model, those without a complete price.
    - `unreported`: calls without any report.
    - `partial`: calls that are not fully reported; `likely`: the part of their answers that is not charged here.
    - `beyond`, `short`: residuals of the calls (`figures`): reported input beyond blocks and known missing input, and
      blocks that exceed the report. They are no parts: their cost is spread over the parts.
    """

    parts: dict[str, CostSum] = field(default_factory=lambda: dict.fromkeys(PARTS, NO_COST))
    rewrites: list[CacheMiss] = field(default_factory=list)
    threads: dict[str, float] = field(default_factory=dict)
    in_full: CostSum = NO_COST
    """Part of ``carry`` that was paid at full price or written: no cache, or one that fell short."""
    priced: int = 0
    unpriced: dict[str, int] = field(default_factory=dict)
    unreported: int = 0
    partial: int = 0
    likely: CostSum = NO_COST
    beyond: ResidualSum = NO_RESIDUAL
    short: ResidualSum = NO_RESIDUAL

    @property
    def at_least(self) -> bool:
        """Whether `usd` is only a lower bound."""
        return bool(self.unpriced) or self.partial > 0

    @property
    def usd(self) -> float | None:
        """USD of all calls with a known price; None if none has one."""
        return sum(part.usd for part in self.parts.values()) if self.priced else None

    @property
    def subagents(self) -> float:
        """Cost share (0 to 1) of threads other than the main one, without what kept caches warm."""
        whole = sum(self.threads.values()) - self.parts[WARM].usd
        return 1 - self.threads.get(MAIN, 0.0) / whole if whole else 0.0

    def add(self, name: str, usd: float, tokens: int) -> None:
        self.parts[name] = self.parts[name].plus(usd, tokens)

    def add_bill(self, bill: Bill, prefix: str = "") -> None:
        """Add another session's bill; its threads get `prefix`, except the main one."""
        for name, part in bill.parts.items():
            self.add(name, part.usd, part.tokens)
        self.rewrites += bill.rewrites
        for thread, usd in bill.threads.items():
            name = thread if thread == MAIN else prefix + thread
            self.threads[name] = self.threads.get(name, 0.0) + usd
        self.in_full = self.in_full.plus(*bill.in_full)
        self.priced += bill.priced
        self.unreported += bill.unreported
        self.partial += bill.partial
        self.likely = self.likely.plus(*bill.likely)
        self.beyond = self.beyond.plus(*bill.beyond)
        self.short = self.short.plus(*bill.short)
        for model, count in bill.unpriced.items():
            self.unpriced[model] = self.unpriced.get(model, 0) + count


def make_bill(
    book: Book, costs: Mapping[str, Cost | None], missed: Iterable[CacheMiss], only: frozenset[str] | None = None
) -> Bill:
    """Build the bill of a session, which must be counted whole.

    `costs` has every call's price by id (None: unknown), `missed` are its misses. With `only`, just the calls with
    these ids are billed.
    """
    total = Bill()
    running = running_totals(book)
    losses = {(miss.thread, miss.number): miss for miss in missed}
    for thread in book.session.order:
        sending = ResentTracker(book, running)
        for number, call in enumerate(book.session.thread_calls(thread), 1):
            resent = sending.add_call(call)
            if only is None or call.id in only:
                cost = costs.get(call.id)
                _add_call(total, call, cost, resent, losses.get((thread, number)))
                _add_residual(total, book, call, cost)
                if call.is_partial:
                    total.partial += 1
                    total.likely = total.likely.plus(*_unreported_answer(book, call, cost))
    return total


def _add_residual(bill: Bill, book: Book, call: Call, cost: Cost | None) -> None:
    usage = call.usage
    residual = figures(book, call).residual if usage is not None else 0
    if usage is None or not residual:
        return
    usd = 0.0 if cost is None else (cost.usd - cost.output - cost.other) * abs(residual) / (usage.input or 1)
    if residual > 0:
        bill.beyond = bill.beyond.plus(usd, residual)
    else:
        bill.short = bill.short.plus(usd, -residual)


def _unreported_answer(book: Book, call: Call, cost: Cost | None) -> CostSum:
    tokens = sum(book.block_tokens(call.model, node) for node in answer_path(book.session.tree, call))
    more = max(0, tokens - call.output)
    return CostSum(cost.output / call.output * more if cost is not None and call.output else 0.0, more)


def _add_call(bill: Bill, call: Call, cost: Cost | None, resent: Resent, missed: CacheMiss | None) -> None:
    usage = call.usage
    if usage is None or not call.is_reported:
        free = call.stop_reason == COUNTED
        bill.priced, bill.unreported = bill.priced + free, bill.unreported + (not free)
        return
    lost_tokens = missed.tokens if missed is not None else 0
    if missed is not None:
        bill.rewrites.append(missed)
    usd = known_usd(call, cost)
    if lacks_price(call, cost):
        bill.unpriced[call.model] = bill.unpriced.get(call.model, 0) + 1
    if usd is None:
        bill.add(REWRITES, 0.0, lost_tokens)
        return
    bill.priced += 1
    bill.threads[call.thread] = bill.threads.get(call.thread, 0.0) + usd
    if call.keeps_warm:
        bill.add(WARM, usd, usage.input + call.output)
        return
    if cost is None:
        bill.add(RECORDED, usd, usage.input + call.output - lost_tokens)
        bill.add(REWRITES, 0.0, lost_tokens)
        return
    split = split_input(usage, cost, resent, lost_tokens)
    more = split.rewrite.usd if missed is None or missed.usd is None else missed.usd
    bill.add(CARRY, split.carry.usd + split.rewrite.usd - more, split.carry.tokens)
    bill.add(REWRITES, more, split.rewrite.tokens)
    bill.add(FIRST, *split.first)
    bill.in_full = bill.in_full.plus(split.carry.usd - cost.read, split.carry.tokens - usage.cache_read)
    bill.add(OUTPUT, cost.output, call.output)
    further = further_usage(call)
    bill.add(OTHER, cost.other, further.input + further.output)
