"""The bill: what a session cost, as a sum of carrying, rewriting, writing for the first time, and answering.

One call's money is split by what its input was: carried, rewritten, or sent for the first time. Parts are rounded so
that they add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.missed import Missed
from ctxtui.analysis.figures import figures
from ctxtui.analysis.money.input_split import NOTHING, Sum, split_of
from ctxtui.analysis.money.resent import Resent, Sending
from ctxtui.analysis.running_totals import running_of
from ctxtui.core.call import COUNTED, Call, answer_path
from ctxtui.core.session import MAIN
from ctxtui.pricing.price import Cost, further_usage, known_usd, lacks_price


def to_the_cent(amounts: Sequence[float], decimals: int = 2) -> list[float]:
    """`amounts` rounded so that what is shown adds up to the sum as it is shown: the largest remainders round up."""
    unit = 10**decimals
    scaled = [amount * unit for amount in amounts]
    whole = [int(amount // 1) for amount in scaled]
    # Rounded as figures are drawn: half of a cent may lie a hair above or below in binary.
    short = round(round(sum(amounts), decimals) * unit) - sum(whole)
    order = sorted(range(len(scaled)), key=lambda i: whole[i] - scaled[i])
    for index in order[: max(0, short)]:
        whole[index] += 1
    return [amount / unit for amount in whole]


CARRY, REWRITES, FIRST, OUTPUT, OTHER, RECORDED = "carry", "rewrites", "first writes", "output", "other", "recorded"
PARTS: Final = (CARRY, REWRITES, FIRST, OUTPUT, OTHER, RECORDED)
"""The parts of a bill, in order. `carry`: input sent before and paid again in the ordinary way, read from the cache or,
where there is none, at full price. `rewrites`: input that the cache had held and that was not read from it, and what
it cost more than a read. `first writes`: input sent for the first time. `other`: web searches and passes of the
provider's own. `recorded`: calls without a list price, by the figure in their record, which cannot be split."""


class ResidualSum(NamedTuple):
    """Residuals of one sign: their tokens (positive) over `calls` calls, and USD at what each call's input cost."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def plus(self, usd: float, tokens: int, calls: int = 1) -> ResidualSum:
        """With so much more."""
        return ResidualSum(self.usd + usd, self.tokens + tokens, self.calls + calls)


NO_RESIDUAL: Final = ResidualSum()


class Bill(Struct, kw_only=True):
    """What calls cost. `parts` by name add up to `usd`; `threads` are USD by thread id; `unpriced` counts calls with a
    report and no known price, by model; `unreported` those without any report; `partial` those whose answer is reported
    in part, and `likely` what their blocks come to by our count beyond what is charged for them here. `beyond` and
    `short` are the residuals of the calls (`figures`): input reported beyond blocks and what is known to be missing,
    and blocks that come to more than the report. They are no parts: their money is spread over those."""

    parts: dict[str, Sum] = field(default_factory=lambda: dict.fromkeys(PARTS, NOTHING))
    rewrites: list[Missed] = field(default_factory=list)
    threads: dict[str, float] = field(default_factory=dict)
    in_full: Sum = NOTHING
    """How much of `carry` was paid at full price or written: no cache, or one that fell short."""
    priced: int = 0
    unpriced: dict[str, int] = field(default_factory=dict)
    unreported: int = 0
    partial: int = 0
    likely: Sum = NOTHING
    beyond: ResidualSum = NO_RESIDUAL
    short: ResidualSum = NO_RESIDUAL

    @property
    def at_least(self) -> bool:
        """Whether `usd` is only the least that the calls can have cost."""
        return bool(self.unpriced) or self.partial > 0

    @property
    def usd(self) -> float | None:
        """USD of all calls with a known price; None where none has one."""
        return sum(part.usd for part in self.parts.values()) if self.priced else None

    @property
    def subagents(self) -> float:
        """The share (0 to 1) of the money that threads other than the main one took."""
        whole = sum(self.threads.values())
        return 1 - self.threads.get(MAIN, 0.0) / whole if whole else 0.0

    def add(self, name: str, usd: float, tokens: int) -> None:
        """Put so much more on one part."""
        self.parts[name] = self.parts[name].plus(usd, tokens)

    def take(self, other: Bill, prefix: str = "") -> None:
        """Add another session's bill; its threads get `prefix`."""
        for name, part in other.parts.items():
            self.add(name, part.usd, part.tokens)
        self.rewrites += other.rewrites
        for thread, usd in other.threads.items():
            name = thread if thread == MAIN else prefix + thread
            self.threads[name] = self.threads.get(name, 0.0) + usd
        self.in_full = self.in_full.plus(*other.in_full)
        self.priced += other.priced
        self.unreported += other.unreported
        self.partial += other.partial
        self.likely = self.likely.plus(*other.likely)
        self.beyond = self.beyond.plus(*other.beyond)
        self.short = self.short.plus(*other.short)
        for model, count in other.unpriced.items():
            self.unpriced[model] = self.unpriced.get(model, 0) + count


