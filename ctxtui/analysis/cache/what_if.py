"""Replays a recorded session up to a call, to price a request that was not made.

"What does the next request cost with this edit?" depends on what the provider's cache holds then. `Replay` runs the
recorded calls through the cache simulator, and learns from their reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.cached_input import entry_lifetime
from ctxtui.analysis.cache.call_forecasts import CallForecaster
from ctxtui.analysis.cache.forecast import CacheForecast, CacheForecaster, ReadFloors
from ctxtui.analysis.figures import figures
from ctxtui.cache.prefix_key import RequestEnds
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.call import Call, Skeleton
from ctxtui.tokens.features import Features
from ctxtui.wire.request import Request

Weigh = Callable[[Features], float]
"""Gives the tokens of features (the raw counts of a block)."""


class NextRequest(NamedTuple):
    """A request, and the simulated caches before it is sent.

    - `simulator`: a copy of the caches; `prompt`: the request as the simulator takes it.
    - `at`: its time (Unix seconds; 0: unknown).
    - `weigh`: converts raw counts of a block to tokens.
    - `ends`: gives the end, as a position in the cache, of the same request with another context (a node).
    - `floors`: least tokens that it is expected to read after a miss.
    - `forecast`: its predicted input and cache read, corrected by what the client did in earlier calls; None for a
      recorded call (`Replay.request_of`), or if there is none.
    """

    simulator: Simulator
    prompt: CachedPrompt
    at: float
    weigh: Weigh
    ends: RequestEnds
    floors: ReadFloors
    forecast: CacheForecast | None = None


OtherForecasts = Callable[[], CallForecaster | None]
"""Returns a forecaster already trained on the same session, or None."""


class Replay:
    """A session's calls in order up to one of them, and a forecaster that has learned from them.

    Ask for calls in order: for an earlier one it starts anew. All blocks of the session must be counted in `book`;
    `rules` gives the cache rules of a call's model. The forecaster of `other_forecasts` is used, if possible, instead
    of learning again.
    """

    def __init__(
        self, book: Book, rules: Callable[[Call], CacheRules], other_forecasts: OtherForecasts = lambda: None
    ) -> None:
        self._book = book
        self._rules = rules
        self._other_forecasts = other_forecasts
        self._borrowed: CallForecaster | None = None
        """The forecaster of `_other_forecasts` when it was last used."""
        self._own = self._new_forecaster()
        self._lives: tuple[list[Call], float] = [], 0.0
        """Argument and result of the last `longest_life`."""

    def _new_forecaster(self) -> CallForecaster:
        return CallForecaster(self._book, self._rules)

    def _advance_to(self, last: Call, *, inclusive: bool) -> CallForecaster:
        """Forecaster that has learnt the calls before `last`. All calls if `last` is not in the session.

        If `inclusive`, it has also learnt `last` and the later requests that kept its cache warm.
        """
        calls = list(self._book.session.calls.values())
        # Search from the end, where it is in a growing session.
        index_of_last = next((index for index in range(len(calls) - 1, -1, -1) if calls[index].id == last.id), None)
        if index_of_last is not None:
            keeping = _keeping_warm(last, calls[index_of_last + 1 :]) if inclusive else []
            calls = [*calls[: index_of_last + inclusive], *keeping]
        other_forecaster = self._other_forecasts()
        if self._borrowed is not None and self._borrowed is not other_forecaster:
            # There is a new one, so that the old one may be trained here.
            self._own, self._borrowed = self._borrowed, None
        if (
            other_forecaster is not None
            and inclusive
            and _leaves_forecasts_unchanged(last)
            and other_forecaster.calls == calls
        ):
            self._borrowed = other_forecaster
            return other_forecaster
        if calls[: len(self._own.calls)] != self._own.calls:  # identity is compared first, which is fast
            self._own = self._new_forecaster()
        forecasts = self._own
        for call in calls[len(forecasts.calls) :]:
            forecasts.learn(call, forecasts.forecast(call))
        return forecasts

    def longest_life(self, calls: Sequence[Call]) -> float:
        """Longest lifetime of the cache writes of `calls` in seconds, at least 300; 0 without calls."""
        checked, longest = self._lives
        if list(calls[: len(checked)]) != checked:  # identity is compared first, which is fast
            checked, longest = [], 0.0
        longest = max(longest, *map(entry_lifetime, calls[len(checked) :]), 0.0)
        self._lives = list(calls), longest
        return longest

    def request_of(self, call: Call) -> NextRequest:
        """The request of `call` as it was sent, with the caches before it."""
        forecasts = self._advance_to(call, inclusive=False)
        forecast = forecasts.inputs.forecast(call)
        recorded = call.usage.input if call.usage else call.estimated_input
        total = recorded if recorded is not None else forecast.predicted if forecast else self._count_context(call)
        return _start_request(forecasts.reads, call, total)

    def request_after(self, call: Call, head: int, time: float | None = None) -> NextRequest:
        """The request that would follow `call` with the context `head`.

        It is sent at `time` (Unix seconds). None: when `call` ended (else began), or when its cache was last kept warm,
        if that is later.
        """
        forecasts = self._advance_to(call, inclusive=True)
        started = time if time is not None else call.ended or call.started
        if time is None and forecasts.calls and (last_call := forecasts.calls[-1]).keeps_warm and started is not None:
            started = max(started, last_call.started or 0.0)
        next_call = replace(
            call,
            id=f"after {call.id} with {head}",
            raw_head=head,
            sent_head=head,
            response_head=head,
            started=started,
            first_byte=None,
            ended=None,
            usage=None,
            skeleton=_known_skeleton(call.skeleton),
        )
        forecasts.reads.prompts.assume_markers(next_call, call)
        # An estimate in the recording takes precedence, because the screen shows it for `call`.
        input_forecast = forecasts.inputs.forecast(next_call) if call.estimated_input is None else None
        forecast = forecasts.reads.forecast(next_call, input_forecast) if input_forecast is not None else None
        total = input_forecast.predicted if input_forecast else self._grown_size(call, next_call)
        return _start_request(forecasts.reads, next_call, total, forecast)

    def _count_context(self, call: Call) -> int:
        return sum(self._book.sums(call.model, call.sent_head))

    def _grown_size(self, call: Call, next_call: Call) -> int:
        """Input tokens of `call`, plus the difference of its blocks and those of `next_call`."""
        return max(
            0, figures(self._book, call).context_tokens + self._count_context(next_call) - self._count_context(call)
        )


def _keeping_warm(last: Call, later: Sequence[Call]) -> list[Call]:
    return [call for call in later if call.keeps_warm and call.sent_head == last.sent_head]


def _leaves_forecasts_unchanged(last: Call) -> bool:
    """Whether a request that is made up after `last` changes nothing in the forecaster."""
    # A request after one with a recorded body would add assumed breakpoints (`CachePrompts.assume_markers`); one after
    # a call without a report of the cache might be the first of its thread and model, for which a `ClientBehaviour` is
    # created.
    return last.skeleton is None and last.usage is not None and last.usage.has_cache


def _start_request(
    reads: CacheForecaster, call: Call, total: int, forecast: CacheForecast | None = None
) -> NextRequest:
    simulator, prompt, at = reads.start_what_if(call, total)
    weigh, ends = reads.prompts.weigher(call), reads.prompts.request_ends(call)
    # A copy, so that the request stays valid when the replay continues.
    return NextRequest(simulator.copy(), prompt, at, weigh, ends, reads.floors(call), forecast)


def _known_skeleton(skeleton: Skeleton | None) -> Skeleton | None:
    """Skeleton of the next request if the last one asked for automatic caching, else None."""
    # None without a top-level ``cache_control``: `CachePrompts.assume_markers` then moves the last request's markers.
    if skeleton is None or "cache_control" not in Request((), skeleton).params:
        return None
    parts = {key: value for key, value in skeleton.parts.items() if key in ("frame", "styles")}
    return Skeleton(skeleton.dialect, parts)
