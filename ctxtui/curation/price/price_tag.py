"""The price of staged edits and what they break in the cache, before anything is sent.

The money comes from the cache simulator: the next two requests are forecast with the edits and without, at three
moments. The first request pays for what must be written again, the second shows the savings of every later one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil
from typing import Final, NamedTuple

from msgspec import Struct, field
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
    """The next request without the staged edits, as the starting point of a price.

    It has the state of the caches, the `prompt`, the prices, and the time `now` (Unix seconds; in a recording the time
    of the shown call). `place` gives the ends of such requests, `nodes` are its blocks if edits are applied already
    (empty: the raw ones). `sent` is the number of raw blocks sent before (None: unknown), `parts_at` the raw position
    from which it differs from the last sent request (None: it continues it), and `kept` the tokens that a continuing
    request would read (None: as this one). Derived values are cached, so keep it as long as these hold.
    """

    simulator: Simulator
    prompt: CachedPrompt
    charge: Charge
    now: float
    place: RequestEnds
    nodes: Sequence[int] = ()
    sent: int | None = None
    parts_at: int | None = None
    kept: int | None = None
    floors: tuple[int, int] = (0, 0)
    """Prefix tokens still readable after a miss: while the sent prefix is unexpired, and after it expired."""

    @cached_property
    def read(self) -> int:
        """Tokens that it would read now."""
        return self.simulator.predict(self.prompt, self.now, why=False).read

    @cached_property
    def expiry(self) -> float | None:
        """Expiry of the currently readable prefix if nothing is sent (Unix seconds, to half a second).

        None if nothing would be read, or it does not expire.
        """
        if not self.read:
            return None
        low, high = self.now, self.now + 60.0
        while self._reads(high):
            low, high = high, self.now + 2 * (high - self.now)
            if high - self.now > _NEVER_CACHED_S:
                return None
        while high - low > 0.5:
            middle = (low + high) / 2
            low, high = (middle, high) if self._reads(middle) else (low, middle)
        return high

    def _reads(self, at: float) -> bool:
        return self.simulator.predict(self.prompt, at, why=False).read >= self.read

    @property
    def read_now(self) -> int:
        """Like `read`, with at least the floor."""
        first, _ = self.plain(NOW, self.now, self.simulator)
        return first.with_min_read(self.floors[0 if first.read else 1]).read

    def plain(self, name: str, at: float, simulator: Simulator) -> tuple[CacheOutcome, CacheOutcome]:
        """The request and one like it a little later, both without edits."""
        outcomes = self._plain.get(name)
        if outcomes is None:
            outcomes = self._plain[name] = _two(self.prompt, at, simulator)
        return outcomes

    @cached_property
    def _plain(self) -> dict[str, tuple[CacheOutcome, CacheOutcome]]:
        return {}


def _two(prompt: CachedPrompt, at: float, simulator: Simulator) -> tuple[CacheOutcome, CacheOutcome]:
    caches = simulator.copy()
    return caches.send(prompt, at, why=False), caches.predict(prompt, at + PAUSE_S, why=False)


class ApplyMoment(Struct, frozen=True, kw_only=True):
    """Cost of applying at one moment: `at` (Unix seconds; None: unknown).

    `once` and `per_call` are additional USD at once and for every later call (negative: saved; None: price unknown),
    `pays_back` the number of later calls after which it has paid for itself (0: at once, None: never). `plain` is the
    usage without the edits, `usage` that with them.
    """

    name: str
    at: float | None = None
    once: float | None = None
    per_call: float | None = None
    pays_back: int | None = None
    plain: Usage = Usage()
    usage: Usage = Usage()


class Breakage(NamedTuple):
    """Cached tokens that unsent edits break.

    From the raw position `at` on the next request differs from the cached one, so that `tokens` of the `cached` tokens
    that it would have read are not read.
    """

    at: int
    tokens: int
    cached: int

    @property
    def still_read(self) -> int:
        """Cached tokens that are still read."""
        return self.cached - self.tokens


class PriceTag(Struct, frozen=True, kw_only=True):
    """The effect of staged edits.

    The next request `without` them and `under` them, counted alike; the forecast report without (`forecast`) and with
    them (`forecast_under`), in tokens; the raw position `parts_at` from which the two requests differ; the number of
    breakpoints with them (`markers`); the `breakage` of the cache if applied now; three `moments`; thinking lost after
    them (tokens); later blocks that quote removed text; literals that summaries lack.
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
    asleep: int = 0
    held: tuple[str, ...] = field(default=())

    @property
    def before(self) -> int:
        """Tokens of the whole next request without the edits."""
        return self.without.whole

    @property
    def after(self) -> int:
        """Tokens of the whole next request with them."""
        return self.under.whole

    @property
    def freed(self) -> int:
        """Freed tokens (negative: added)."""
        return self.before - self.after

    @property
    def broken(self) -> int:
        """Cached tokens that are no longer read if applied now."""
        return self.breakage.tokens if self.breakage is not None else 0

    @property
    def breaks_at(self) -> int | None:
        """The raw position from which they are not read; None if nothing breaks."""
        return self.breakage.at if self.breakage is not None else None

    @property
    def cheapest(self) -> int:
        """The index of the moment with the least one-time cost; the earlier one of two equal ones."""
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
    """Price the edits in `after` that `before` lacks; `question` is the request under `before`.

    `count` gives the tokens of a block in the measure of `question`, `counts` are the counts of both whole requests,
    `literals` those of the context (None: quotes are left out).
    """
    prompt, lengths = edited_prompt(question.prompt, question.place, before, after, count, question.nodes)
    moments = tuple(_moments(question, prompt, lengths.shared))
    tag = PriceTag(
        without=counts[0],
        under=counts[1],
        forecast=question.prompt.total,
        forecast_under=prompt.total,
        parts_at=lengths.first,
        markers=len(prompt.markers),
        breakage=find_breakage(question, moments[0].usage.cache_read, lengths.first),
        moments=moments,
        thinking_lost=_thinking_lost(question.prompt, before, after, lengths.first, count),
        repairs=_repairs(before, after),
        refused=after.refused,
        asleep=len(after.asleep),
        held=tuple(dict.fromkeys(f"{held_edit.edit.kind}: {held_edit.why}" for held_edit in after.held)),
    )
    if literals is None:
        return tag
    return replace(tag, quotes=tuple(_quotes(before, after, literals)), lost=tuple(_lost(before, after, literals)))


