"""Content of a client's status line: context, next call, cache lifetime, one warning.

It needs only what the client passes; `analysis.cache.next_call` forecasts from the whole recording.
"""

from __future__ import annotations

from statistics import median
from typing import Final

from msgspec import Struct

from ctxtui.core.usage import Usage

MAX_ANSWERS: Final = 20
"""Number of calls whose answers give the typical one, as in `analysis.cache.next_call`."""
NEAR_SHARE: Final = 0.9
"""Share of the usable window from which on a warning is shown."""
SOON_SECONDS: Final = 60.0
"""Seconds before the cache expires from which on a warning gives the tokens to be rewritten."""
QUOTA_PERCENT: Final = 90.0
"""Percent of a subscription's window from which on a warning is shown."""
RECENT_SECONDS: Final = 120.0
"""Seconds for which a miss is shown."""


class ClientStatus(Struct, frozen=True, kw_only=True):
    """State of a client at the time `at` (Unix seconds).

    - `last`: report of the last call of its context; None: there was none yet.
    - `answers`: output tokens of the last answers.
    - `usable`: usable part of its window; 0: unknown.
    - `cached`: whether anything is written to the cache at all; `long`: the cache lives an hour; `expires`: its end
      (Unix seconds; None: unknown).
    - `missed`: time of the last miss; `cause`: its cause as text.
    - `quota`: used percent of a subscription's five hours; `resets`: their end.
    """

    at: float
    last: Usage | None
    answers: tuple[int, ...] = ()
    usable: int = 0
    cached: bool = True
    long: bool = False
    expires: float | None = None
    missed: float | None = None
    cause: str = ""
    quota: float | None = None
    resets: float | None = None

    @property
    def context(self) -> int | None:
        return self.last.input if self.last is not None else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the cache expires, 0 if it has.

        None if nothing is cached or the time is unknown.
        """
        return None if self.expires is None or not self.cached else max(0.0, self.expires - self.at)

    def predict_next(self, *, cold: bool = False) -> Usage | None:
        """Predict the next call's usage; None before the first report.

        The sent input is read, the last answer is written; with `cold`, everything is written.
        """
        if self.last is None:
            return None
        context, new = self.last.input, self.last.output
        answer = round(median(self.answers[-MAX_ANSWERS:])) if self.answers else new
        if not self.cached:
            return Usage(fresh=context + new, output=answer)
        cold = cold or self.seconds_left == 0
        written = context + new if cold else new
        return Usage(
            cache_read=0 if cold else context,
            write_1h=written if self.long else 0,
            write_5m=0 if self.long else written,
            output=answer,
        )


class StatusWarning(Struct, frozen=True):
    """A warning: its `kind`, tokens or percent, USD (None: unknown), seconds, and related text."""

    kind: str
    amount: float = 0.0
    usd: float | None = None
    seconds: float = 0.0
    words: str = ""


OVER, QUOTA_NEAR, MISS, COLD, ENDING, NEARLY = "over", "quota", "miss", "cold", "ending", "nearly"
"""Kinds of warnings: the context exceeds the usable window; a subscription's limit is near; a miss; the cache expired;
it is about to; the usable window is nearly full."""


def find_warning(status: ClientStatus, cold_usd: float | None) -> StatusWarning | None:
    """The most important warning; `cold_usd` is the next call's cost if nothing can be read."""
    context, seconds_left = status.context, status.seconds_left
    if context is None:
        return None
    if status.usable and context > status.usable:
        return StatusWarning(OVER, context - status.usable)
    if status.quota is not None and status.quota >= QUOTA_PERCENT:
        seconds = max(0.0, status.resets - status.at) if status.resets is not None else 0.0
        return StatusWarning(QUOTA_NEAR, status.quota, seconds=seconds)
    if status.last and status.missed is not None and status.at - status.missed < RECENT_SECONDS:
        # A later call that read the cache again is not the one that missed.
        written = status.last.cache_write if status.last.cache_read * 2 <= context else 0
        return StatusWarning(MISS, written, words=status.cause)
    if seconds_left == 0:
        return StatusWarning(COLD, context, cold_usd)
    if seconds_left is not None and seconds_left < SOON_SECONDS:
        return StatusWarning(ENDING, context, cold_usd, seconds_left)
    if status.usable and context >= NEAR_SHARE * status.usable:
        return StatusWarning(NEARLY, status.usable - context)
    return None
