"""Finds the cheapest cache breakpoints (markers) of a recorded session, its pauses known.

It is a search over the calls in order. Its state between two calls is the set of cached prefixes that are still useful.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations, pairwise, product
from typing import Final, NamedTuple

from ctxtui.cache.outcome import CacheOutcome, split_writes
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMarker
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator

MAX_EXACT_CALLS: Final = 60
"""Up to this many calls the search is complete."""
MAX_STATES: Final = 60
"""States followed for longer sessions."""
QUICK_STATES: Final = 12
"""States followed by the quick search that runs first."""


def relative_rates(rules: CacheRules) -> MarkerRates:
    """Prices as multiples of fresh input."""
    return MarkerRates(1.0, rules.read, {rules.lives[name]: price for name, price in rules.writes.items()})


class MarkerPlan(NamedTuple):
    """Markers for each call and the resulting cost.

    `exact`: no plan is cheaper. `bound`: no plan costs less than this.
    """

    marks: tuple[tuple[CacheMarker, ...], ...]
    cost: float
    exact: bool
    bound: float


class _Path(NamedTuple):
    cost: float
    marks: tuple[tuple[CacheMarker, ...], ...]


def solve(calls: Sequence[TimedPrompt], markable: Callable[[int], bool] = lambda node: True) -> MarkerPlan:
    """Find the cheapest markers for `calls` (facts §2), with answers that begin at once.

    `markable` tests whether a node's block may have a marker.
    """
    ahead = CallsAhead(calls, markable)
    least = list(minimum_costs(calls))
    ahead_costs = _minimum_ahead(least)
    best = _search(calls, ahead, ahead_costs, QUICK_STATES, math.inf)
    exact = len(calls) <= MAX_EXACT_CALLS
    # The quick search gives an upper bound; the complete one finds only cheaper plans.
    better = _search(calls, ahead, ahead_costs, None if exact else MAX_STATES, best.cost)
    marks = tuple(map(_in_prompt_order, (better if better.cost < best.cost else best).marks))
    cost = simulate_cost(calls, marks)[0]
    return MarkerPlan(marks, cost, exact, cost if exact else min(cost, sum(map(sum, least))))


def _search(
    calls: Sequence[TimedPrompt], ahead: CallsAhead, least: Sequence[float], states: int | None, max_cost: float
) -> _Path:
    """Find the cheapest path through `calls` that costs less than `max_cost`. An infinite cost if there is none.

    At each call the cheapest `states` are followed (None: all). `least[n]` is a lower bound of the cost of the calls
    from `n` on.
    """
    paths: dict[State, _Path] = {frozenset(): _Path(0.0, ())}
    for n, call in enumerate(calls):
        paths_after: dict[State, _Path] = {}
        for state, path in paths.items():
            for markers, cost, after in _choices(n, call, state, ahead, max_cost - path.cost - least[n + 1]):
                total = path.cost + cost
                if (previous := paths_after.get(after)) is None or total < previous.cost:
                    paths_after[after] = _Path(total, (*path.marks, markers))
        ordered = sorted(paths_after.items(), key=lambda item: item[1].cost)[:states]
        paths = {}
        for state, path in ordered:
            if not any(ahead.covers(n, cheaper, state) for cheaper in paths):
                paths[state] = path
    return min(paths.values(), key=lambda path: path.cost, default=_Path(math.inf, ()))


def _minimum_ahead(least: Sequence[tuple[float, float]]) -> list[float]:
    costs = [cost for cost, _ in least]
    return [*accumulate(reversed(costs), initial=0.0)][::-1]


def _choices(
    n: int, call: TimedPrompt, state: State, ahead: CallsAhead, max_cost: float
) -> Iterator[tuple[tuple[CacheMarker, ...], float, State]]:
    """Yield choices at call `n` that cost less than `max_cost`: markers, cost, state afterwards."""
    prompt, at = call.prompt, call.at
    live = {entry.key: entry for entry in state if entry.until >= at}
    live_positions = ahead.positions_with_keys(n, live) if live else []
    hit = live_positions[0] if live_positions else None
    places = ahead.writable_positions(n, hit)
    for new, cost in ahead.writes(n, hit):
        if cost >= max_cost:
            continue
        for renewed in _free_markers(live_positions, places, new, prompt.rules.markers):
            markers = (*renewed, *new)
            after = dict(live)
            for marker in markers:
                entry_before = live.get(marker.position.key)
                life = entry_before.life if entry_before else marker.life
                after[marker.position.key] = CachedPrefix(marker.position.key, at + life, life)
            yield markers, cost, ahead.useful(n, after.values())


def _writes(
    call: TimedPrompt, hit: PrefixEnd | None, places: Sequence[PrefixEnd]
) -> Iterator[tuple[tuple[CacheMarker, ...], float]]:
    """Yield the ways to write after `hit` at `places`: the new markers, and the call's cost."""
    prompt, rates = call.prompt, call.rates
    read = prompt.tokens(hit.node) if hit else 0
    lives = sorted(rates.writes, reverse=True)
    for ends in _write_ends(places, len(lives)):
        new = tuple(
            CacheMarker(position, life) for position, life in zip(ends, lives, strict=True) if position is not None
        )
        charged = split_writes(read, [(marker, prompt.tokens(marker.position.node)) for marker in new])
        written = sum(tokens for _, tokens in charged)
        cost = rates.read * read + rates.fresh * (prompt.total - read - written)
        yield new, cost + sum(rates.writes[life] * tokens for life, tokens in charged)


