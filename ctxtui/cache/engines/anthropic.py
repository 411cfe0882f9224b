"""Anthropic's prompt cache: entries only at markers, looked up backwards from a marker (facts §2)."""

from __future__ import annotations

from typing import ClassVar, Final

from ctxtui.cache.outcome import (
    EXPIRED,
    LOOKBACK,
    MINIMUM,
    NEVER,
    NO_MARKER,
    NOT_YET,
    CacheOutcome,
    Entry,
    Reason,
    split,
)
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMark
from ctxtui.cache.rules import Mechanism
from ctxtui.wire.grammar import ANTHROPIC

GRACE: Final = 0.0
"""Seconds that an entry is assumed to outlive its lifetime, which is a minimum (unverified, facts §12)."""
HIT_KEEPS_LIFE: Final = True
"""Whether a marker with another lifetime at a live entry renews it with the entry's own lifetime (unverified)."""


class Anthropic:
    """Entries of all models and scopes; their keys differ by both."""

    mechanism: ClassVar[Mechanism] = Mechanism(
        writes_at_markers=True, keeps_answers=True, minimum_by_model=True, dialect=ANTHROPIC
    )

    def __init__(self, entries: dict[bytes, Entry] | None = None) -> None:
        self.entries: dict[bytes, Entry] = entries or {}
        self._last = max((until for until, _, _ in self.entries.values()), default=0.0)
        """Time when the last entry expires (Unix seconds)."""
        self._ends: dict[float, float] = {}
        """The same by lifetime in seconds."""
        for until, _, life in self.entries.values():
            self._ends[life] = max(until, self._ends.get(life, 0.0))

    def copy(self) -> Anthropic:
        """Return an independent cache with the same entries."""
        other = Anthropic()
        other.entries, other._last, other._ends = dict(self.entries), self._last, dict(self._ends)
        return other

    def ask(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what a request reads and writes now; changes nothing."""
        rules, _, marks, tokens, total, _, _ = prompt
        if not marks:
            return CacheOutcome(prompt, at, reasons=(Reason(NO_MARKER),))
        noted: list[Reason] = []
        new: list[tuple[CacheMark, int]] = []
        renewed: list[bytes] = []
        hit = self._hit(marks, at, rules.lookback, noted, why)
        read, after, life = 0, 0, None
        if hit is not None:
            length, after, life = tokens(hit.node), hit.number, self.entries[hit.key][2]
            read = length if length < total else total
            renewed.append(hit.key)
        for mark in marks:
            spot = mark.spot
            if spot.number > after:
                length = tokens(spot.node)
                if length >= rules.minimum:
                    new.append((mark, length if length < total else total))
            elif spot is not hit and self._live(spot, at):
                renewed.append(spot.key)
        if new:
            life = new[-1][0].life
        elif hit is None:
            short = rules.minimum - tokens(marks[-1].spot.node)
            noted.append(Reason(MINIMUM, marks[-1].spot, short))
        entered = tuple([(mark.spot.key, mark.life) for mark, _ in new])
        return CacheOutcome(prompt, at, read, split(read, new), hit, entered, tuple(renewed), life, tuple(noted))

    def _hit(
        self, marks: tuple[CacheMark, ...], at: float, lookback: int, noted: list[Reason], why: bool
    ) -> PrefixEnd | None:
        """Find the deepest readable position, and note the reasons why a deeper one is not readable.

        Entries outside all lookback windows are noted only with `why`, because that takes a pass over the whole
        prompt.
        """
        entries = self.entries
        last = marks[-1]
        for mark in reversed(marks):
            spot = mark.spot
            end = spot.number - lookback
            while spot.number > end and spot.before is not None:
                entry = entries.get(spot.key)
                if entry is not None:
                    until, ready, _ = entry
                    if until + GRACE < at:
                        noted.append(Reason(EXPIRED, spot, at - until))
                    elif ready > at:
                        noted.append(Reason(NOT_YET, spot, ready - at))
                    else:
                        if why and mark is not last:
                            self._beyond(marks, spot, at, lookback, noted)
                        return spot
                spot = spot.before
        if why:
            self._beyond(marks, None, at, lookback, noted)
        if not noted:
            noted.append(Reason(NEVER, last.spot))
        return None

    def _beyond(
        self, marks: tuple[CacheMark, ...], hit: PrefixEnd | None, at: float, lookback: int, noted: list[Reason]
    ) -> None:
        """Note the deepest live entry that is outside every marker's lookback window."""
        last = marks[-1].spot
        if at > self._last + GRACE:
            return
        # The newest first: they are the most likely to be live.
        newest = reversed(self.entries.values())
        if not any(ready <= at <= until + GRACE for until, ready, _ in newest):
            return
        for spot in last.back():
            if hit is not None and spot.number <= hit.number:
                return
            if self._live(spot, at):
                nearest = min(mark.spot.number for mark in marks if mark.spot.number >= spot.number)
                noted.append(Reason(LOOKBACK, spot, nearest - spot.number - lookback + 1))
                return

    def held(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        """Deepest position of a live entry on the prompt's path, written for at least `life` seconds; None if none."""
        # Skip the path if no such entry is live at all.
        if not any(lasts >= life and at <= end + GRACE for lasts, end in self._ends.items()):
            return None
        entries = self.entries
        for spot in prompt.last.back():
            entry = entries.get(spot.key)
            if entry is not None and entry[1] <= at <= entry[0] + GRACE and entry[2] >= life:
                return spot
        return None

    def _live(self, spot: PrefixEnd, at: float) -> bool:
        entry = self.entries.get(spot.key)
        return entry is not None and entry[1] <= at <= entry[0] + GRACE

    def take(self, outcome: CacheOutcome, began: float) -> None:
        """Record a sent request whose answer `began` (Unix seconds): its entries are readable from then on.

        If the request had a marker, each result of a server-side tool in the answer is an entry too, for the
        shortest lifetime.
        """
        entries, at = self.entries, outcome.at
        if at > self._last:
            self._last = at
        if outcome.prompt.answer is not None and outcome.prompt.marks:
            self._serve(outcome.prompt, at, began)
        for key in outcome.renewed:
            until, ready, life = entries[key]
            if at + life > until:
                self._enter(key, at + life, ready, life)
        for key, life in outcome.entered:
            before = entries.get(key)
            if before is None or before[0] + GRACE < at:
                self._enter(key, at + life, began, life)
            else:
                # A second request wrote the same prefix before the first one's answer began.
                until, ready, old = before
                self._enter(key, max(until, at + life), min(ready, began), old if HIT_KEEPS_LIFE else life)

    def _enter(self, key: bytes, until: float, ready: float, life: float) -> None:
        self.entries[key] = (until, ready, life)
        if until > self._last:
            self._last = until
        if until > self._ends.get(life, 0.0):
            self._ends[life] = until

    def _serve(self, prompt: CachedPrompt, at: float, began: float) -> None:
        assert prompt.answer is not None
        life = min(prompt.rules.lives.values())
        for spot in prompt.answer.back():
            if spot.number <= prompt.last.number:
                return
            if spot.served:
                self._enter(spot.key, at + life, began, life)
