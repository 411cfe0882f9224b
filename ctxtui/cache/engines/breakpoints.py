"""OpenAI's prompt cache from 5.6 on: entries at breakpoints, explicit or at message ends (facts §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

from ctxtui.cache.outcome import EXPIRED, MINIMUM, NEVER, NO_MARKER, NOT_YET, CacheOutcome, Entry, Reason, split
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMark
from ctxtui.cache.rules import Mechanism

ENDS_LOOKED_UP: Final = 21
"""Number of implicit breakpoints looked up: the latest and 20 earlier ends of eligible messages (the guide's figure;
the SDK names the latest 80 breakpoints of any kind, which `CacheRules.lookback` is)."""
_RESULTS: Final = frozenset({"tool", "function"})
_FIRST: Final = frozenset({"system", "developer", ""})
_EXPLICIT: Final = b"explicit"


class _Candidate(NamedTuple):
    spot: PrefixEnd
    key: bytes
    life: float


class Breakpoints:
    """Entries of all models and scopes."""

    mechanism: ClassVar[Mechanism] = Mechanism(takes_breakpoints=True, minimum_by_model=True)

    def __init__(self, entries: dict[bytes, Entry] | None = None) -> None:
        self.entries: dict[bytes, Entry] = entries or {}

    def copy(self) -> Breakpoints:
        """Return an independent cache with the same entries."""
        return Breakpoints(dict(self.entries))

    def ask(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what a request reads and writes now; changes nothing."""
        rules = prompt.rules
        marked = [_Candidate(mark.spot, mark.spot.key + _EXPLICIT, mark.life) for mark in prompt.marks]
        life = rules.seconds(rules.life)
        implied = [] if prompt.explicit else [_Candidate(s, s.ended, life) for s in ends(prompt.last)]
        if not marked and not implied:
            return CacheOutcome(prompt, at, reasons=(Reason(NO_MARKER),))
        found, noted = self._hit([*marked[-rules.lookback :], *implied], at)
        hit = found.spot if found else None
        read = min(prompt.tokens(hit.node), prompt.total) if hit else 0
        to_write = sorted([*implied[:1], *marked[len(implied[:1]) - rules.markers :]], key=lambda one: one.spot.number)
        new = [
            (one, tokens)
            for one in to_write
            if (tokens := min(prompt.tokens(one.spot.node), prompt.total)) >= rules.minimum and tokens > read
        ]
        if not new and not hit:
            last = to_write[-1].spot
            noted = [*noted, Reason(MINIMUM, last, rules.minimum - prompt.tokens(last.node))]
        charged = [(CacheMark(one.spot, one.life), tokens) for one, tokens in new]
        entered = tuple((one.key, one.life) for one, _ in new)
        renewed = tuple(c.key for c in (*marked, *implied) if hit and c.spot.number <= hit.number and self._live(c, at))
        lasts = new[-1][0].life if new else self.entries[found.key][2] if found else None
        return CacheOutcome(prompt, at, read, split(read, charged), hit, entered, renewed, lasts, tuple(noted))

    def _hit(self, candidates: list[_Candidate], at: float) -> tuple[_Candidate | None, list[Reason]]:
        noted: list[Reason] = []
        for one in sorted(candidates, key=lambda one: -one.spot.number):
            entry = self.entries.get(one.key)
            if entry is None:
                continue
            until, ready, _ = entry
            if until < at:
                noted.append(Reason(EXPIRED, one.spot, at - until))
            elif ready > at:
                noted.append(Reason(NOT_YET, one.spot, ready - at))
            else:
                return one, noted
        return None, noted or [Reason(NEVER)]

    def held(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        """Deepest position of a live entry on the prompt's path, written for at least `life` seconds; None if none."""
        for spot in prompt.last.back():
            keys = [spot.key + _EXPLICIT, *([] if prompt.explicit else [spot.ended])]
            entries = (e for key in keys if (e := self.entries.get(key)))
            if any(ready <= at <= until and lasts >= life for until, ready, lasts in entries):
                return spot
        return None

    def _live(self, one: _Candidate, at: float) -> bool:
        entry = self.entries.get(one.key)
        return entry is not None and entry[1] <= at <= entry[0]

    def take(self, outcome: CacheOutcome, began: float) -> None:
        """Record a sent request whose answer `began` (Unix seconds)."""
        entries, at = self.entries, outcome.at
        for key in outcome.renewed:
            until, ready, life = entries[key]
            entries[key] = (max(until, at + life), ready, life)
        for key, life in outcome.entered:
            before = entries.get(key)
            live = before is not None and before[0] >= at
            entries[key] = (at + life, min(before[1], began) if before and live else began, life)


def ends(last: PrefixEnd) -> Iterator[PrefixEnd]:
    """Yield the positions of implicit breakpoints, the latest first.

    These are the ends of user messages, of runs of tool outputs, and of the initial developer block.
    """
    found = 0
    after: PrefixEnd | None = None
    for spot in last.back():
        if _ends(spot, after):
            yield spot
            found += 1
            if found == ENDS_LOOKED_UP:
                return
        after = spot


def _ends(spot: PrefixEnd, after: PrefixEnd | None) -> bool:
    if after is None:
        return spot.role in _RESULTS or spot.role not in ("assistant", "model")
    if spot.role in _RESULTS:
        return after.role not in _RESULTS
    if spot.role in _FIRST:
        return after.role not in _FIRST
    return spot.role == "user" and after.opens
