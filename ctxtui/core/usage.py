"""Usage: what a provider reported for a call, normalised (facts §12), and of a quota: how much of a window of time is
used up, and when the window begins anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from msgspec import Struct

FRESH: Final = "fresh"
WRITES: Final = ("write_5m", "write_1h", "write_30m", "write_12h")
"""The names of what is written to the cache, by the entry's lifetime."""
COUNTS: Final = (FRESH, "cache_read", *WRITES, "output", "reasoning")
"""The names of the token counts of a usage."""


class Usage(Struct, frozen=True, gc=False):
    """Tokens of one call, disjoint on the input side: `fresh` + `cache_read` + writes = the call's input.

    `fresh` was neither read from nor written to the cache; writes are split by the entry's lifetime, an unsplit
    report counts as the dialect's default. `output` includes `reasoning`. `output_final` is False where a transcript
    shows only a partial count. `cost` is the recording's own figure in USD, where it has one.
    """

    fresh: int = 0
    cache_read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    write_30m: int = 0
    write_12h: int = 0
    output: int = 0
    reasoning: int = 0
    output_final: bool = True
    has_cache: bool = True
    """Whether the provider reported cache figures at all; without, read and write are unknown, not zero."""
    cost: float | None = None

    @property
    def cache_write(self) -> int:
        """Tokens written to the cache, all lifetimes."""
        return self.write_5m + self.write_1h + self.write_30m + self.write_12h

    @property
    def input(self) -> int:
        """All input tokens: read + write + fresh (law 6)."""
        # Spelled out: every report is asked several times.
        return self.fresh + self.cache_read + self.write_5m + self.write_1h + self.write_30m + self.write_12h

    def __add__(self, other: Usage) -> Usage:
        """Totals of two calls; the sum has a cost only where both have one."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            **sums,
            output_final=self.output_final and other.output_final,
            has_cache=self.has_cache or other.has_cache,
            cost=cost,
        )

    @classmethod
    def nothing(cls) -> Self:
        """The neutral element of addition."""
        return cls(cost=0.0)


def less(one: Usage, other: Usage) -> Usage:
    """What `one` is more than `other`, by kind; what that cost is not known."""
    rest = {name: max(0, getattr(one, name) - getattr(other, name)) for name in COUNTS}
    return Usage(**rest, output_final=one.output_final, has_cache=one.has_cache)


class QuotaReport(NamedTuple):
    """One report on one window. `limit` says whose it is (``codex``, ``claude`` ...), `minutes` how long it is, `used`
    the share of it that is used (0 to 1, more where it was gone beyond). It `resets` and was reported `at` those Unix
    seconds (0: not said). `raw` is the JSON text of what was said, as it was said."""

    limit: str
    minutes: int
    used: float
    resets: int = 0
    at: int = 0
    raw: str = ""

    @property
    def window(self) -> tuple[str, int]:
        """Which window it is about; some versions of a client are a minute off in its length."""
        return self.limit, round(self.minutes / 10)

    @property
    def begins(self) -> int:
        """When the window began, in Unix seconds, as far as that is told: else its length before the report."""
        return (self.resets or self.at) - 60 * self.minutes


def newest_quotas(reports: Iterable[QuotaReport]) -> list[QuotaReport]:
    """The newest report on each window, the later one of two of the same moment; in the order of the first ones."""
    found: dict[tuple[str, int], QuotaReport] = {}
    for one in reports:
        known = found.get(one.window)
        if known is None or one.at >= known.at:
            found[one.window] = one
    return list(found.values())