def _write_ends(places: Sequence[PrefixEnd], lives: int) -> Iterator[tuple[PrefixEnd | None, ...]]:
    """Yield rising ends of the writes, one for each lifetime, longest first (None: no write)."""
    for ends in product([None, *places], repeat=lives):
        numbers = [position.number for position in ends if position is not None]
        if all(a < b for a, b in pairwise(numbers)):
            yield ends


def _free_markers(
    live_positions: Sequence[PrefixEnd], places: Sequence[PrefixEnd], new: Sequence[CacheMarker], max_markers: int
) -> Iterator[list[CacheMarker]]:
    """Yield choices of markers at no cost: at live entries, and in what is written anyway."""
    written_keys = {marker.position.key for marker in new}
    end = new[-1].position.number if new else 0
    life_by_key = {
        position.key: next(marker.life for marker in new if marker.position.number > position.number)
        for position in places
        if position.number < end
    }
    free = [
        CacheMarker(position, life_by_key[position.key])
        for position in places
        if position.key in life_by_key and position.key not in written_keys
    ]
    live = [CacheMarker(position, 0.0) for position in live_positions]
    hit, rest = live[:1], [*live[1:], *free]
    slots = max_markers - len(new) - len(hit)
    for chosen in combinations(rest, min(len(rest), max(0, slots))):
        yield [*hit, *chosen]


def _in_prompt_order(markers: Sequence[CacheMarker]) -> tuple[CacheMarker, ...]:
    """Put markers in prompt order; one that only renews gets the longest lifetime after it."""
    labelled: list[CacheMarker] = []
    life = 0.0
    for marker in sorted(markers, key=lambda mark: -mark.position.number):
        life = max(life, marker.life)
        labelled.append(CacheMarker(marker.position, life))
    return tuple(reversed(labelled))


def simulate_cost(
    calls: Sequence[TimedPrompt], markers: Sequence[Sequence[CacheMarker]]
) -> tuple[float, list[CacheOutcome]]:
    """The cost of `calls` with these `markers` in the simulator, and each call's outcome."""
    simulator, total, outcomes = Simulator(), 0.0, []
    for call, call_markers in zip(calls, markers, strict=True):
        outcome = simulator.send(call.prompt._replace(markers=tuple(call_markers)), call.at)
        total += call.rates.cost(outcome)
        outcomes.append(outcome)
    return total, outcomes


def minimum_costs(calls: Sequence[TimedPrompt]) -> Iterator[tuple[float, float]]:
    """Yield two lower bounds per call: its cost, and that of writing what it is first to read."""
    used: dict[bytes, float] = {}
    unpaid: set[bytes] = set()
    for call in calls:
        rates = call.rates
        longest, more = max(rates.writes), max(0.0, min(rates.writes.values()) - rates.fresh)
        done, shared, extra = 0, 0, 0.0
        for position in reversed(list(call.prompt.last.back())):
            length = call.prompt.tokens(position.node)
            last = used.get(position.key)
            if last is None or call.at - last > longest:
                unpaid.add(position.key)
            else:
                shared = max(shared, length)
                if position.key in unpaid:
                    extra += min(more, max(0.0, rates.fresh - rates.read)) * max(0, length - done)
                    unpaid.discard(position.key)
            used[position.key] = call.at
            done = max(done, length)
        yield rates.fresh * call.prompt.total - max(0.0, rates.fresh - rates.read) * shared, extra


class MarkerRates(NamedTuple):
    """Prices per token: of fresh input, of a read, and of writes by lifetime in seconds."""

    fresh: float
    read: float
    writes: Mapping[float, float]

    def cost(self, outcome: CacheOutcome) -> float:
        written = sum(self.writes.get(life, self.fresh) * tokens for life, tokens in outcome.writes)
        return self.fresh * outcome.fresh + self.read * outcome.read + written


class TimedPrompt(NamedTuple):
    """One call: its prompt (markers are ignored), start time (Unix seconds), and rates."""

    prompt: CachedPrompt
    at: float
    rates: MarkerRates


