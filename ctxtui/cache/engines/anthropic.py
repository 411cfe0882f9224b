"""Anthropic's prompt cache: entries only where a marker stood, found by walking back from a marker (facts §2)."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.cache.engines.charges import split
from ctxtui.cache.outcome import EXPIRED, LOOKBACK, MINIMUM, NEVER, NO_MARKER, NOT_YET, Outcome, Reason
from ctxtui.cache.prefix_key import Spot
from ctxtui.cache.prompt import Mark, Prompt

GRACE: Final = 0.0
"""Seconds that an entry is taken to outlive its lifetime, which is a minimum (unverified, facts §12)."""
HIT_KEEPS_LIFE: Final = True
"""A marker with another lifetime at a live entry renews the entry with the entry's own (unverified)."""


class Entry(NamedTuple):
    """A cached prefix: readable from `ready`, gone after `until` (Unix seconds), `life` seconds after each use."""

    until: float
    ready: float
    life: float


class Anthropic:
    """The entries of every model and scope: keys differ by both."""

    def __init__(self, entries: dict[bytes, Entry] | None = None) -> None:
        self.entries: dict[bytes, Entry] = entries or {}

    def copy(self) -> Anthropic:
        """A cache of its own with the same entries."""
        return Anthropic(dict(self.entries))

    def ask(self, prompt: Prompt, at: float) -> Outcome:
        """What a request would read and write now; changes nothing."""
        marks, rules = prompt.marks, prompt.rules
        if not marks:
            return Outcome(prompt, at, reasons=(Reason(NO_MARKER),))
        hit, noted = self._hit(marks, at, rules.lookback)
        read = min(prompt.tokens(hit.node), prompt.total) if hit else 0
        after = hit.number if hit else 0
        new: list[tuple[Mark, int]] = []
        renewed = [hit.key] if hit else []
        for mark in marks:
            if mark.spot.number <= after:
                if mark.spot is not hit and self._live(mark.spot, at):
                    renewed.append(mark.spot.key)
            elif (tokens := min(prompt.tokens(mark.spot.node), prompt.total)) >= rules.minimum:
                new.append((mark, tokens))
        if not new and not hit:
            short = rules.minimum - prompt.tokens(marks[-1].spot.node)
            noted.append(Reason(MINIMUM, marks[-1].spot, short))
        life = new[-1][0].life if new else self.entries[hit.key].life if hit else None
        entered = tuple((mark.spot.key, mark.life) for mark, _ in new)
        return Outcome(prompt, at, read, split(read, new), hit, entered, tuple(renewed), life, tuple(noted))

    def _hit(self, marks: tuple[Mark, ...], at: float, lookback: int) -> tuple[Spot | None, list[Reason]]:
        """The deepest place that may be read, and what was in the way of a deeper one."""
        entries = self.entries
        noted: list[Reason] = []
        for mark in reversed(marks):
            spot = mark.spot
            end = spot.number - lookback
            while spot.number > end and spot.before is not None:
                entry = entries.get(spot.key)
                if entry is not None:
                    if entry.until + GRACE < at:
                        noted.append(Reason(EXPIRED, spot, at - entry.until))
                    elif entry.ready > at:
                        noted.append(Reason(NOT_YET, spot, entry.ready - at))
                    else:
                        if mark is not marks[-1]:
                            self._beyond(marks, spot, at, lookback, noted)
                        return spot, noted
                spot = spot.before
        self._beyond(marks, None, at, lookback, noted)
        if not noted:
            noted.append(Reason(NEVER, marks[-1].spot))
        return None, noted

    def _beyond(self, marks: tuple[Mark, ...], hit: Spot | None, at: float, lookback: int, noted: list[Reason]) -> None:
        """Note the deepest live entry that no marker's window reaches."""
        last = marks[-1].spot
        for spot in last.back():
            if hit is not None and spot.number <= hit.number:
                return
            if self._live(spot, at):
                nearest = min(mark.spot.number for mark in marks if mark.spot.number >= spot.number)
                noted.append(Reason(LOOKBACK, spot, nearest - spot.number - lookback + 1))
                return

    def _live(self, spot: Spot, at: float) -> bool:
        entry = self.entries.get(spot.key)
        return entry is not None and entry.ready <= at <= entry.until + GRACE

    def take(self, outcome: Outcome, began: float) -> None:
        """The request was sent and its answer `began` (Unix seconds): from then on others can read what it wrote."""
        entries, at = self.entries, outcome.at
        for key in outcome.renewed:
            old = entries[key]
            entries[key] = Entry(max(old.until, at + old.life), old.ready, old.life)
        for key, life in outcome.entered:
            before = entries.get(key)
            if before is None or before.until + GRACE < at:
                entries[key] = Entry(at + life, began, life)
            else:
                # A second request wrote the same prefix before the first one's answer began.
                entries[key] = Entry(
                    max(before.until, at + life), min(before.ready, began), before.life if HIT_KEEPS_LIFE else life
                )
