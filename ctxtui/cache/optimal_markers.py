"""Finds the cheapest markers of a recorded session, with all its pauses known.

A search over the calls in order; its state between two calls is the set of entries that are still useful. After
the deepest hit, three kinds of positions are worth marking: the first block (an entry there holds the whole
prefix), the end, and where a later call differs from this one. Of two states with the same entries the cheaper is
kept. The later calls that share each call's prefixes are computed first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations, pairwise, product
from typing import Final, NamedTuple

from ctxtui.cache.outcome import CacheOutcome, split
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMark
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator

EXACT: Final = 60
"""Up to this many calls the search is complete."""
STATES: Final = 60
"""States followed for longer sessions."""
_FEW: Final = 12
"""States followed by the quick search that runs first."""


def relative(rules: CacheRules) -> MarkerRates:
    """Rates as multiples of the price of fresh input."""
    return MarkerRates(1.0, rules.read, {rules.lives[name]: price for name, price in rules.writes.items()})


class MarkerPlan(NamedTuple):
    """Markers for each call and the resulting cost. `exact`: no plan is cheaper; otherwise none costs less than
    `bound`.
    """

    marks: tuple[tuple[CacheMark, ...], ...]
    cost: float
    exact: bool
    bound: float


class _Path(NamedTuple):
    cost: float
    marks: tuple[tuple[CacheMark, ...], ...]


def solve(calls: Sequence[Timed], markable: Callable[[int], bool] = lambda node: True) -> MarkerPlan:
    """Find the cheapest markers for `calls` at their own times (facts §2). Answers are assumed to begin at once.

    Complete up to `EXACT` calls; beyond that the `STATES` cheapest states are followed. `markable` tests whether
    a node's block may have a marker.
    """
    ahead = CallsAhead(calls, markable)
    least = list(_least(calls))
    ahead_costs = _least_ahead(least)
    best = _search(calls, ahead, ahead_costs, _FEW, math.inf)
    exact = len(calls) <= EXACT
    # The quick search gives an upper bound; the complete one finds only cheaper plans.
    better = _search(calls, ahead, ahead_costs, None if exact else STATES, best.cost)
    marks = tuple(map(_labelled, (better if better.cost < best.cost else best).marks))
    cost = spent(calls, marks)[0]
    return MarkerPlan(marks, cost, exact, cost if exact else min(cost, bound(calls, least)))


def _search(
    calls: Sequence[Timed], ahead: CallsAhead, least: Sequence[float], states: int | None, most: float
) -> _Path:
    """Find the cheapest path through `calls` that costs less than `most`.

    At each call the cheapest `states` are followed (None: all). `least` is a lower bound for the calls from each
    one on.
    """
    paths: dict[State, _Path] = {frozenset(): _Path(0.0, ())}
    for n, call in enumerate(calls):
        found: dict[State, _Path] = {}
        for state, path in paths.items():
            for marks, cost, after in _choices(n, call, state, ahead, most - path.cost - least[n + 1]):
                total = path.cost + cost
                if (kept := found.get(after)) is None or total < kept.cost:
                    found[after] = _Path(total, (*path.marks, marks))
        ordered = sorted(found.items(), key=lambda item: item[1].cost)[:states]
        paths = {}
        for state, path in ordered:
            if not any(ahead.covers(n, kept_, state) for kept_ in paths):
                paths[state] = path
    return min(paths.values(), key=lambda path: path.cost, default=_Path(math.inf, ()))


def _least_ahead(least: Sequence[tuple[float, float]]) -> list[float]:
    """Lower bound of the cost of the calls from each one on, for any state of the cache."""
    costs = [cost for cost, _ in least]
    return [*accumulate(reversed(costs), initial=0.0)][::-1]


def _choices(
    n: int, call: Timed, state: State, ahead: CallsAhead, most: float
) -> Iterator[tuple[tuple[CacheMark, ...], float, State]]:
    """Yield the choices of markers at call `n` that cost less than `most`.

    Each is the markers, the call's cost, and the cache's state afterwards.
    """
    prompt, at = call.prompt, call.at
    live = {entry.key: entry for entry in state if entry.until >= at}
    held = ahead.held(n, live) if live else []
    hit = held[0] if held else None
    places = ahead.places(n, hit)
    for new, cost in ahead.writes(n, hit):
        if cost >= most:
            continue
        for kept in _kept(held, places, new, prompt.rules.markers):
            marks = (*kept, *new)
            after = dict(live)
            for mark in marks:
                own = live.get(mark.spot.key)
                lasts = own.life if own else mark.life
                after[mark.spot.key] = CachedPrefix(mark.spot.key, at + lasts, lasts)
            yield marks, cost, ahead.useful(n, after.values())


def _writes(
    call: Timed, hit: PrefixEnd | None, places: Sequence[PrefixEnd]
) -> Iterator[tuple[tuple[CacheMark, ...], float]]:
    """Yield every choice of writes for a call that reads up to `hit`, with the call's cost."""
    prompt, rates = call.prompt, call.rates
    read = prompt.tokens(hit.node) if hit else 0
    lives = sorted(rates.writes, reverse=True)
    for ends in _ends(places, len(lives)):
        new = tuple(CacheMark(spot, life) for spot, life in zip(ends, lives, strict=True) if spot is not None)
        charged = split(read, [(mark, prompt.tokens(mark.spot.node)) for mark in new])
        written = sum(tokens for _, tokens in charged)
        cost = rates.read * read + rates.fresh * (prompt.total - read - written)
        yield new, cost + sum(rates.writes[life] * tokens for life, tokens in charged)


