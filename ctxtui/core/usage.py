"""Usage that a provider reported for a call, normalised (facts §12), and quota reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from msgspec import Struct

FRESH: Final = "fresh"
WRITES: Final = ("write_5m", "write_1h", "write_30m", "write_12h")
"""The names of cache writes, by the entry's lifetime."""
COUNTS: Final = (FRESH, "cache_read", *WRITES, "output", "reasoning")
"""The names of the token counts of a usage."""


class Usage(Struct, frozen=True, gc=False):
    """Tokens of one call, disjoint on the input side.

    `fresh` + `cache_read` + writes = the call's input.
    - `fresh`: neither read from nor written to the cache.
    - `write_5m` and so on: written, by the entry's lifetime; an unsplit report counts as the dialect's default.
    - `output`: includes `reasoning`.
    - `output_final`: False if the report was made before the end of the answer.
    - `cost`: the recording's own figure in USD, if it has one.
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
    """Whether the provider reported cache figures at all; if not, read and write are unknown, not zero."""
    cost: float | None = None

    @property
    def cache_write(self) -> int:
        """Tokens written to the cache, all lifetimes."""
        return self.write_5m + self.write_1h + self.write_30m + self.write_12h

    @property
    def input(self) -> int:
        """All input tokens: read + write + fresh."""
        # Spelled out for speed: this is read several times per report.
        return self.fresh + self.cache_read + self.write_5m + self.write_1h + self.write_30m + self.write_12h

    def __add__(self, other: Usage) -> Usage:
        """Sum of two usages; it has a cost only if both have one."""
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
        """Usage to start a sum from: its cost is 0, not unknown, so that the sum may have one."""
        return cls(has_cache=False, cost=0.0)


def subtract(total: Usage, part: Usage) -> Usage:
    """Subtract `part` from `total` by kind of token, at least 0 each.

    The cost of the rest is unknown.
    """
    remaining = {name: max(0, getattr(total, name) - getattr(part, name)) for name in COUNTS}
    return Usage(**remaining, output_final=total.output_final, has_cache=total.has_cache)


class QuotaReport(NamedTuple):
    """A report on a quota window: the used share of a subscription's limit over some hours.

    - `limit`: names whose limit it is (``codex``, ``claude`` ...).
    - `minutes`: the length of the window.
    - `used`: the used share (0 to 1, above if exceeded).
    - `resets`, `at` (time of the report): Unix seconds (0: unknown).
    - `raw`: the JSON text of the report, verbatim.
    """

    limit: str
    minutes: int
    used: float
    resets: int = 0
    at: int = 0
    raw: str = ""

    @property
    def window(self) -> tuple[str, int]:
        """Identity of the window; rounded, as some clients report a length that is a minute off."""
        return self.limit, round(self.minutes / 10)

    @property
    def begins(self) -> int:
        """Start of the window in Unix seconds.

        If the reset is unknown, the report's time minus the window's length.
        """
        return (self.resets or self.at) - 60 * self.minutes


def newest_quotas(reports: Iterable[QuotaReport]) -> list[QuotaReport]:
    """The newest report on each window, the later one of two with the same time."""
    newest: dict[tuple[str, int], QuotaReport] = {}
    for report in reports:
        previous = newest.get(report.window)
        if previous is None or report.at >= previous.at:
            newest[report.window] = report
    return list(newest.values())
