"""The bill: what a session cost, as a sum of carrying, rewriting, writing for the first time, and answering.

One call's money is split by what its input was: carried, rewritten, or sent for the first time. Parts are rounded so
that they add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.money.resent import Resent, Sending
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.analysis.session_events import SHORTEST_CACHED, cause_of, held_by, lifetime
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost, known_usd


class Sum(NamedTuple):
    """Money (USD) and tokens of one part."""

    usd: float = 0.0
    tokens: int = 0

    def plus(self, usd: float, tokens: int) -> Sum:
        """With so much more."""
        return Sum(self.usd + usd, self.tokens + tokens)


NOTHING: Final = Sum()


class InputSplit(NamedTuple):
    """One call's input as money and tokens: carried, rewritten, sent first."""

    carry: Sum
    rewrite: Sum
    first: Sum


def split_of(usage: Usage, cost: Cost, resent: Resent, lost: int) -> InputSplit:
    """A call's input split by what was `resent` and how much of that the cache had `lost`; the parts add up to the
    input's cost. What was read comes first in the context, then what was written, then what was neither."""
    read, written = usage.cache_read, usage.cache_write
    kept = max(resent.kept, read)
    again = kept - read
    moved = min(resent.moved, usage.input - kept)
    cheap = min(again, written)
    rates = (cost.write / written if written else 0.0, cost.fresh / usage.fresh if usage.fresh else 0.0)
    again_usd = cheap * rates[0] + (again - cheap) * rates[1]
    rest, rest_usd = usage.input - kept, cost.write + cost.fresh - again_usd
    moved_usd = rest_usd * moved / rest if rest else 0.0
    unread, unread_usd = again + moved, again_usd + moved_usd
    lost = min(lost, unread)
    lost_usd = unread_usd * lost / unread if unread else 0.0
    return InputSplit(
        Sum(cost.read + unread_usd - lost_usd, read + unread - lost),
        Sum(lost_usd, lost),
        Sum(rest_usd - moved_usd, rest - moved),
    )


