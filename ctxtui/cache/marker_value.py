"""Value of each cache marker in a session: tokens written, reads, and money saved."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ctxtui.cache.optimal_markers import MarkerRates
from ctxtui.cache.outcome import CacheOutcome


class MarkerValue(Struct, kw_only=True):
    """A cache entry that call `call` (from 0) wrote after tree node `node` for `life` seconds.

    - `written`: tokens that it added to the cached prefix.
    - `reads`: number of calls that read up to it or further because of it.
    - `read`: how many of the written tokens these calls read, in all.
    - `gain`: the saving of the reads minus the extra price of the write over fresh input, in the unit of the prices.
    """

    call: int
    node: int
    life: float
    written: int
    reads: int = 0
    read: int = 0
    gain: float = 0.0

    @property
    def has_paid(self) -> bool:
        return self.gain > 0


def evaluate_markers(outcomes: Sequence[CacheOutcome], prices: Sequence[MarkerRates]) -> list[MarkerValue]:
    """Evaluate every entry that the calls wrote, in order.

    `outcomes` are the calls' outcomes in the Anthropic engine.
    """
    values: list[MarkerValue] = []
    live: dict[bytes, MarkerValue] = {}
    for number, (outcome, rates) in enumerate(zip(outcomes, prices, strict=True)):
        _credit_reads(outcome, live, rates)
        before, entered = outcome.read, dict(outcome.entered)
        for marker in outcome.prompt.markers:
            if marker.position.key not in entered:
                continue
            length = min(outcome.prompt.tokens(marker.position.node), outcome.total)
            value = MarkerValue(
                call=number, node=marker.position.node, life=marker.life, written=max(0, length - before)
            )
            value.gain = -(rates.writes.get(marker.life, rates.fresh) - rates.fresh) * value.written
            live[marker.position.key] = value
            values.append(value)
            before = max(before, length)
    return values


def _credit_reads(outcome: CacheOutcome, live: dict[bytes, MarkerValue], rates: MarkerRates) -> None:
    hit = outcome.hit
    if hit is None or not outcome.read:
        return
    left = outcome.read
    for position in hit.back():
        entry = live.get(position.key)
        if entry is not None and left > 0:
            tokens = min(entry.written, left)
            entry.reads += 1
            entry.read += tokens
            entry.gain += (rates.fresh - rates.read) * tokens
            left -= tokens
