"""What many calls used, and how that changed: the rows of `ctxtui stats` and of its screen."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.analysis.money.quota_windows import QuotaWindow, ReportedWindow

_NORMAL: Final = 1.96
"""Standard errors to each side for 95 %."""
_LEAST: Final = 3
"""Sessions below which nothing is said of how certain a figure is."""


class Estimate(NamedTuple):
    """A ratio, and the ends of its 95 % interval; None where too few sessions tell how certain it is."""

    value: float
    low: float | None = None
    high: float | None = None
    error: float | None = None
    """Its standard error."""


def ratio(parts: Sequence[tuple[float, float]]) -> Estimate | None:
    """The sum of all numerators over that of all denominators, of one (numerator, denominator) a session; None where
    there is nothing to divide by. The sessions are taken to be independent of each other, their calls are not."""
    above, below = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if not below:
        return None
    value = above / below
    others = [(above - a) / (below - b) for a, b in parts if below - b > 0]
    count = len(others)
    if count < _LEAST:
        return Estimate(value)
    mean = sum(others) / count
    error = sqrt((count - 1) / count * sum((one - mean) ** 2 for one in others))
    return Estimate(value, value - _NORMAL * error, value + _NORMAL * error, error)


def change(before: Estimate, after: Estimate) -> Estimate:
    """What `after` is more than `before`, with the interval of the difference."""
    value = after.value - before.value
    if before.error is None or after.error is None:
        return Estimate(value)
    error = sqrt(before.error**2 + after.error**2)
    return Estimate(value, value - _NORMAL * error, value + _NORMAL * error, error)


class UsageSums(Struct, kw_only=True):
    """What calls used. Tokens are whole numbers, money USD: `usd` None where no price is known, the least that it can
    be where calls are `unpriced` or the answers of `partial` ones are reported in part. `read` of the `input` of the
    calls that have a report came from the cache; `lost` is what misses cost more than reads, the least that it can be
    where the price of some is not known (`unpriced_misses`)."""

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
    """Sessions of which only what their calls used is known yet: no misses, compactions and overflows."""

    def add(self, other: UsageSums) -> None:
        """Take in the calls of `other`, too; `sessions` are counted by whoever knows them apart."""
        self.calls += other.calls
        self.input += other.input
        self.read += other.read
        self.output += other.output
        self.usd = self.usd if other.usd is None else (self.usd or 0.0) + other.usd
        self.unpriced += other.unpriced
        self.misses += other.misses
        self.lost = self.lost if other.lost is None else (self.lost or 0.0) + other.lost
        self.unpriced_misses += other.unpriced_misses
        self.compactions += other.compactions
        self.overflows += other.overflows
        self.partial += other.partial
        self.uncounted += other.uncounted

    @property
    def at_least(self) -> bool:
        """Whether `usd` is only the least that it can be."""
        return self.unpriced > 0 or self.partial > 0

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.input + self.output

    @property
    def read_share(self) -> float | None:
        """Of the input, 0..1; None where there is none."""
        return self.read / self.input if self.input else None


class WorstMiss(NamedTuple):
    """A miss: its session's key and title, its call's number in the session (from 1), USD lost; its cause in a few
    words ("": not known), and when the call began (Unix seconds, 0: not recorded)."""

    key: str
    title: str
    call: int
    lost: float
    cause: str = ""
    at: int = 0


class HeavyTool(NamedTuple):
    """A tool: its server ("": none), name, how often it was called, tokens of its results, USD of definition and use
    (None: not known)."""

    server: str
    name: str
    called: int
    results: int
    usd: float | None


class Metric(NamedTuple):
    """One figure before and after a change, and what changed. `shown`: the interval of the difference leaves out 0."""

    name: str
    unit: str
    before: Estimate | None
    after: Estimate | None
    difference: Estimate | None

    @property
    def shown(self) -> bool:
        """Whether the difference is more than chance."""
        found = self.difference
        return (
            found is not None and found.low is not None and found.high is not None and not found.low <= 0 <= found.high
        )


class SeenChange(NamedTuple):
    """A change that sessions tell of: the `words` it is asked for by, when it was `first` seen (Unix seconds), sessions
    and calls before and after it."""

    words: str
    first: float
    before: int
    calls_before: int
    after: int
    calls_after: int


class Comparison(Struct, frozen=True, kw_only=True):
    """`what` was changed, the usage on either side, and the figures held against each other."""

    what: str
    before: UsageSums
    after: UsageSums
    metrics: tuple[Metric, ...]


class Stats(Struct, kw_only=True):
    """The `total`, `rows` by what was asked for (dearest first, days and such newest first), windows of five hours
    with the `week` until now, what providers last `reported` of each quota window, the `worst` misses, `tools` dearest
    first; a `comparison` where one was asked for, and the `changes` that there are to compare by, newest first."""

    total: UsageSums
    rows: list[UsageSums] = field(default_factory=list)
    windows: list[QuotaWindow] = field(default_factory=list)
    week: QuotaWindow
    reported: list[ReportedWindow] = field(default_factory=list)
    worst: list[WorstMiss] = field(default_factory=list)
    tools: list[HeavyTool] = field(default_factory=list)
    comparison: Comparison | None = None
    changes: list[SeenChange] = field(default_factory=list)