class CachedPrefix(NamedTuple):
    """A cached prefix: it expires at `until` (Unix seconds), `life` seconds after each use."""

    key: bytes
    until: float
    life: float


State = frozenset[CachedPrefix]
"""The cached prefixes between two calls that are still useful."""


class CallsAhead:
    """The prefixes that calls of a session share. Calls count from 0; sets of calls are bit masks."""

    def __init__(self, calls: Sequence[TimedPrompt], markable: Callable[[int], bool]) -> None:
        self._calls = calls
        self._markable = markable
        self._sharing: dict[bytes, int] = {}
        """By prefix key: the calls that have it (a bit mask)."""
        self._numbers: dict[bytes, int] = {}
        self._writable: dict[tuple[int, int], list[PrefixEnd]] = {}
        self._written: dict[tuple[int, int], list[tuple[tuple[CacheMarker, ...], float]]] = {}
        self._positions: list[dict[bytes, PrefixEnd]] = []
        for n, call in enumerate(calls):
            self._positions.append({})
            for position in call.prompt.last.back():
                self._positions[n].setdefault(position.key, position)
                self._sharing[position.key] = self._sharing.get(position.key, 0) | 1 << n
                self._numbers[position.key] = position.number

    def writable_positions(self, n: int, hit: PrefixEnd | None) -> list[PrefixEnd]:
        key = (n, hit.number if hit else 0)
        positions = self._writable.get(key)
        if positions is None:
            positions = self._writable[key] = self._find_writable(n, hit)
        return positions

    def writes(self, n: int, hit: PrefixEnd | None) -> list[tuple[tuple[CacheMarker, ...], float]]:
        """The writes worth trying at call `n` after `hit`: their markers, and their cost."""
        key = (n, hit.number if hit else 0)
        writes = self._written.get(key)
        if writes is None:
            writes = self._written[key] = list(_writes(self._calls[n], hit, self.writable_positions(n, hit)))
        return writes

    def positions_with_keys(self, n: int, keys: Iterable[bytes]) -> list[PrefixEnd]:
        """Positions of call `n` with these keys, the deepest first."""
        positions = self._positions[n]
        return sorted((positions[key] for key in keys if key in positions), key=lambda position: -position.number)

    def _find_writable(self, n: int, hit: PrefixEnd | None) -> list[PrefixEnd]:
        """Positions after `hit` where an entry may be worth writing at call `n`, in prompt order.

        They are the last position of each stretch that the same later calls share, and the first position that may have
        a marker. Empty if no later call shares any.
        """
        prompt = self._calls[n].prompt
        least, after = prompt.rules.minimum, hit.number if hit else 0
        positions: list[PrefixEnd] = []
        shared = -1
        first: PrefixEnd | None = None
        for position in prompt.last.back():
            if position.number <= after or prompt.tokens(position.node) < least:
                break
            if not self._markable(position.node):
                continue
            first = position
            later = self._sharing[position.key] >> (n + 1)
            if later and later != shared:
                positions.append(position)
                shared = later
        if positions and first is not None and first is not positions[-1]:
            positions.append(first)
        return positions[::-1]

    def useful(self, n: int, entries: Iterable[CachedPrefix]) -> State:
        """Filter `entries` to those that a call after `n` can use and that no deeper one replaces."""
        alive: list[tuple[int, int, CachedPrefix]] = []
        for entry in entries:
            later = self._sharing.get(entry.key, 0) >> (n + 1)
            if later and self._calls[n + (later & -later).bit_length()].at <= entry.until:
                alive.append((self._numbers[entry.key], later, entry))
        # Like `_replaces`, with constant lookups done once: this runs for every choice.
        useful = []
        for number, later, e in alive:
            until, life = e.until, e.life
            for deeper, others, o in alive:
                if deeper > number and o.until >= until and o.life >= life and not later & ~others:
                    break
            else:
                useful.append(e)
        return frozenset(useful)

    def covers(self, n: int, state: State, rival: State) -> bool:
        """Whether `state` after call `n` is at least as good as `rival`."""
        for entry in rival:
            if entry in state:
                continue
            for mine in state:
                if self._replaces(n, mine, entry) or _outlives(mine, entry):
                    break
            else:
                return False
        return True

    def _replaces(self, n: int, deeper: CachedPrefix, entry: CachedPrefix) -> bool:
        if deeper.key == entry.key or self._numbers[deeper.key] <= self._numbers[entry.key]:
            return False
        later = self._sharing[entry.key] >> (n + 1)
        covers = later & ~(self._sharing[deeper.key] >> (n + 1)) == 0
        return covers and deeper.until >= entry.until and deeper.life >= entry.life


def _outlives(mine: CachedPrefix, entry: CachedPrefix) -> bool:
    return mine.key == entry.key and mine.until >= entry.until and mine.life >= entry.life
