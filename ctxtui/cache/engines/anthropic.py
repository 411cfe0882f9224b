"""Anthropic's prompt cache: entries are at markers, and found backwards from one (facts §2)."""

from __future__ import annotations

from typing import ClassVar

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
    split_writes,
)
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMarker
from ctxtui.cache.rules import Mechanism
from ctxtui.wire.grammar import ANTHROPIC


class Anthropic:
    """Simulates Anthropic's prompt cache, for all models and scopes (their prefix keys differ)."""

    mechanism: ClassVar[Mechanism] = Mechanism(
        writes_at_markers=True, keeps_answers=True, minimum_by_model=True, dialect=ANTHROPIC
    )

    def __init__(self) -> None:
        self.entries: dict[bytes, Entry] = {}
        self._last = 0.0
        """Time when the last entry expires, or of the last request if that is later (Unix seconds)."""
        self._ends: dict[float, float] = {}
        """By lifetime in seconds: when the last entry of that lifetime expires."""

    def copy(self) -> Anthropic:
        copied = Anthropic()
        copied.entries, copied._last, copied._ends = dict(self.entries), self._last, dict(self._ends)
        return copied

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what a request sent `at` (Unix seconds) reads and writes; changes nothing."""
        rules, _, markers, tokens, total, _, _ = prompt
        if not markers:
            return CacheOutcome(prompt, at, reasons=(Reason(NO_MARKER),))
        reasons: list[Reason] = []
        new: list[tuple[CacheMarker, int]] = []
        renewed: list[bytes] = []
        hit = self._find_hit(markers, at, rules.lookback, reasons, why)
        read, after, life = 0, 0, None
        if hit is not None:
            length, after, life = tokens(hit.node), hit.number, self.entries[hit.key][2]
            read = length if length < total else total
            renewed.append(hit.key)
        for marker in markers:
            position = marker.position
            if position.number > after:
                length = tokens(position.node)
                if length >= rules.minimum:
                    new.append((marker, length if length < total else total))
            elif position is not hit and self._is_live(position, at):
                renewed.append(position.key)
        if new:
            life = new[-1][0].life
        elif hit is None:
            short = rules.minimum - tokens(markers[-1].position.node)
            reasons.append(Reason(MINIMUM, markers[-1].position, short))
        entered = tuple([(marker.position.key, marker.life) for marker, _ in new])
        deepest = new[-1][0].position if new else None
        writes = split_writes(read, new)
        return CacheOutcome(prompt, at, read, writes, hit, entered, tuple(renewed), life, tuple(reasons), deepest)

    def _find_hit(
        self, markers: tuple[CacheMarker, ...], at: float, lookback: int, reasons: list[Reason], why: bool
    ) -> PrefixEnd | None:
        """Find the deepest readable position, and note the reasons why a deeper one is not readable.

        A marker finds entries up to `lookback` positions before it. Entries farther away are noted only with `why`, as
        that takes a pass over the whole prompt.
        """
        entries = self.entries
        last = markers[-1]
        for marker in reversed(markers):
            position = marker.position
            end = position.number - lookback
            while position.number > end and position.before is not None:
                entry = entries.get(position.key)
                if entry is not None:
                    until, ready, _ = entry
                    if until < at:
                        reasons.append(Reason(EXPIRED, position, at - until))
                    elif ready > at:
                        reasons.append(Reason(NOT_YET, position, ready - at))
                    else:
                        if why and marker is not last:
                            self._note_unreachable(markers, position, at, lookback, reasons)
                        return position
                position = position.before
        if why:
            self._note_unreachable(markers, None, at, lookback, reasons)
        if not reasons:
            reasons.append(Reason(NEVER, last.position))
        return None

    def _note_unreachable(
        self, markers: tuple[CacheMarker, ...], hit: PrefixEnd | None, at: float, lookback: int, reasons: list[Reason]
    ) -> None:
        """Note the deepest live entry that is outside every marker's lookback window."""
        last = markers[-1].position
        if at > self._last:
            return
        # The newest first: they are the most likely to be live.
        newest = reversed(self.entries.values())
        if not any(ready <= at <= until for until, ready, _ in newest):
            return
        for position in last.back():
            if hit is not None and position.number <= hit.number:
                return
            if self._is_live(position, at):
                nearest = min(marker.position.number for marker in markers if marker.position.number >= position.number)
                reasons.append(Reason(LOOKBACK, position, nearest - position.number - lookback + 1))
                return

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        # Skip the path if no such entry is live at all.
        if not any(lasts >= life and at <= end for lasts, end in self._ends.items()):
            return None
        entries = self.entries
        for position in prompt.last.back():
            entry = entries.get(position.key)
            if entry is not None and entry[1] <= at <= entry[0] and entry[2] >= life:
                return position
        return None

    def _is_live(self, position: PrefixEnd, at: float) -> bool:
        entry = self.entries.get(position.key)
        return entry is not None and entry[1] <= at <= entry[0]

    def record(self, outcome: CacheOutcome, began: float) -> None:
        """Record a sent request whose answer `began` (Unix seconds).

        Its entries are readable from then on. If the request had a marker, each result of a server-side tool in the
        answer is an entry too.
        """
        entries, at = self.entries, outcome.at
        if at > self._last:
            self._last = at
        if outcome.prompt.answer is not None and outcome.prompt.markers:
            self._add_server_results(outcome.prompt, at, began)
        for key in outcome.renewed:
            until, ready, life = entries[key]
            if at + life > until:
                self._put_entry(key, at + life, ready, life)
        for key, life in outcome.entered:
            before = entries.get(key)
            if before is None or before[0] < at:
                self._put_entry(key, at + life, began, life)
            else:
                # A second request wrote the same prefix before the first one's answer began. The entry is assumed to
                # keep its first lifetime (unverified, facts §12).
                until, ready, old = before
                self._put_entry(key, max(until, at + life), min(ready, began), old)

    def _put_entry(self, key: bytes, until: float, ready: float, life: float) -> None:
        self.entries[key] = (until, ready, life)
        if until > self._last:
            self._last = until
        if until > self._ends.get(life, 0.0):
            self._ends[life] = until

    def _add_server_results(self, prompt: CachedPrompt, at: float, began: float) -> None:
        assert prompt.answer is not None
        life = min(prompt.rules.lives.values())
        for position in prompt.answer.back():
            if position.number <= prompt.last.number:
                return
            if position.is_server_result:
                self._put_entry(position.key, at + life, began, life)
