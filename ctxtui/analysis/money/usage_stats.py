"""Usage of many calls, and its changes: the rows of `ctxtui stats` and of its screen."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.analysis.money.quota_windows import QuotaWindow, ReportedWindow

_DEVIATIONS_95: Final = 1.96
"""Standard errors to each side of a 95 % interval."""
_MIN_SESSIONS: Final = 3
"""Sessions needed for an interval."""


class Estimate(NamedTuple):
    """A ratio with its 95 % interval and standard error; None with too few sessions."""

    value: float
    low: float | None = None
    high: float | None = None
    error: float | None = None


def estimate_ratio(parts: Sequence[tuple[float, float]]) -> Estimate | None:
    """Divide the sum of all numerators by that of all denominators; None if the latter is 0.

    `parts` has one (numerator, denominator) per session; the interval treats sessions as independent.
    """
    parts = [part for part in parts if part[1]]
    numerator, denominator = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if not denominator:
        return None
    value = numerator / denominator
    left_one_out = [(numerator - a) / (denominator - b) for a, b in parts if denominator - b > 0]
    count = len(left_one_out)
    if count < _MIN_SESSIONS:
        return Estimate(value)
    mean = sum(left_one_out) / count
    error = sqrt((count - 1) / count * sum((value_ - mean) ** 2 for value_ in left_one_out))
    return Estimate(value, value - _DEVIATIONS_95 * error, value + _DEVIATIONS_95 * error, error)


def estimate_change(before: Estimate, after: Estimate) -> Estimate:
    value = after.value - before.value
    if before.error is None or after.error is None:
        return Estimate(value)
    error = sqrt(before.error**2 + after.error**2)
    return Estimate(value, value - _DEVIATIONS_95 * error, value + _DEVIATIONS_95 * error, error)


class UsageSums(Struct, kw_only=True):
    """Usage of calls. Tokens are whole numbers, money is USD.

    - `usd`: None if no price is known; a lower bound if calls are `unpriced` or not fully reported (`partial`).
    - `read`: tokens of the `input` that came from the cache.
    - `overflows`: number of calls above the usable window.
    - `lost`: extra cost of misses (None: unknown); a lower bound if some have no known price (`unpriced_misses`).
    """

    name: str = ""
    sessions: int = 0
    calls: int = 0
    input: int = 0
    read: int = 0
    output: int = 0
    usd: float | None = None
    unpriced: int = 0
    misses: int = 0
    lost: float | None = None
    unpriced_misses: int = 0
    compactions: int = 0
    overflows: int = 0
    partial: int = 0
    uncounted: int = 0
    """Sessions whose misses, compactions and overflows are not known yet."""

    def add(self, sums: UsageSums) -> None:
        """Add the calls of `sums`; the caller counts `sessions`."""
        self.calls += sums.calls
        self.input += sums.input
        self.read += sums.read
        self.output += sums.output
        self.usd = self.usd if sums.usd is None else (self.usd or 0.0) + sums.usd
        self.unpriced += sums.unpriced
        self.misses += sums.misses
        self.lost = self.lost if sums.lost is None else (self.lost or 0.0) + sums.lost
        self.unpriced_misses += sums.unpriced_misses
        self.compactions += sums.compactions
        self.overflows += sums.overflows
        self.partial += sums.partial
        self.uncounted += sums.uncounted

    @property
    def at_least(self) -> bool:
        return self.unpriced > 0 or self.partial > 0

    @property
    def tokens(self) -> int:
        return self.input + self.output

    @property
    def read_share(self) -> float | None:
        """Share of the input that was read from the cache, 0..1; None without input."""
        return self.read / self.input if self.input else None


class WorstMiss(NamedTuple):
    """A miss: its session's key and title, its call's number (from 1), USD lost.

    `cause` is a short text ("": unknown), `at` the start of the call (Unix seconds, 0: not recorded).
    """

    key: str
    title: str
    call: int
    lost: float
    cause: str = ""
    at: int = 0


class HeavyTool(NamedTuple):
    """A tool's number of calls, tokens of its results, and USD of definition and use.

    `server` is "" if it has none.
    """

    server: str
    name: str
    called: int
    results: int
    usd: float


class Metric(NamedTuple):
    """One figure before and after a change, and the difference (None: unknown)."""

    name: str
    unit: str
    before: Estimate | None
    after: Estimate | None
    difference: Estimate | None

    @property
    def shown(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        low, high = (self.difference.low, self.difference.high) if self.difference is not None else (None, None)
        return low is not None and high is not None and not low <= 0 <= high


class SeenChange(NamedTuple):
    """A change of client version, policy, compaction or tag, as it can be compared.

    `before`, `after`: numbers of sessions; `calls_before`, `calls_after`: numbers of calls. `words` select it; `first`
    is its first time in Unix seconds.
    """

    words: str
    first: float
    before: int
    calls_before: int
    after: int
    calls_after: int


class Comparison(Struct, frozen=True, kw_only=True):
    """A change (`what`), the usage before and after it, and the figures compared."""

    what: str
    before: UsageSums
    after: UsageSums
    metrics: tuple[Metric, ...]


class Stats(Struct, kw_only=True):
    """Usage statistics.

    - `rows`: by the requested key (the most expensive first; days and similar, newest first).
    - `windows`, `week`: windows of five hours, and the week until now; `reported`: quota windows as last reported by
      their providers.
    - `worst`: the worst misses; `tools`: tools by cost.
    - `comparison`: if requested; `changes`: those available for comparison, newest first.
    """

    total: UsageSums
    rows: list[UsageSums] = field(default_factory=list)
    windows: list[QuotaWindow] = field(default_factory=list)
    week: QuotaWindow
    reported: list[ReportedWindow] = field(default_factory=list)
    worst: list[WorstMiss] = field(default_factory=list)
    tools: list[HeavyTool] = field(default_factory=list)
    comparison: Comparison | None = None
    changes: list[SeenChange] = field(default_factory=list)