def _ends(places: Sequence[PrefixEnd], lives: int) -> Iterator[tuple[PrefixEnd | None, ...]]:
    """Yield, for each lifetime from the longest, the end of its write (None: no write), in increasing order."""
    for ends in product([None, *places], repeat=lives):
        numbers = [spot.number for spot in ends if spot is not None]
        if all(a < b for a, b in pairwise(numbers)):
            yield ends


def _kept(
    held: Sequence[PrefixEnd], places: Sequence[PrefixEnd], new: Sequence[CacheMark], most: int
) -> Iterator[list[CacheMark]]:
    """Yield the markers that can fill the remaining slots at no cost.

    These are the hit, live entries before it, and positions that are written anyway.
    """
    taken = {mark.spot.key for mark in new}
    end = new[-1].spot.number if new else 0
    life = {
        spot.key: next(mark.life for mark in new if mark.spot.number > spot.number)
        for spot in places
        if spot.number < end
    }
    free = [CacheMark(spot, life[spot.key]) for spot in places if spot.key in life and spot.key not in taken]
    hit, rest = [CacheMark(spot, 0.0) for spot in held[:1]], [*(CacheMark(spot, 0.0) for spot in held[1:]), *free]
    slots = most - len(new) - len(hit)
    if len(rest) <= slots:
        yield [*hit, *rest]
        return
    for some in combinations(rest, max(0, slots)):
        yield [*hit, *some]


def _labelled(marks: Sequence[CacheMark]) -> tuple[CacheMark, ...]:
    """Put markers in prompt order; one that only renews gets the lifetime of the next, as the order requires."""
    found: list[CacheMark] = []
    life = 0.0
    for mark in sorted(marks, key=lambda mark: -mark.spot.number):
        life = max(life, mark.life)
        found.append(CacheMark(mark.spot, life))
    return tuple(reversed(found))


def spent(calls: Sequence[Timed], marks: Sequence[Sequence[CacheMark]]) -> tuple[float, list[CacheOutcome]]:
    """Simulate `calls` with `marks`; returns the total cost and the outcomes."""
    simulator, total, outcomes = Simulator(), 0.0, []
    for call, own in zip(calls, marks, strict=True):
        outcome = simulator.send(call.prompt._replace(marks=tuple(own)), call.at)
        total += call.rates.cost(outcome)
        outcomes.append(outcome)
    return total, outcomes


def bound(calls: Sequence[Timed], least: Iterable[tuple[float, float]] | None = None) -> float:
    """Lower bound of the cost for any choice of markers.

    Everything that an earlier call had within the longest lifetime is read, the rest is fresh, and everything
    read was once written at the cheapest rate. `least` is the result of `_least`, if already computed.
    """
    return sum(cost + extra for cost, extra in (_least(calls) if least is None else least))


def _least(calls: Sequence[Timed]) -> Iterator[tuple[float, float]]:
    """Yield for each call its minimum cost, and the extra cost of writes that pay off now for the first time."""
    used: dict[bytes, float] = {}
    unpaid: set[bytes] = set()
    for call in calls:
        rates = call.rates
        longest, more = max(rates.writes), max(0.0, min(rates.writes.values()) - rates.fresh)
        done, shared, extra = 0, 0, 0.0
        for spot in reversed(list(call.prompt.last.back())):
            length = call.prompt.tokens(spot.node)
            last = used.get(spot.key)
            if last is None or call.at - last > longest:
                unpaid.add(spot.key)
            else:
                shared = max(shared, length)
                if spot.key in unpaid:
                    extra += min(more, max(0.0, rates.fresh - rates.read)) * max(0, length - done)
                    unpaid.discard(spot.key)
            used[spot.key] = call.at
            done = max(done, length)
        yield rates.fresh * call.prompt.total - max(0.0, rates.fresh - rates.read) * shared, extra


class MarkerRates(NamedTuple):
    """Prices per token: of fresh input, of a read, and of writes by lifetime in seconds."""

    fresh: float
    read: float
    writes: Mapping[float, float]

    def cost(self, outcome: CacheOutcome) -> float:
        """Input cost of a simulated call."""
        written = sum(self.writes.get(life, self.fresh) * tokens for life, tokens in outcome.writes)
        return self.fresh * outcome.fresh + self.read * outcome.read + written


