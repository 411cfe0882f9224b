"""What stands in a client's status line: its context, the next call's use, how long the cache lives, one warning.

Made from what the client itself says between two calls, so that it is there at once; `analysis.cache.next_call`
foretells the same from the whole recording.
"""

from __future__ import annotations

from statistics import median
from typing import Final

from msgspec import Struct

from ctxtui.core.usage import Usage

LAST: Final = 20
"""Calls whose answers make the typical one, as in `analysis.cache.next_call`."""
NEAR: Final = 0.9
"""Share of what is usable from which on a warning says so."""
SOON: Final = 60.0
"""Seconds of the cache's life from which on a warning says what is then written again."""
QUOTA: Final = 90.0
"""Percent of a subscription's window from which on a warning says so."""
RECENT: Final = 120.0
"""Seconds for which a miss is told."""


class ClientStatus(Struct, frozen=True, kw_only=True):
    """What a client says of itself at the Unix time `at`. `last` is the report of the last call of its context (None:
    there was none yet), `answers` the output tokens of those before it, `usable` what of its window is to be filled
    (0: not known).

    `cached`: whether anything is written to the cache at all; `long`: whether it lives an hour; `expires` is when it
    ends (Unix seconds, None: not known). `missed` is when the last miss was, `cause` its cause in words, `again` the
    tokens that it wrote again. `quota` is the percent of a subscription's five hours that is used, `resets` when they
    are over."""

    at: float
    last: Usage | None
    answers: tuple[int, ...] = ()
    usable: int = 0
    cached: bool = True
    long: bool = False
    expires: float | None = None
    missed: float | None = None
    cause: str = ""
    again: int = 0
    quota: float | None = None
    resets: float | None = None

    @property
    def context(self) -> int | None:
        """Tokens of the last call's context; None before the first one."""
        return self.last.input if self.last is not None else None

    @property
    def left(self) -> float | None:
        """Seconds until the cache ends, 0 where it has; None where nothing is cached or nobody knows."""
        return None if self.expires is None or not self.cached else max(0.0, self.expires - self.at)

    def coming(self, *, cold: bool = False) -> Usage | None:
        """What the next call will use, as far as it is known now: all that was sent is read, the last answer is new,
        and its own answer is a typical one. `cold`: nothing is left to read, all is written."""
        if self.last is None:
            return None
        known, new = self.last.input, self.last.output
        answer = round(median(self.answers[-LAST:])) if self.answers else new
        if not self.cached:
            return Usage(fresh=known + new, output=answer)
        cold = cold or self.left == 0
        written = known + new if cold else new
        return Usage(
            cache_read=0 if cold else known,
            write_1h=written if self.long else 0,
            write_5m=0 if self.long else written,
            output=answer,
        )


class Warned(Struct, frozen=True):
    """A warning: its `kind`, tokens or percent, USD (None: not known), seconds, and words that belong to it."""

    kind: str
    amount: float = 0.0
    usd: float | None = None
    seconds: float = 0.0
    words: str = ""


OVER, QUOTA_NEAR, MISS, COLD, ENDING, NEARLY = "over", "quota", "miss", "cold", "ending", "nearly"


def warned(status: ClientStatus, cold_usd: float | None) -> Warned | None:
    """The one warning that counts most; None where all is well. `cold_usd` is what the next call costs where nothing
    can be read."""
    context, left = status.context, status.left
    if context is None:
        return None
    if status.usable and context > status.usable:
        return Warned(OVER, context - status.usable)
    if status.quota is not None and status.quota >= QUOTA:
        seconds = max(0.0, status.resets - status.at) if status.resets is not None else 0.0
        return Warned(QUOTA_NEAR, status.quota, seconds=seconds)
    if status.missed is not None and status.at - status.missed < RECENT and status.again:
        return Warned(MISS, status.again, words=status.cause)
    if left == 0:
        return Warned(COLD, context, cold_usd)
    if left is not None and left < SOON:
        return Warned(ENDING, context, cold_usd, left)
    if status.usable and context >= NEAR * status.usable:
        return Warned(NEARLY, status.usable - context)
    return None
