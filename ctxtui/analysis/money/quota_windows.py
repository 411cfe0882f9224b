"""Quota windows: what was used in each window of five hours, as subscriptions count it, and in each week."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

HOUR: Final = 3600
FIVE_HOURS: Final = 5 * HOUR
WEEK: Final = 7 * 24 * HOUR


class Used(NamedTuple):
    """What one call used: when it began (Unix seconds), tokens in and out, USD (None: no price is known)."""

    started: int
    tokens: int
    usd: float | None = None
    partial: bool = False
    """Whether its answer is reported in part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaWindow:
    """What was used from `start` (Unix seconds) for `seconds`: tokens, USD (the least it can be where calls are
    `unpriced`; so are both where answers are reported in part: `partial`), calls. `last` is when the last call in it
    began."""

    start: int
    seconds: int
    last: int
    calls: int
    tokens: int
    usd: float | None
    unpriced: int
    partial: int = 0

    @property
    def at_least(self) -> bool:
        """Whether `usd` is only the least that it can be."""
        return self.unpriced > 0 or self.partial > 0

    @property
    def end(self) -> int:
        """When it ends, in Unix seconds."""
        return self.start + self.seconds

    def holds(self, at: float) -> bool:
        """Whether it is the one that is open at `at` (Unix seconds)."""
        return self.start <= at < self.end


def five_hours(calls: Iterable[Used]) -> list[QuotaWindow]:
    """Windows of five hours, oldest first. One begins with the full hour of the first call that no window holds, as
    the providers' own counters do; calls whose time is not recorded (0) are in none."""
    found: list[QuotaWindow] = []
    for call in sorted((one for one in calls if one.started), key=lambda one: one.started):
        if not found or call.started >= found[-1].end:
            found.append(_empty(call.started - call.started % HOUR, FIVE_HOURS))
        found[-1] = _with(found[-1], call)
    return found


def last_week(calls: Iterable[Used], at: float) -> QuotaWindow:
    """The seven days that end at `at` (Unix seconds)."""
    window = _empty(int(at) - WEEK, WEEK)
    for call in calls:
        if window.start < call.started <= at:
            window = _with(window, call)
    return window


def _empty(start: int, seconds: int) -> QuotaWindow:
    return QuotaWindow(start=start, seconds=seconds, last=start, calls=0, tokens=0, usd=None, unpriced=0)


def _with(window: QuotaWindow, call: Used) -> QuotaWindow:
    usd = window.usd if call.usd is None else (window.usd or 0.0) + call.usd
    return QuotaWindow(
        start=window.start,
        seconds=window.seconds,
        last=max(window.last, call.started),
        calls=window.calls + 1,
        tokens=window.tokens + call.tokens,
        usd=usd,
        unpriced=window.unpriced + int(call.usd is None and call.tokens > 0),
        partial=window.partial + int(call.partial),
    )
