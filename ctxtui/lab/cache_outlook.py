"""The next call of a thread and the cache: what it would read, write and send fresh, and until when that holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from ctxtui.cache.rules import Rules
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.lab.book import Book
from ctxtui.lab.cache_forecast import CacheForecast, CacheForecaster
from ctxtui.lab.forecast import Forecaster

NEXT: Final = "next call"
"""The id of a call that was not made."""
_WRITES: Final = ("write_12h", "write_1h", "write_30m", "write_5m")
"""The longest lifetime first."""


@dataclass(frozen=True, slots=True)
class CacheOutlook:
    """What a call would make of the cache, in tokens: `read` + `write` + `fresh` = `input`.

    `floor` to `ceiling` is what is read in 95 % of cases, `lo` to `hi` the 90 % interval of `input`. `expires` (Unix
    seconds) is when what the call before left is gone, None where nothing is left or nothing is known of when. `usage`
    is as the provider would report it, `without` the same call where nothing is cached at all: for pricing. `forecast`
    tells cause and reasons.
    """

    input: int
    lo: int
    hi: int
    read: int
    floor: int
    ceiling: int
    usage: Usage
    expires: float | None
    forecast: CacheForecast

    @property
    def without(self) -> Usage:
        """The call without a cache."""
        return Usage(fresh=self.input)

    @property
    def write(self) -> int:
        """Tokens that would be written, all lifetimes."""
        return self.usage.cache_write

    @property
    def fresh(self) -> int:
        """Tokens that would be neither read nor written."""
        return self.usage.fresh


class CacheStudy:
    """Follows a session's calls as they come, so that the next one can be foretold at any moment.

    `rules` gives how a call is cached. Everything given to it must be counted in `book`.
    """

    def __init__(self, book: Book, rules: Callable[[Call], Rules]) -> None:
        self._book = book
        self._rules = rules
        self._inputs = Forecaster(book.session, book.cumulated, book.card)
        self._reads = CacheForecaster(book.session, rules, book.cumulated, self._inputs)
        self._taken = 0
        self._last: dict[str, Call] = {}

    def advance(self) -> None:
        """Take in the calls that are new; the newest one too, whose report must be its last."""
        calls = list(self._book.session.calls.values())
        for call in calls[self._taken :]:
            foretold = self._inputs.forecast(call) if call.usage is not None else None
            forecast = self._reads.forecast(call, foretold) if foretold is not None else None
            self._reads.learn(call, forecast, foretold)
            self._inputs.learn(call, foretold)
            self._last[call.thread] = call if call.usage is not None else self._last.get(call.thread, call)
        self._taken = len(calls)

    def next(self, thread: str, at: float | None, *, head: int | None = None, model: str = "") -> CacheOutlook | None:
        """The next call of `thread` if it started `at` (Unix seconds; None: at once), with the context `head` (None:
        where the thread's record ends) for `model` ("": that of the last call). None where nothing is known yet."""
        last = self._last.get(thread)
        tip = self._book.session.threads.get(thread)
        if last is None or last.usage is None or tip is None:
            return None
        end = (tip.tip or last.response_head) if head is None else head
        call = replace(
            last,
            id=NEXT,
            sent_head=end,
            raw_head=end,
            response_head=end,
            started=at,
            ended=None,
            usage=None,
            skeleton=last.skeleton if end == last.sent_head else None,
            extra={},
            model=model or last.model,
        )
        foretold = self._inputs.forecast(call)
        if foretold is None or not self._rules(call).known:
            return None
        forecast = self._reads.forecast(call, foretold)
        return CacheOutlook(
            foretold.predicted,
            foretold.lo,
            foretold.hi,
            forecast.read,
            forecast.floor,
            forecast.ceiling,
            usage_of(forecast),
            self._reads.expires(last),
            forecast,
        )


def usage_of(forecast: CacheForecast) -> Usage:
    """The usage that a foretold call would report: what is not read is written as the simulator has it, or fresh."""
    own, rest = forecast.outcome.usage(), forecast.input - forecast.read
    names = [name for name in _WRITES if getattr(own, name)]
    fresh = min(rest, own.fresh) if names else rest
    left = rest - fresh
    written: dict[str, Any] = {}
    for name in names:
        written[name] = left if name == names[-1] else min(left, getattr(own, name))
        left -= written[name]
    return replace(Usage(fresh=fresh, cache_read=forecast.read), **written)