def find_breakage(question: PriceQuestion, read: int, parts_at: int | None = None) -> Breakage | None:
    """The breakage of a next request that `read`s this many tokens and differs from that of `question` from `parts_at`
    on.

    `parts_at` None: nowhere. Returns None if it continues the last sent request: unsent blocks break nothing.
    """
    at = min((position for position in (question.parts_at, parts_at) if position is not None), default=None)
    if at is None or (question.sent is not None and at >= question.sent):
        return None
    kept = question.kept if question.kept is not None else question.read_now
    return Breakage(at, max(0, kept - read), kept)


def _moments(question: PriceQuestion, staged: CachedPrompt, shared: int) -> list[ApplyMoment]:
    moments = [_moment(NOW, question, (staged, shared), question.now, question.simulator)]
    if question.expiry is not None:
        moments.append(_moment(EXPIRY, question, (staged, shared), question.expiry, question.simulator))
    cold = _moment(MISS, question, (staged, shared), question.now, Simulator())
    return [*moments, replace(cold, at=None)]


def _moment(
    name: str, question: PriceQuestion, staged: tuple[CachedPrompt, int], at: float, simulator: Simulator
) -> ApplyMoment:
    """`staged` is the request under the edits, and the number of leading tokens that it shares with the other one."""
    first, second = question.plain(name, at, simulator)
    floor = question.floors[0 if first.read else 1]
    other, another = _two(staged[0], at, simulator)
    first, other = first.with_min_read(floor), other.with_min_read(min(floor, staged[1]))
    used = other.to_usage()
    once = _difference(question, first.to_usage(), used, at)
    per_call = _difference(question, second.to_usage(), another.to_usage(), at + PAUSE_S)
    return ApplyMoment(
        name=name,
        at=at,
        once=once,
        per_call=per_call,
        pays_back=pays_back(once, per_call),
        plain=first.to_usage(),
        usage=used,
    )


def _difference(question: PriceQuestion, plain: Usage, changed: Usage, at: float) -> float | None:
    a, b = question.charge(plain, at), question.charge(changed, at)
    return None if a is None or b is None else b - a


def pays_back(once: float | None, per_call: float | None) -> int | None:
    """Number of later calls after which `once` (additional USD) is paid back by `per_call` (additional USD each).

    0: at once; None: never, or the price is unknown.
    """
    if once is None or per_call is None:
        return None
    if once <= 0:
        return 0 if per_call <= 0 else None
    return ceil(once / -per_call) if per_call < 0 else None


def _thinking_lost(base: CachedPrompt, before: Applied, after: Applied, first: int | None, count: Count) -> int:
    """Tokens of thinking lost because it is bound to a change, from `first` on.

    Removed by repair, or withheld by a provider that does so silently (OpenAI, facts §4).
    """
    context = after.context
    lost = [p for p, change in after.changes.items() if change.why == BOUND and p not in before.changes]
    lost += [p for p in after.withheld if p not in before.withheld]
    if context.dialect == RESPONSES and first is not None:
        lost += [p for p in context.thinking if p > first and p not in after.changes]
    spoken = last_user_text(after) if lost and base.rules.strips else 0
    return sum(count(context.items[p].block) for p in lost if p >= spoken)


def _repairs(before: Applied, after: Applied) -> int:
    """Number of additional blocks that repairs remove or change, including headers of messages."""
    return sum(change.is_repair for position, change in after.changes.items() if position not in before.changes)


def _quotes(before: Applied, after: Applied, literals: Literals) -> list[Quote]:
    quotes = find_quotes(literals, after)
    if not before.is_changed:
        return quotes
    had = {(quote.literal, quote.position) for quote in find_quotes(literals, before)}
    return [quote for quote in quotes if (quote.literal, quote.position) not in had]


def _lost(before: Applied, after: Applied, literals: Literals) -> list[Lost]:
    lost_literals: list[Lost] = []
    edit_ids = {insert.edit.id for insert in before.inserts}
    for edit in {insert.edit.id: insert.edit for insert in after.inserts}.values():
        if edit.spec.replaces_blocks and edit.id not in edit_ids:
            covered = [p for target in edit.targets if (p := after.context.find(target)) is not None]
            lost_literals += find_lost(literals, covered, str(edit.params.get("text") or ""))
    return lost_literals
