"""What staged edits cost and what they break, before anything is sent.

The money is the cache simulator's: the next two requests are forecast with the edits and without, at three moments.
The first request pays for what must be written again, the second shows what every later one saves.
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
from ctxtui.curation.price.dependence import Literals, Lost, Quote, lost, quotes
from ctxtui.curation.price.edited_prompt import Count, edited_prompt, last_spoken
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.wire.grammar import RESPONSES

NOW: Final = "now"
EXPIRY: Final = "at expiry"
MISS: Final = "next miss"
_FOREVER: Final = 200_000.0
"""Seconds after which no cache keeps anything (the longest lifetime is 24 hours)."""
PAUSE: Final = 20.0
"""Seconds between the request that pays and the one that shows what is saved."""

Charge = Callable[[Usage, float], float | None]
"""What a usage costs in USD at a time (Unix seconds); None where the price is not known."""


class PriceQuestion(Struct, frozen=True, dict=True):
    """The next request without the staged edits: the caches as they are, its `prompt`, what usage costs, and the time
    `now` (Unix seconds; for a recording the time of the call shown). `place` gives where requests like it end, `nodes`
    are its blocks where edits are applied already (empty: the raw ones). `sent` is how many raw blocks were sent before
    (None: not known), `parts_at` the raw position from which the request is another one than what was sent last (None:
    it goes on), and `kept` what a request would read that goes on there (tokens; None: as this one). Keep it for as
    long as these hold: what is worked out about them is kept with it."""

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
    """Tokens at the front that are read anyway: while what was sent is cached, and when it is not any more."""

    @cached_property
    def read(self) -> int:
        """Tokens that it would read now."""
        return self.simulator.predict(self.prompt, self.now, why=False).read

    @cached_property
    def expiry(self) -> float | None:
        """When the prefix that would be read now cannot be read any more if nothing is sent, to half a second (Unix
        seconds); None where nothing would be read, or it lasts."""
        if not self.read:
            return None
        low, high = self.now, self.now + 60.0
        while self._reads(high):
            low, high = high, self.now + 2 * (high - self.now)
            if high - self.now > _FOREVER:
                return None
        while high - low > 0.5:
            middle = (low + high) / 2
            low, high = (middle, high) if self._reads(middle) else (low, middle)
        return high

    def _reads(self, at: float) -> bool:
        return self.simulator.predict(self.prompt, at, why=False).read >= self.read

    @property
    def read_now(self) -> int:
        """As `read`, with what is read anyway."""
        first, _ = self.plain(NOW, self.now, self.simulator)
        return first.with_min_read(self.floors[0 if first.read else 1]).read

    def plain(self, name: str, at: float, simulator: Simulator) -> tuple[CacheOutcome, CacheOutcome]:
        """The request and one like it a little later, both without edits."""
        found = self._plain.get(name)
        if found is None:
            found = self._plain[name] = _two(self.prompt, at, simulator)
        return found

    @cached_property
    def _plain(self) -> dict[str, tuple[CacheOutcome, CacheOutcome]]:
        return {}


def _two(prompt: CachedPrompt, at: float, simulator: Simulator) -> tuple[CacheOutcome, CacheOutcome]:
    caches = simulator.copy()
    return caches.send(prompt, at, why=False), caches.predict(prompt, at + PAUSE, why=False)


class ApplyMoment(Struct, frozen=True, kw_only=True):
    """Applying at one moment: `at` (Unix seconds; None: not known), USD more `once` and for every later call (negative:
    saved; None: price not known), and after how many later calls it has paid for itself (0: at once, None: never).
    `plain` is the usage without the edits, `usage` that under them."""

    name: str
    at: float | None = None
    once: float | None = None
    per_call: float | None = None
    pays_back: int | None = None
    plain: Usage = Usage()
    usage: Usage = Usage()


class Breakage(NamedTuple):
    """What edits that no call was sent with break: from the raw position `at` on the next request is another one than
    what the cache holds, so that of the `cached` tokens which it would have read `tokens` are not read."""

    at: int
    tokens: int
    cached: int

    @property
    def left(self) -> int:
        """Cached tokens that are still read."""
        return self.cached - self.tokens


class PriceTag(Struct, frozen=True, kw_only=True):
    """What staged edits do: the next request `without` them and `under` them, counted alike; what the provider is
    `foretold` to report of the one without, `foretold_under` of the one under them (tokens); the raw position
    `parts_at` from which they are two requests; its cache `markers` under them; the `breakage` of the cache if they are
    applied now; three `moments`;
    thinking that is lost behind them (tokens); later blocks that quote what goes; what summaries do not say any
    more."""

    without: RequestCount
    under: RequestCount
    foretold: int
    foretold_under: int = 0
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
        """Tokens of the whole next request under them."""
        return self.under.whole

    @property
    def freed(self) -> int:
        """Tokens that go (negative: more come)."""
        return self.before - self.after

    @property
    def broken(self) -> int:
        """Cached tokens that are not read any more, applied now."""
        return self.breakage.tokens if self.breakage is not None else 0

    @property
    def breaks_at(self) -> int | None:
        """The raw position from which they are not; None where nothing breaks."""
        return self.breakage.at if self.breakage is not None else None

    @property
    def cheapest(self) -> int:
        """The index of the moment that costs least once; the earlier one where two cost the same."""
        known = [(m.once, n) for n, m in enumerate(self.moments) if m.once is not None]
        return min(known)[1] if known else 0


def price_tag(
    before: Applied,
    after: Applied,
    asked: PriceQuestion,
    count: Count,
    counted: tuple[RequestCount, RequestCount],
    literals: Literals | None = None,
) -> PriceTag:
    """The tag of the edits in `after` that `before` does not have; `asked` is the request under `before`. `count` gives
    the tokens of a block as the lengths of `asked` have it, `counted` counts a whole request, `literals` are those of
    the context (None: quotes are left out)."""
    prompt, lengths = edited_prompt(asked.prompt, asked.place, before, after, count, asked.nodes)
    moments = tuple(_moments(asked, prompt, lengths.shared))
    tag = PriceTag(
        without=counted[0],
        under=counted[1],
        foretold=asked.prompt.total,
        foretold_under=prompt.total,
        parts_at=lengths.first,
        markers=len(prompt.markers),
        breakage=breakage(asked, moments[0].usage.cache_read, lengths.first),
        moments=moments,
        thinking_lost=_thinking_lost(asked.prompt, before, after, lengths.first, count),
        repairs=_repairs(before, after),
        refused=after.refused,
        asleep=len(after.asleep),
        held=tuple(dict.fromkeys(f"{held.edit.kind}: {held.why}" for held in after.held)),
    )
    if literals is None:
        return tag
    return replace(tag, quotes=tuple(_quotes(before, after, literals)), lost=tuple(_lost(before, after, literals)))


def breakage(asked: PriceQuestion, read: int, parts_at: int | None = None) -> Breakage | None:
    """What the next request breaks if it `read`s so many tokens now and is another one than `asked` from `parts_at` on
    (None: nowhere); None where it goes on from what was sent: blocks that were never sent break nothing."""
    at = min((one for one in (asked.parts_at, parts_at) if one is not None), default=None)
    if at is None or (asked.sent is not None and at >= asked.sent):
        return None
    kept = asked.kept if asked.kept is not None else asked.read_now
    return Breakage(at, max(0, kept - read), kept)


def _moments(asked: PriceQuestion, staged: CachedPrompt, shared: int) -> list[ApplyMoment]:
    found = [_moment(NOW, asked, (staged, shared), asked.now, asked.simulator)]
    if asked.expiry is not None:
        found.append(_moment(EXPIRY, asked, (staged, shared), asked.expiry, asked.simulator))
    cold = _moment(MISS, asked, (staged, shared), asked.now, Simulator())
    return [*found, replace(cold, at=None)]


def _moment(
    name: str, asked: PriceQuestion, staged: tuple[CachedPrompt, int], at: float, simulator: Simulator
) -> ApplyMoment:
    """`staged` is the request under the edits, and how many tokens at its front are those of the other one."""
    first, second = asked.plain(name, at, simulator)
    floor = asked.floors[0 if first.read else 1]
    other, another = _two(staged[0], at, simulator)
    first, other = first.with_min_read(floor), other.with_min_read(min(floor, staged[1]))
    used = other.to_usage()
    once = _difference(asked, first.to_usage(), used, at)
    per_call = _difference(asked, second.to_usage(), another.to_usage(), at + PAUSE)
    return ApplyMoment(
        name=name,
        at=at,
        once=once,
        per_call=per_call,
        pays_back=pays_back(once, per_call),
        plain=first.to_usage(),
        usage=used,
    )


def _difference(asked: PriceQuestion, plain: Usage, changed: Usage, at: float) -> float | None:
    a, b = asked.charge(plain, at), asked.charge(changed, at)
    return None if a is None or b is None else b - a


def pays_back(once: float | None, per_call: float | None) -> int | None:
    """After how many later calls what is paid `once` (USD more) has paid for itself at `per_call` (USD more for each):
    0 at once; None: never, or the price is not known."""
    if once is None or per_call is None:
        return None
    if once <= 0:
        return 0 if per_call <= 0 else None
    return ceil(once / -per_call) if per_call < 0 else None


def _thinking_lost(base: CachedPrompt, before: Applied, after: Applied, first: int | None, count: Count) -> int:
    """Tokens of thinking that goes because it was bound to what changed, from `first` on: taken out by repair, or
    withheld by a provider that does so silently (OpenAI, facts §4)."""
    context = after.context
    lost = [p for p, change in after.changes.items() if change.why == BOUND and p not in before.changes]
    lost += [p for p in after.withheld if p not in before.withheld]
    if context.dialect == RESPONSES and first is not None:
        lost += [p for p in context.thinking if p > first and p not in after.changes]
    spoken = last_spoken(after) if lost and base.rules.strips else 0
    return sum(count(context.items[p].block) for p in lost if p >= spoken)


def _repairs(before: Applied, after: Applied) -> int:
    """The blocks that repairs take out or change, headers of messages too, besides those before."""
    return sum(change.repaired for position, change in after.changes.items() if position not in before.changes)


def _quotes(before: Applied, after: Applied, literals: Literals) -> list[Quote]:
    found = quotes(literals, after)
    if not before.touched:
        return found
    had = {(quote.literal, quote.position) for quote in quotes(literals, before)}
    return [quote for quote in found if (quote.literal, quote.position) not in had]


def _lost(before: Applied, after: Applied, literals: Literals) -> list[Lost]:
    found: list[Lost] = []
    said = {one.edit.id for one in before.inserts}
    for edit in {one.edit.id: one.edit for one in after.inserts}.values():
        if edit.spec.replaces_blocks and edit.id not in said:
            covered = [p for target in edit.targets if (p := after.context.find(target)) is not None]
            found += lost(literals, covered, str(edit.params.get("text") or ""))
    return found
