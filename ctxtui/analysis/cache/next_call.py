"""The next call of a context: what it will read from the cache, write to it, and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.cache.forecast import usage_of
from ctxtui.analysis.cache.what_if import NextRequest
from ctxtui.core.call import Call
from ctxtui.core.usage import WRITES, Usage

LAST: int = 20
"""Calls whose answers make the typical one."""

Charge = Callable[[Usage, float], float | None]
"""What a usage costs in USD at a time (Unix seconds); None where the price is not known."""


class Coming(Struct, frozen=True, kw_only=True):
    """Forecast of the next call.

    `input` in tokens (90 % interval `lo` to `hi`) is the sum of `read`, `write` and `fresh`; `answer` is a typical one.
    `usd` holds the prices of these four parts (None: not known), `uncached` that of the call without a cache. `expires`
    is when the cache entry that would be read expires (Unix seconds; None: there is none), `life` its lifetime in
    seconds. `inferred`: the client's cache markers are not recorded, so its usual ones are assumed; `marks` counts
    them. 95 % of reads fall between `floor` and `ceiling`. `cause` names why part of the previous call's cache is lost
    ("": nothing is). `outdated`: the context has grown since, and a new forecast is being computed.
    """

    model: str
    input: int
    lo: int
    hi: int
    read: int
    write: int
    fresh: int
    answer: int
    usd: tuple[float | None, float | None, float | None, float | None]
    uncached: float | None
    at: float
    expires: float | None
    life: float
    inferred: bool
    marks: int = 0
    floor: int = 0
    ceiling: int = 0
    cause: str = ""
    outdated: bool = False

    @property
    def total(self) -> float | None:
        """USD of the call; None where a price is not known."""
        known = [part for part in self.usd if part is not None]
        return sum(known) if len(known) == len(self.usd) else None

    def left(self, now: float) -> float | None:
        """Seconds until what would be read cannot be read any more, seen at `now` (Unix seconds; negative: since then).
        Never more than it lives: a recording's clock may be ahead of this one's."""
        if self.expires is None:
            return None
        left = self.expires - max(now, self.at)
        return min(left, self.life) if self.life else left


def typical_answer(calls: Sequence[Call]) -> int:
    """Tokens of a typical answer of the last calls."""
    # A partial count says less than nothing where there are whole ones.
    whole = (call.output for call in reversed(calls) if call.output and not call.is_partial)
    outputs = list(islice(whole, LAST)) or list(islice(filter(None, (call.output for call in reversed(calls))), LAST))
    return round(median(outputs)) if outputs else 0


def coming(
    asked: NextRequest,
    expiry: float | None,
    calls: Sequence[Call],
    half: float,
    charge: Charge,
    *,
    life: float = 0.0,
    inferred: bool = False,
) -> Coming:
    """The next call as `asked`; `expiry` as in the class, `calls` are the thread's so far, `half` is the half width of
    the forecast of its input, in tokens."""
    outcome, forecast = asked.simulator.predict(asked.prompt, asked.at), asked.forecast
    usage = usage_of(forecast) if forecast is not None else outcome.to_usage()
    answer, total = typical_answer(calls), usage.input
    read, write, fresh = _input_prices(usage, charge, asked.at)
    return Coming(
        model=calls[-1].model if calls else "",
        input=total,
        lo=max(0, round(total - half)),
        hi=round(total + half),
        read=usage.cache_read,
        write=usage.cache_write,
        fresh=usage.fresh,
        answer=answer,
        usd=(read, write, fresh, charge(Usage(output=answer), asked.at)),
        uncached=charge(Usage(fresh=total, output=answer), asked.at),
        at=asked.at,
        expires=min(expiry, asked.at + life) if expiry is not None and life else expiry,
        life=life,
        inferred=inferred,
        marks=len(asked.prompt.markers),
        floor=forecast.floor if forecast is not None else usage.cache_read,
        ceiling=forecast.ceiling if forecast is not None else usage.cache_read,
        cause=forecast.cause.name if forecast is not None else "",
    )


def _input_prices(usage: Usage, charge: Charge, at: float) -> tuple[float | None, float | None, float | None]:
    """USD of what is read, written and fresh."""
    written = {name: getattr(usage, name) for name in WRITES}
    parts = Usage(cache_read=usage.cache_read), Usage(**written), Usage(fresh=usage.fresh)
    read, write, fresh = (charge(part, at) for part in parts)
    return read, write, fresh


def coming_with(coming: Coming, plain: Usage, usage: Usage, markers: int, charge: Charge) -> Coming:
    """`coming` where the simulated caches would charge `usage` in place of `plain`, at so many `markers`."""
    grows, at = usage.input - plain.input, coming.at
    total = max(0, coming.input + grows)
    read = min(total, max(0, coming.read + usage.cache_read - plain.cache_read))
    write = min(total - read, max(0, coming.write + usage.cache_write - plain.cache_write))
    before, after = _input_prices(plain, charge, at), _input_prices(usage, charge, at)
    prices = zip(coming.usd[:3], before, after, strict=True)
    usd = [None if was is None or old is None or new is None else max(0.0, was + new - old) for was, old, new in prices]
    return replace(
        coming,
        input=total,
        lo=max(0, coming.lo + grows),
        hi=max(0, coming.hi + grows),
        read=read,
        write=write,
        fresh=total - read - write,
        usd=(usd[0], usd[1], usd[2], coming.usd[3]),
        uncached=charge(Usage(fresh=total, output=coming.answer), at),
        expires=coming.expires if read else None,
        marks=markers,
        floor=min(read, coming.floor),
        ceiling=min(total, max(read, coming.ceiling)),
    )
