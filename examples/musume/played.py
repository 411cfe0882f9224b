"""What a run left: the logs of its turns, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FRESH, OUTPUT = "input_tokens", "output_tokens"
WRITTEN, READ = "cache_creation_input_tokens", "cache_read_input_tokens"
Log = Mapping[str, Any]


@dataclass(frozen=True)
class Prices:
    """USD a million tokens: fresh input, written to the cache, read from it, output."""

    fresh: float
    written: float
    read: float
    output: float


@dataclass(frozen=True)
class Played:
    """A run: the log of each turn, of which the first `compared` stand beside other runs; and what the session costs by
    list price, as ``ctxtui cost`` says it."""

    logs: Sequence[Log]
    compared: int
    usd: float = 0.0

    @property
    def first(self) -> Sequence[Log]:
        """The turns that every run has."""
        return self.logs[: self.compared]

    def total(self, name: str) -> int:
        """Tokens of the first turns."""
        return sum(int(log["usage"][name]) for log in self.first)

    @staticmethod
    def used(log: Log) -> int:
        """All input of a turn."""
        return sum(int(log["usage"][name]) for name in (FRESH, WRITTEN, READ))

    @property
    def hit_rate(self) -> float:
        """What was read from the cache, of all input."""
        return self.total(READ) / max(1, sum(map(self.used, self.first)))


def cost(logs: Sequence[Log], prices: Prices) -> float:
    """USD of turns at `prices`."""
    names = {FRESH: prices.fresh, WRITTEN: prices.written, READ: prices.read, OUTPUT: prices.output}
    return sum(int(log["usage"][name]) * price for log in logs for name, price in names.items()) / 1e6
