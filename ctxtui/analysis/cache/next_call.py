"""Forecast of the next call of a context: cache reads, cache writes and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.cache.forecast import predicted_usage
from ctxtui.analysis.cache.what_if import NextRequest
from ctxtui.core.call import Call
from ctxtui.core.usage import WRITES, Usage

MAX_ANSWERS: int = 20
"""Number of calls whose answers give the typical one."""

Charge = Callable[[Usage, float], float | None]
"""Gives the cost of a usage in USD at a time (Unix seconds); None if the price is unknown."""


class NextCallForecast(Struct, frozen=True, kw_only=True):
    """Forecast of the next call.

    - `input`: tokens, with their 90 % interval `lo` to `hi`; the sum of `read`, `write` and `fresh`.
    - `answer`: tokens of a typical answer.
    - `usd`: the prices of read, write, fresh and answer (None: unknown); `uncached`: the price of the call without a
      cache.
    - `at`: the assumed time (Unix seconds).
    - `expires`: when the cache entry that would be read expires (Unix seconds; None: there is none); `life`: its
      lifetime in seconds.
    - `inferred`: the client's cache markers are not recorded, so that its usual ones are assumed.
    - `marker_count`: number of cache markers.
    - `floor`, `ceiling`: the band of `read` (see `CacheForecast`).
    - `cause`: why a part of the previous call's cache is lost; "": nothing is lost.
    - `outdated`: the context has grown since, and a new forecast is being computed.
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
    marker_count: int = 0
    floor: int = 0
    ceiling: int = 0
    cause: str = ""
    outdated: bool = False

    @property
    def total(self) -> float | None:
        """USD of the call; None if a price is unknown."""
        parts = [part for part in self.usd if part is not None]
        return sum(parts) if len(parts) == len(self.usd) else None

    def seconds_left(self, now: float) -> float | None:
        """Seconds until the cached prefix expires, at `now` (Unix seconds; negative: since then).

        At most its lifetime: a recording's clock may be ahead of this one's. None if no cached prefix would be read.
        """
        if self.expires is None:
            return None
        remaining_s = self.expires - max(now, self.at)
        return min(remaining_s, self.life) if self.life else remaining_s


def typical_answer(calls: Sequence[Call]) -> int:
    """Median tokens of the last `MAX_ANSWERS` answers.

    Answers with a partial count are used only if there are no others.
    """
    answered = [call for call in calls if call.output]
    outputs = [call.output for call in answered if not call.is_partial] or [call.output for call in answered]
    return round(median(outputs[-MAX_ANSWERS:])) if outputs else 0


def forecast_next_call(
    request: NextRequest,
    expiry: float | None,
    calls: Sequence[Call],
    half_width: float,
    charge: Charge,
    *,
    life: float = 0.0,
    inferred: bool = False,
) -> NextCallForecast:
    """Forecast the next call from `request`.

    `expiry` (Unix seconds; None: nothing is cached) is limited to `life` seconds from the request on. `calls` are the
    thread's so far, `half_width` is half of the input's interval in tokens. `inferred` is as in `NextCallForecast`.
    """
    outcome, forecast = request.simulator.predict(request.prompt, request.at), request.forecast
    usage = predicted_usage(forecast) if forecast is not None else outcome.to_usage()
    answer, total = typical_answer(calls), usage.input
    read, write, fresh = _input_prices(usage, charge, request.at)
    return NextCallForecast(
        model=calls[-1].model if calls else "",
        input=total,
        lo=max(0, round(total - half_width)),
        hi=round(total + half_width),
        read=usage.cache_read,
        write=usage.cache_write,
        fresh=usage.fresh,
        answer=answer,
        usd=(read, write, fresh, charge(Usage(output=answer), request.at)),
        uncached=charge(Usage(fresh=total, output=answer), request.at),
        at=request.at,
        expires=min(expiry, request.at + life) if expiry is not None and life else expiry,
        life=life,
        inferred=inferred,
        marker_count=len(request.prompt.markers),
        floor=forecast.floor if forecast is not None else usage.cache_read,
        ceiling=forecast.ceiling if forecast is not None else usage.cache_read,
        cause=forecast.cause.name if forecast is not None else "",
    )


def _input_prices(usage: Usage, charge: Charge, at: float) -> tuple[float | None, float | None, float | None]:
    written = {name: getattr(usage, name) for name in WRITES}
    parts = Usage(cache_read=usage.cache_read), Usage(**written), Usage(fresh=usage.fresh)
    read, write, fresh = (charge(part, at) for part in parts)
    return read, write, fresh


def adjust_forecast(
    forecast: NextCallForecast, plain: Usage, usage: Usage, markers: int, charge: Charge
) -> NextCallForecast:
    """Adjust a forecast for edits, which change the simulated usage from `plain` to `usage`."""
    added_tokens, time = usage.input - plain.input, forecast.at
    total = max(0, forecast.input + added_tokens)
    read = min(total, max(0, forecast.read + usage.cache_read - plain.cache_read))
    write = min(total - read, max(0, forecast.write + usage.cache_write - plain.cache_write))
    before, after = _input_prices(plain, charge, time), _input_prices(usage, charge, time)
    prices = zip(forecast.usd[:3], before, after, strict=True)
    usd = [None if was is None or old is None or new is None else max(0.0, was + new - old) for was, old, new in prices]
    return replace(
        forecast,
        input=total,
        lo=max(0, forecast.lo + added_tokens),
        hi=max(0, forecast.hi + added_tokens),
        read=read,
        write=write,
        fresh=total - read - write,
        usd=(usd[0], usd[1], usd[2], forecast.usd[3]),
        uncached=charge(Usage(fresh=total, output=forecast.answer), time),
        expires=forecast.expires if read else None,
        marker_count=markers,
        floor=min(read, forecast.floor),
        ceiling=min(total, max(read, forecast.ceiling)),
    )
