"""What lies ahead of each call of a session: which later calls share its prefixes, which entries are still of use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ctxtui.cache.outcome import Outcome
from ctxtui.cache.prefix_key import Spot
from ctxtui.cache.prompt import Prompt


class Rates(NamedTuple):
    """Prices per token: of fresh input, of a read, and of writes by lifetime in seconds."""

    fresh: float
    read: float
    writes: Mapping[float, float]

    def cost(self, outcome: Outcome) -> float:
        """What the input of a simulated call costs."""
        written = sum(self.writes.get(life, self.fresh) * tokens for life, tokens in outcome.writes)
        return self.fresh * outcome.fresh + self.read * outcome.read + written


class Timed(NamedTuple):
    """One call: its prompt (its markers do not matter), when it started (Unix seconds), what its tokens cost."""

    prompt: Prompt
    at: float
    rates: Rates


class Entry(NamedTuple):
    """A cached prefix: gone after `until` (Unix seconds), `life` seconds after each use."""

    key: bytes
    until: float
    life: float


State = frozenset[Entry]


class Ahead:
    """The calls of a session, seen from the one in question. Calls are numbered from 0; sets of them are bit masks."""

    def __init__(self, calls: Sequence[Timed], markable: Callable[[int], bool]) -> None:
        self._calls = calls
        self._markable = markable
        self._sharing: dict[bytes, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._known: dict[tuple[int, int], list[Spot]] = {}
        for n, call in enumerate(calls):
            for spot in call.prompt.last.back():
                self._sharing[spot.key] = self._sharing.get(spot.key, 0) | 1 << n
                self._numbers[spot.key] = spot.number

    def places(self, n: int, hit: Spot | None) -> list[Spot]:
        """As `_places`, each worked out once."""
        key = (n, hit.number if hit else 0)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._places(n, hit)
        return found

    def _places(self, n: int, hit: Spot | None) -> list[Spot]:
        """Where behind `hit` an entry is worth writing at call `n`, in prompt order: the first place, and the last one
        of each stretch that the same later calls share."""
        prompt = self._calls[n].prompt
        least, after = prompt.rules.minimum, hit.number if hit else 0
        found: list[Spot] = []
        shared = -1
        first: Spot | None = None
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

    def useful(self, n: int, entries: Iterable[Entry]) -> State:
        """Those of `entries` that a call after `n` can still use, less those that a deeper one stands in for."""
        alive = [entry for entry in entries if self._used(n, entry)]
        return frozenset(e for e in alive if not any(self._replaces(n, other, e) for other in alive))

    def covers(self, n: int, state: State, other: State) -> bool:
        """Whether `state` is after call `n` at least as good as `other`: each of its entries has one that stands in."""
        return all(
            any(mine == entry or self._replaces(n, mine, entry) or _outlives(mine, entry) for mine in state)
            for entry in other
        )

    def _used(self, n: int, entry: Entry) -> bool:
        later = self._sharing.get(entry.key, 0) >> (n + 1)
        if not later:
            return False
        following = n + (later & -later).bit_length()
        return self._calls[following].at <= entry.until

    def _replaces(self, n: int, other: Entry, entry: Entry) -> bool:
        if other.key == entry.key or self._numbers[other.key] <= self._numbers[entry.key]:
            return False
        later = self._sharing[entry.key] >> (n + 1)
        covers = later & ~(self._sharing[other.key] >> (n + 1)) == 0
        return covers and other.until >= entry.until and other.life >= entry.life


def _outlives(mine: Entry, entry: Entry) -> bool:
    return mine.key == entry.key and mine.until >= entry.until and mine.life >= entry.life