class Timed(NamedTuple):
    """One call: its prompt (markers are ignored), start time (Unix seconds), and rates."""

    prompt: CachedPrompt
    at: float
    rates: MarkerRates


class CachedPrefix(NamedTuple):
    """A cached prefix: expires at `until` (Unix seconds), `life` seconds after each use."""

    key: bytes
    until: float
    life: float


State = frozenset[CachedPrefix]


class CallsAhead:
    """Later calls of a session that share prefixes. Calls are numbered from 0; sets of them are bit masks."""

    def __init__(self, calls: Sequence[Timed], markable: Callable[[int], bool]) -> None:
        self._calls = calls
        self._markable = markable
        self._sharing: dict[bytes, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._known: dict[tuple[int, int], list[PrefixEnd]] = {}
        self._written: dict[tuple[int, int], list[tuple[tuple[CacheMark, ...], float]]] = {}
        self._spots: list[dict[bytes, PrefixEnd]] = []
        for n, call in enumerate(calls):
            self._spots.append({})
            for spot in call.prompt.last.back():
                self._spots[n].setdefault(spot.key, spot)
                self._sharing[spot.key] = self._sharing.get(spot.key, 0) | 1 << n
                self._numbers[spot.key] = spot.number

    def places(self, n: int, hit: PrefixEnd | None) -> list[PrefixEnd]:
        """Like `_places`, cached."""
        key = (n, hit.number if hit else 0)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._places(n, hit)
        return found

    def writes(self, n: int, hit: PrefixEnd | None) -> list[tuple[tuple[CacheMark, ...], float]]:
        """Like `_writes`, cached: the writes of a call depend only on what it reads."""
        key = (n, hit.number if hit else 0)
        found = self._written.get(key)
        if found is None:
            found = self._written[key] = list(_writes(self._calls[n], hit, self.places(n, hit)))
        return found

    def held(self, n: int, keys: Iterable[bytes]) -> list[PrefixEnd]:
        """Positions of call `n` with these keys, the deepest first."""
        spots = self._spots[n]
        return sorted((spots[key] for key in keys if key in spots), key=lambda spot: -spot.number)

    def _places(self, n: int, hit: PrefixEnd | None) -> list[PrefixEnd]:
        """Positions after `hit` where an entry is worth writing at call `n`, in prompt order.

        The first position, and the last one of each stretch that the same later calls share.
        """
        prompt = self._calls[n].prompt
        least, after = prompt.rules.minimum, hit.number if hit else 0
        found: list[PrefixEnd] = []
        shared = -1
        first: PrefixEnd | None = None
        for spot in prompt.last.back():
            if spot.number <= after or prompt.tokens(spot.node) < least:
                break
            if not self._markable(spot.node):
                continue
            first = spot
            later = self._sharing[spot.key] >> (n + 1)
            if later and later != shared:
                found.append(spot)
                shared = later
        if found and first is not None and first is not found[-1]:
            found.append(first)
        return found[::-1]

    def useful(self, n: int, entries: Iterable[CachedPrefix]) -> State:
        """Filter `entries` to those that a call after `n` can use and that no deeper one replaces."""
        alive: list[tuple[int, int, CachedPrefix]] = []
        for entry in entries:
            later = self._sharing.get(entry.key, 0) >> (n + 1)
            if later and self._calls[n + (later & -later).bit_length()].at <= entry.until:
                alive.append((self._numbers[entry.key], later, entry))
        # Like `_replaces`, with constant lookups done once: this runs for every choice.
        found = []
        for number, later, e in alive:
            until, life = e.until, e.life
            for deeper, others, o in alive:
                if deeper > number and o.until >= until and o.life >= life and not later & ~others:
                    break
            else:
                found.append(e)
        return frozenset(found)

    def covers(self, n: int, state: State, other: State) -> bool:
        """Whether `state` is at least as good as `rival` after call `n`: it can replace each of its entries."""
        for entry in other:
            if entry in state:
                continue
            for mine in state:
                if self._replaces(n, mine, entry) or _outlives(mine, entry):
                    break
            else:
                return False
        return True

    def _replaces(self, n: int, other: CachedPrefix, entry: CachedPrefix) -> bool:
        if other.key == entry.key or self._numbers[other.key] <= self._numbers[entry.key]:
            return False
        later = self._sharing[entry.key] >> (n + 1)
        covers = later & ~(self._sharing[other.key] >> (n + 1)) == 0
        return covers and other.until >= entry.until and other.life >= entry.life


def _outlives(mine: CachedPrefix, entry: CachedPrefix) -> bool:
    return mine.key == entry.key and mine.until >= entry.until and mine.life >= entry.life