def bill(
    book: Book, costs: Mapping[str, Cost | None], missed: Iterable[Missed], only: frozenset[str] | None = None
) -> Bill:
    """The bill of a session, which must be counted whole; `costs` holds every call's price by id, None where unknown,
    `missed` are its misses. With `only`, of those calls alone (each still seen after the ones before it)."""
    found = Bill()
    running = running_of(book)
    losses = {(one.thread, one.number): one for one in missed}
    for thread in book.session.order:
        sending = Sending(book, running)
        for number, call in enumerate(book.session.thread_calls(thread), 1):
            resent = sending.enter(call)
            if only is None or call.id in only:
                cost = costs.get(call.id)
                _enter(found, call, cost, resent, losses.get((thread, number)))
                _leave_over(found, book, call, cost)
                if call.is_partial:
                    found.partial += 1
                    found.likely = found.likely.plus(*_beyond(book, call, cost))
    return found


def _leave_over(to: Bill, book: Book, call: Call, cost: Cost | None) -> None:
    """Put the residual of `call` on the bill."""
    usage = call.usage
    rest = figures(book, call).residual if usage is not None else 0
    if usage is None or not rest:
        return
    usd = 0.0 if cost is None else (cost.usd - cost.output - cost.other) * abs(rest) / (usage.input or 1)
    if rest > 0:
        to.beyond = to.beyond.plus(usd, rest)
    else:
        to.short = to.short.plus(usd, -rest)


def _beyond(book: Book, call: Call, cost: Cost | None) -> Sum:
    """What the blocks of an answer come to by our count, less what is charged for it."""
    tokens = sum(book.own(call.model, node) for node in answer_path(book.session.tree, call))
    more = max(0, tokens - call.output)
    return Sum(cost.output / call.output * more if cost is not None and call.output else 0.0, more)


def _enter(to: Bill, call: Call, cost: Cost | None, resent: Resent, missed: Missed | None) -> None:
    usage = call.usage
    if usage is None or not call.is_reported:
        free = call.stop_reason == COUNTED
        to.priced, to.unreported = to.priced + free, to.unreported + (not free)
        return
    lost = missed.tokens if missed is not None else 0
    if missed is not None:
        to.rewrites.append(missed)
    usd = known_usd(call, cost)
    if lacks_price(call, cost):
        to.unpriced[call.model] = to.unpriced.get(call.model, 0) + 1
    if usd is None:
        to.add(REWRITES, 0.0, lost)
        return
    to.priced += 1
    to.threads[call.thread] = to.threads.get(call.thread, 0.0) + usd
    if cost is None:
        to.add(RECORDED, usd, usage.input + call.output - lost)
        to.add(REWRITES, 0.0, lost)
        return
    split = split_of(usage, cost, resent, lost)
    more = split.rewrite.usd if missed is None or missed.usd is None else missed.usd
    to.add(CARRY, split.carry.usd + split.rewrite.usd - more, split.carry.tokens)
    to.add(REWRITES, more, split.rewrite.tokens)
    to.add(FIRST, *split.first)
    to.in_full = to.in_full.plus(split.carry.usd - cost.read, split.carry.tokens - usage.cache_read)
    to.add(OUTPUT, cost.output, call.output)
    further = further_usage(call)
    to.add(OTHER, cost.other, further.input + further.output)