def to_the_cent(amounts: Sequence[float], decimals: int = 2) -> list[float]:
    """`amounts` rounded so that what is shown adds up to the rounded sum: the largest remainders round up."""
    unit = 10**decimals
    scaled = [amount * unit for amount in amounts]
    whole = [int(amount // 1) for amount in scaled]
    short = round(sum(scaled)) - sum(whole)
    order = sorted(range(len(scaled)), key=lambda i: whole[i] - scaled[i])
    for index in order[: max(0, short)]:
        whole[index] += 1
    return [amount / unit for amount in whole]


CARRY, REWRITES, FIRST, OUTPUT, OTHER, RECORDED = "carry", "rewrites", "first writes", "output", "other", "recorded"
PARTS: Final = (CARRY, REWRITES, FIRST, OUTPUT, OTHER, RECORDED)
"""The parts of a bill, in order. `carry`: input sent before and paid again in the ordinary way, read from the cache or,
where there is none, at full price. `rewrites`: input that the cache held and that was paid in full again. `first
writes`: input sent for the first time. `other`: web searches and passes of the provider's own. `recorded`: calls
without a list price, by the figure in their record, which cannot be split."""
CHANGED: Final = "changed"
"""Cause of a rewrite: something before it in the context was changed by the client."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Call `number` (from 1) of `thread` paid again for `tokens` that the cache had held.

    `usd` is what they cost at this call (None: no known price), `pause` the seconds since the call before began (None:
    not recorded), `cause` as in `story.cause_of`, or `CHANGED`.
    """

    thread: str
    number: int
    tokens: int
    usd: float | None
    cause: str
    pause: float | None = None


@dataclass(slots=True, kw_only=True)
class Bill:
    """What calls cost. `parts` by name add up to `usd`; `threads` are USD by thread id; `unpriced` counts calls with a
    report and no known price, by model; `unreported` those without any report."""

    parts: dict[str, Sum] = field(default_factory=lambda: dict.fromkeys(PARTS, NOTHING))
    rewrites: list[Rewrite] = field(default_factory=list)
    threads: dict[str, float] = field(default_factory=dict)
    in_full: Sum = NOTHING
    """How much of `carry` was paid at full price or written: no cache, or one that fell short."""
    priced: int = 0
    unpriced: dict[str, int] = field(default_factory=dict)
    unreported: int = 0

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
        for model, count in other.unpriced.items():
            self.unpriced[model] = self.unpriced.get(model, 0) + count


def bill(book: Book, costs: Mapping[str, Cost | None], only: frozenset[str] | None = None) -> Bill:
    """The bill of a session, which must be counted whole; `costs` holds every call's price by id, None where unknown.
    With `only`, of those calls alone (each still seen after the ones before it)."""
    found = Bill()
    running = {model: advanced(book, model) for model in book.models}
    for thread in book.session.order:
        sending = Sending(book, running)
        calls = book.session.thread_calls(thread)
        ttl = 0.0
        for number, (before, call) in enumerate(pairwise([None, *calls]), 1):
            assert call is not None
            ttl = max(ttl, lifetime(before)) if before is not None else ttl
            resent = sending.enter(call)
            if only is None or call.id in only:
                _enter(found, call, costs.get(call.id), resent, _Context(thread, number, before, ttl))
    return found


def advanced(book: Book, model: str) -> RunningTotals:
    """The running totals of a book that is counted, as `model` counts."""
    running = RunningTotals(book, model)
    running.advance()
    return running


class _Context(NamedTuple):
    thread: str
    number: int
    before: Call | None
    ttl: float


def _enter(to: Bill, call: Call, cost: Cost | None, resent: Resent, at: _Context) -> None:
    usage = call.usage
    if usage is None:
        to.unreported += 1
        return
    lost = _lost(call, resent, at.before)
    split = split_of(usage, cost, resent, lost) if cost is not None else None
    if lost and at.before is not None:
        to.rewrites.append(_rewrite(call, resent, lost, split.rewrite.usd if split else None, at))
    usd = known_usd(call, cost)
    if usd is None:
        to.unpriced[call.model] = to.unpriced.get(call.model, 0) + 1
        return
    to.priced += 1
    to.threads[at.thread] = to.threads.get(at.thread, 0.0) + usd
    if cost is None or split is None:
        to.add(RECORDED, usd, usage.input + usage.output)
        return
    for name, part in zip((CARRY, REWRITES, FIRST), split, strict=True):
        to.add(name, *part)
    to.in_full = to.in_full.plus(split.carry.usd - cost.read, split.carry.tokens - usage.cache_read)
    to.add(OUTPUT, cost.output, usage.output)
    to.add(OTHER, cost.other, 0)


def _lost(call: Call, resent: Resent, before: Call | None) -> int:
    """Tokens that the cache held, that were sent again, and that were not read from it.

    Where the client writes its entries itself every loss counts; a cache that a provider keeps of its own accord
    promises nothing, and there only a loss of more than half does.
    """
    was, now = before.usage if before else None, call.usage
    if was is None or now is None or not was.has_cache or not now.has_cache:
        return 0
    held = held_by(was, call.provider)
    lost = min(held, resent.kept + resent.moved) - now.cache_read
    written = was.cache_write or call.provider == "anthropic"
    return lost if lost >= SHORTEST_CACHED and (written or now.cache_read * 2 <= held) else 0


def _rewrite(call: Call, resent: Resent, tokens: int, usd: float | None, at: _Context) -> Rewrite:
    before = at.before
    assert before is not None
    pause = call.started - before.started if call.started is not None and before.started is not None else None
    cause = cause_of(before, call, pause, at.ttl) or (CHANGED if resent.changed else "")
    return Rewrite(at.thread, at.number, tokens, usd, cause, pause)


def dearest(rewrites: Iterable[Rewrite]) -> list[Rewrite]:
    """Rewrites, dearest first."""
    return sorted(rewrites, key=lambda one: (-(one.usd or 0.0), -one.tokens))
