"""The price of staged edits, and what they break in the cache, before anything is sent.

The cache simulator forecasts the next two requests with the edits and without, at up to three moments: now, when the
cache expires, at the next miss. The first request pays for what must be written again, the second shows the savings of
every later one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import RequestEnds
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.simulate import Simulator
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.closure import BOUND
from ctxtui.curation.price.dependence import Literals, Lost, Quote, find_lost, find_quotes
from ctxtui.curation.price.edited_prompt import Count, edited_prompt, last_user_text
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.wire.grammar import RESPONSES

NOW: Final = "now"
EXPIRY: Final = "at expiry"
MISS: Final = "next miss"
_NEVER_CACHED_S: Final = 200_000.0
"""Seconds after which every cache has expired (the longest lifetime is 24 hours)."""
PAUSE_S: Final = 20.0
"""Seconds between the request that pays and the one that shows the savings."""

Charge = Callable[[Usage, float], float | None]
"""Cost of a usage in USD at a time (Unix seconds); None without a known price."""


class PriceQuestion(Struct, frozen=True, dict=True):
    """The next request without the staged edits: the starting point of a price.

    - `simulator`, `prompt`: the state of the caches, and the request as a cache sees it.
    - `now`: the time at which it is sent (Unix seconds).
    - `request_ends`: gives the ends of such requests.
    - `nodes`: its blocks if edits are applied already; empty: the raw ones.
    - `sent_blocks`: number of raw blocks sent before; None: unknown.
    - `parts_at`: the raw position from which it differs from the last sent request; None: it continues that request.
    - `continued_read`: tokens that a continuing request would read; None: as many as this one.
    """

    simulator: Simulator
    prompt: CachedPrompt
    charge: Charge
    now: float
    request_ends: RequestEnds
    nodes: Sequence[int] = ()
    sent_blocks: int | None = None
    parts_at: int | None = None
    continued_read: int | None = None
    floors: tuple[int, int] = (0, 0)
    """Prefix tokens still readable after a miss: while the sent prefix is unexpired, and after it expired."""

    @cached_property
    def read(self) -> int:
        """Tokens that it would read now."""
        return self.simulator.predict(self.prompt, self.now, why=False).read

    @cached_property
    def expiry(self) -> float | None:
        """Time at which the readable prefix expires if nothing is sent.

        In Unix seconds, to half a second. None if nothing would be read, or it does not expire.
        """
        if not self.read:
            return None
        low, high = self.now, self.now + 60.0
        while self._reads_as_now(high):
            low, high = high, self.now + 2 * (high - self.now)
            if high - self.now > _NEVER_CACHED_S:
                return None
        while high - low > 0.5:
            middle = (low + high) / 2
            low, high = (middle, high) if self._reads_as_now(middle) else (low, middle)
        return high

    def _reads_as_now(self, time: float) -> bool:
        return self.simulator.predict(self.prompt, time, why=False).read >= self.read

    @property
    def read_now(self) -> int:
        """Like `read`, but at least the prefix that is known to be readable (`floors`)."""
        first, _ = self.plain(NOW, self.now, self.simulator)
        return first.with_min_read(self.floors[0 if first.read else 1]).read

    def plain(self, name: str, time: float, simulator: Simulator) -> tuple[CacheOutcome, CacheOutcome]:
        """Outcomes of the request at `time`, and of the same request `PAUSE_S` later, without edits."""
        outcomes = self._plain.get(name)
        if outcomes is None:
            outcomes = self._plain[name] = _predict_two(self.prompt, time, simulator)
        return outcomes

    @cached_property
    def _plain(self) -> dict[str, tuple[CacheOutcome, CacheOutcome]]:
        return {}


def _predict_two(prompt: CachedPrompt, time: float, simulator: Simulator) -> tuple[CacheOutcome, CacheOutcome]:
    caches = simulator.copy()
    return caches.send(prompt, time, why=False), caches.predict(prompt, time + PAUSE_S, why=False)


class ApplyMoment(Struct, frozen=True, kw_only=True):
    """Cost of applying the edits at one moment.

    - `at`: the time (Unix seconds); None: unknown.
    - `once`, `per_call`: additional USD once, and for every later call; negative: saved; None: price unknown.
    - `pays_back`: number of later calls after which it has paid for itself; 0: at once, None: never, or unknown.
    - `plain`, `usage`: the first request's usage without and with the edits.
    """

    name: str
    at: float | None = None
    once: float | None = None
    per_call: float | None = None
    pays_back: int | None = None
    plain: Usage = Usage()
    usage: Usage = Usage()


class Breakage(NamedTuple):
    """Cached tokens that edits make unreadable if they are applied now.

    The next request differs from the cached one from the raw position `at` on. Of the `cached` tokens that it would
    have read, it does not read `tokens`.
    """

    at: int
    tokens: int
    cached: int

    @property
    def still_read(self) -> int:
        return self.cached - self.tokens


class PriceTag(Struct, frozen=True, kw_only=True):
    """The effect of staged edits.

    - `without`, `under`: tokens of the next request without and with them.
    - `forecast`, `forecast_under`: tokens that the provider will report for the two.
    - `parts_at`: the raw position from which the two requests differ; None: they are the same.
    - `markers`: number of cache breakpoints in the request with the edits.
    - `thinking_lost`: tokens of thinking that repairs remove or the provider drops because of them.
    - `quotes`: removed literals that later blocks quote, with these blocks.
    - `lost`: literals that summaries lack.
    - `repairs`: number of blocks, with headers, that their repairs remove or change.
    - `refused`: as in `Applied`; `without_target`: number of such edits; `rejected`: kinds and reasons.
    """

    without: RequestCount
    under: RequestCount
    forecast: int
    forecast_under: int = 0
    parts_at: int | None = None
    markers: int = 0
    breakage: Breakage | None = None
    moments: tuple[ApplyMoment, ...] = ()
    thinking_lost: int = 0
    quotes: tuple[Quote, ...] = ()
    lost: tuple[Lost, ...] = ()
    repairs: int = 0
    refused: str = ""
    without_target: int = 0
    rejected: tuple[str, ...] = ()

    @property
    def before(self) -> int:
        return self.without.whole

    @property
    def after(self) -> int:
        return self.under.whole

    @property
    def freed(self) -> int:
        return self.before - self.after

    @property
    def broken(self) -> int:
        return self.breakage.tokens if self.breakage is not None else 0

    @property
    def breaks_at(self) -> int | None:
        return self.breakage.at if self.breakage is not None else None

    @property
    def cheapest(self) -> int:
        """Index of the moment with the least one-time cost; 0 if no cost is known."""
        costs = [(m.once, n) for n, m in enumerate(self.moments) if m.once is not None]
        return min(costs)[1] if costs else 0


def price_tag(
    before: Applied,
    after: Applied,
    question: PriceQuestion,
    count: Count,
    counts: tuple[RequestCount, RequestCount],
    literals: Literals | None = None,
) -> PriceTag:
    """Price the edits that `after` has and `before` lacks.

    - `question`: the request under `before`.
    - `count`: gives the tokens of a block, at the scale of `question`.
    - `counts`: of the whole request under `before`, and under `after`.
    - `literals`: of the context; None: `quotes` and `lost` are not computed.
    """
    prompt, lengths = edited_prompt(question.prompt, question.request_ends, before, after, count, question.nodes)
    moments = tuple(_price_moments(question, prompt, lengths.shared))
    tag = PriceTag(
        without=counts[0],
        under=counts[1],
        forecast=question.prompt.total,
        forecast_under=prompt.total,
        parts_at=lengths.first,
        markers=len(prompt.markers),
        breakage=find_breakage(question, moments[0].usage.cache_read, lengths.first),
        moments=moments,
        thinking_lost=_count_lost_thinking(question.prompt, before, after, lengths.first, count),
        repairs=_count_repairs(before, after),
        refused=after.refused,
        without_target=len(after.without_target),
        rejected=tuple(dict.fromkeys(f"{rejected.edit.kind}: {rejected.why}" for rejected in after.rejected)),
    )
    if literals is None:
        return tag
    return replace(
        tag, quotes=tuple(_new_quotes(before, after, literals)), lost=tuple(_newly_lost(before, after, literals))
    )


def find_breakage(question: PriceQuestion, read: int, parts_at: int | None = None) -> Breakage | None:
    """The breakage of a next request that reads `read` tokens.

    None if it continues the last sent one. It differs from the request of `question` from the raw position `parts_at`
    on (None: nowhere).
    """
    first_difference = min(
        (position for position in (question.parts_at, parts_at) if position is not None), default=None
    )
    if first_difference is None or (question.sent_blocks is not None and first_difference >= question.sent_blocks):
        return None
    readable = question.continued_read if question.continued_read is not None else question.read_now
    return Breakage(first_difference, max(0, readable - read), readable)


def _price_moments(question: PriceQuestion, staged: CachedPrompt, shared: int) -> list[ApplyMoment]:
    moments = [_price_moment(NOW, question, (staged, shared), question.now, question.simulator)]
    if question.expiry is not None:
        moments.append(_price_moment(EXPIRY, question, (staged, shared), question.expiry, question.simulator))
    cold = _price_moment(MISS, question, (staged, shared), question.now, Simulator())
    return [*moments, replace(cold, at=None)]


def _price_moment(
    name: str, question: PriceQuestion, staged: tuple[CachedPrompt, int], time: float, simulator: Simulator
) -> ApplyMoment:
    first, second = question.plain(name, time, simulator)
    floor = question.floors[0 if first.read else 1]
    changed, changed_later = _predict_two(staged[0], time, simulator)
    first, changed = first.with_min_read(floor), changed.with_min_read(min(floor, staged[1]))
    used = changed.to_usage()
    once = _cost_difference(question, first.to_usage(), used, time)
    per_call = _cost_difference(question, second.to_usage(), changed_later.to_usage(), time + PAUSE_S)
    return ApplyMoment(
        name=name,
        at=time,
        once=once,
        per_call=per_call,
        pays_back=pays_back(once, per_call),
        plain=first.to_usage(),
        usage=used,
    )


def _cost_difference(question: PriceQuestion, plain: Usage, changed: Usage, time: float) -> float | None:
    a, b = question.charge(plain, time), question.charge(changed, time)
    return None if a is None or b is None else b - a


def pays_back(once: float | None, per_call: float | None) -> int | None:
    """`ApplyMoment.pays_back` for its `once` and `per_call`."""
    if once is None or per_call is None:
        return None
    if once <= 0:
        return 0 if per_call <= 0 else None
    return ceil(once / -per_call) if per_call < 0 else None


def _count_lost_thinking(base: CachedPrompt, before: Applied, after: Applied, first: int | None, count: Count) -> int:
    """Tokens of thinking that is lost because the context before it changes.

    It changes from `first` on. Repairs remove it, or the provider withholds it silently (OpenAI, facts §4).
    """
    context = after.context
    lost = [p for p, change in after.changes.items() if change.why == BOUND and p not in before.changes]
    lost += [p for p in after.withheld if p not in before.withheld]
    if context.dialect == RESPONSES and first is not None:
        lost += [p for p in context.thinking if p > first and p not in after.changes]
    read_from = last_user_text(after) if lost and base.rules.strips else 0
    return sum(count(context.items[p].block) for p in lost if p >= read_from)


def _count_repairs(before: Applied, after: Applied) -> int:
    return sum(change.is_repair for position, change in after.changes.items() if position not in before.changes)


def _new_quotes(before: Applied, after: Applied, literals: Literals) -> list[Quote]:
    quotes = find_quotes(literals, after)
    if not before.is_changed:
        return quotes
    quotes_before = {(quote.literal, quote.position) for quote in find_quotes(literals, before)}
    return [quote for quote in quotes if (quote.literal, quote.position) not in quotes_before]


def _newly_lost(before: Applied, after: Applied, literals: Literals) -> list[Lost]:
    lost_literals: list[Lost] = []
    edit_ids = {insert.edit.id for insert in before.inserts}
    for edit in {insert.edit.id: insert.edit for insert in after.inserts}.values():
        if edit.spec.replaces_blocks and edit.id not in edit_ids:
            covered = [p for target in edit.targets if (p := after.context.find(target)) is not None]
            lost_literals += find_lost(literals, covered, str(edit.params.get("text") or ""))
    return lost_literals
