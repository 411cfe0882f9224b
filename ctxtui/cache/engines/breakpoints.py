"""OpenAI's prompt cache from GPT-5.6 on (facts §4).

Its entries are at breakpoints, explicit or at message ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

from ctxtui.cache.outcome import EXPIRED, MINIMUM, NEVER, NO_MARKER, NOT_YET, CacheOutcome, Entry, Reason, split_writes
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt, CacheMarker
from ctxtui.cache.rules import Mechanism
from ctxtui.core.block import ASSISTANT

MAX_IMPLICIT_BREAKPOINTS: Final = 21
"""Number of implicit breakpoints looked up: the latest, and 20 earlier ends of messages (OpenAI's guide).

OpenAI's SDK documents the latest 80 breakpoints of any kind: that is `CacheRules.lookback`.
"""
_RESULTS: Final = frozenset({"tool", "function"})
"""Roles of messages that hold tool results."""
_FIRST: Final = frozenset({"system", "developer", ""})
"""Roles of developer blocks; "" is the ``instructions`` member."""
_EXPLICIT: Final = b"explicit"
"""Suffix of the keys of explicit breakpoints: their entries differ from those of message ends."""


class _Candidate(NamedTuple):
    """A position at which an entry may exist: the entry's key, and its lifetime in seconds."""

    position: PrefixEnd
    key: bytes
    life: float


class Breakpoints:
    """Simulates OpenAI's prompt cache from GPT-5.6 on.

    One simulation is for all models and scopes, as their prefix keys differ.
    """

    mechanism: ClassVar[Mechanism] = Mechanism(takes_breakpoints=True, minimum_by_model=True)

    def __init__(self, entries: dict[bytes, Entry] | None = None) -> None:
        self.entries: dict[bytes, Entry] = entries or {}

    def copy(self) -> Breakpoints:
        return Breakpoints(dict(self.entries))

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what a request sent `at` (Unix seconds) reads and writes; changes nothing."""
        rules = prompt.rules
        marked = [_Candidate(mark.position, mark.position.key + _EXPLICIT, mark.life) for mark in prompt.markers]
        life = rules.seconds(rules.life)
        implied = (
            []
            if prompt.explicit
            else [_Candidate(s, s.message_end_key, life) for s in implicit_breakpoints(prompt.last)]
        )
        if not marked and not implied:
            return CacheOutcome(prompt, at, reasons=(Reason(NO_MARKER),))
        best, reasons = self._find_hit([*marked[-rules.lookback :], *implied], at)
        hit = best.position if best else None
        read = min(prompt.tokens(hit.node), prompt.total) if hit else 0
        # The latest implicit breakpoint counts towards the maximum number of markers.
        to_write = sorted(
            [*implied[:1], *marked[len(implied[:1]) - rules.markers :]], key=lambda marker: marker.position.number
        )
        new = [
            (candidate, tokens)
            for candidate in to_write
            if (tokens := min(prompt.tokens(candidate.position.node), prompt.total)) >= rules.minimum and tokens > read
        ]
        if not new and not hit:
            last = to_write[-1].position
            reasons = [*reasons, Reason(MINIMUM, last, rules.minimum - prompt.tokens(last.node))]
        charged = [(CacheMarker(candidate.position, candidate.life), tokens) for candidate, tokens in new]
        entered = tuple((candidate.key, candidate.life) for candidate, _ in new)
        renewed = tuple(
            c.key for c in (*marked, *implied) if hit and c.position.number <= hit.number and self._is_live(c, at)
        )
        lasts = new[-1][0].life if new else self.entries[best.key][2] if best else None
        deepest = new[-1][0].position if new else None
        writes = split_writes(read, charged)
        return CacheOutcome(prompt, at, read, writes, hit, entered, renewed, lasts, tuple(reasons), deepest)

    def _find_hit(self, candidates: list[_Candidate], at: float) -> tuple[_Candidate | None, list[Reason]]:
        reasons: list[Reason] = []
        for candidate in sorted(candidates, key=lambda candidate: -candidate.position.number):
            entry = self.entries.get(candidate.key)
            if entry is None:
                continue
            until, ready, _ = entry
            if until < at:
                reasons.append(Reason(EXPIRED, candidate.position, at - until))
            elif ready > at:
                reasons.append(Reason(NOT_YET, candidate.position, ready - at))
            else:
                return candidate, reasons
        return None, reasons or [Reason(NEVER)]

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        for position in prompt.last.back():
            keys = [position.key + _EXPLICIT, *([] if prompt.explicit else [position.message_end_key])]
            entries = (e for key in keys if (e := self.entries.get(key)))
            if any(ready <= at <= until and lasts >= life for until, ready, lasts in entries):
                return position
        return None

    def _is_live(self, candidate: _Candidate, at: float) -> bool:
        entry = self.entries.get(candidate.key)
        return entry is not None and entry[1] <= at <= entry[0]

    def record(self, outcome: CacheOutcome, began: float) -> None:
        entries, at = self.entries, outcome.at
        for key in outcome.renewed:
            until, ready, life = entries[key]
            entries[key] = (max(until, at + life), ready, life)
        for key, life in outcome.entered:
            before = entries.get(key)
            live = before is not None and before[0] >= at
            entries[key] = (at + life, min(before[1], began) if before and live else began, life)


def implicit_breakpoints(last: PrefixEnd) -> Iterator[PrefixEnd]:
    """Yield the positions of implicit breakpoints, the latest first.

    These are the ends of user messages, of runs of tool outputs, and of developer blocks; also the end of the prompt,
    unless that is an answer.
    """
    count = 0
    after: PrefixEnd | None = None
    for position in last.back():
        if _is_implicit_breakpoint(position, after):
            yield position
            count += 1
            if count == MAX_IMPLICIT_BREAKPOINTS:
                return
        after = position


def _is_implicit_breakpoint(position: PrefixEnd, after: PrefixEnd | None) -> bool:
    if after is None:
        return position.role not in ASSISTANT
    if position.role in _RESULTS:
        return after.role not in _RESULTS
    if position.role in _FIRST:
        return after.role not in _FIRST
    return position.role == "user" and after.opens_message
