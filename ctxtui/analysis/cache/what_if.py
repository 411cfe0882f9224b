"""Replays a recorded session up to a call, for what-ifs with the cache simulator."""

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


class NextRequest(NamedTuple):
    """A request, and the caches before it.

    - `simulator`: the caches; `prompt`: the request; `at`: its time (Unix seconds; 0: unknown).
    - `weigh`: gives the tokens of a block's features in this prompt.
    - `ends`: gives the last cache position of the same request with another context (a node).
    - `floors`: least tokens that it is expected to read.
    - `forecast`: the simulation corrected by what the client's behaviour predicts, as the audit compares it with
      reports. None for a recorded call (`Replay.request_of`), if the recording has an estimate, or if no earlier call
      allows one.
    """

    simulator: Simulator
    prompt: CachedPrompt
    at: float
    weigh: Weigh
    ends: RequestEnds
    floors: ReadFloors
    forecast: CacheForecast | None = None


OtherForecasts = Callable[[], CallForecaster | None]
"""Gives a forecaster that other code trained on the same session; None if there is none."""


class Replay:
    """A session's calls in order up to one of them, with the forecasts learned so far.

    Everything in `book` must be counted. `request_after` uses the `other_forecasts` instead of learning again, if they
    learned from the same calls and are not changed by it (`_leaves_forecasts_unchanged`).
    """

    def __init__(
        self, book: Book, rules: Callable[[Call], CacheRules], other_forecasts: OtherForecasts = lambda: None
    ) -> None:
        self._book = book
        self._rules = rules
        self._other_forecasts = other_forecasts
        self._borrowed: CallForecaster | None = None
        """The other code's forecaster when it was last used."""
        self._own = self._new_forecaster()
        self._lives: tuple[list[Call], float] = [], 0.0
        """Calls of the last `longest_life`, and its result."""

    def _new_forecaster(self) -> CallForecaster:
        return CallForecaster(self._book, self._rules)

    def _advance_to(self, last: Call, *, inclusive: bool) -> CallForecaster:
        """Forecaster that has learnt the calls before `last`.

        If `inclusive`, it has also learnt `last` and the later requests that kept its cache warm. If `last` is not in
        the session, it has learnt all calls.
        """
        calls = list(self._book.session.calls.values())
        # Search from the end, where it is in a growing session.
        index_of_last = next((index for index in range(len(calls) - 1, -1, -1) if calls[index].id == last.id), None)
        if index_of_last is not None:
            keeping = _keeping_warm(last, calls[index_of_last + 1 :]) if inclusive else []
            calls = [*calls[: index_of_last + inclusive], *keeping]
        other_forecaster = self._other_forecasts()
        if self._borrowed is not None and self._borrowed is not other_forecaster:
            # The other code has replaced it, so it is ours to train.
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
        """Longest promised lifetime of the cache writes of `calls` in seconds.

        Five minutes if none wrote. 0 without calls.
        """
        checked, longest = self._lives
        if list(calls[: len(checked)]) != checked:  # identity is compared first, which is fast
            checked, longest = [], 0.0
        longest = max(longest, *map(entry_lifetime, calls[len(checked) :]), 0.0)
        self._lives = list(calls), longest
        return longest

    def request_of(self, call: Call) -> NextRequest:
        """Request of `call` as it was sent, with the caches of all earlier calls of the session."""
        forecasts = self._advance_to(call, inclusive=False)
        forecast = forecasts.inputs.forecast(call)
        recorded = call.usage.input if call.usage else call.estimated_input
        total = recorded if recorded is not None else forecast.predicted if forecast else self._count_context(call)
        return _start_request(forecasts.reads, call, total)

    def request_after(self, call: Call, head: int, time: float | None = None) -> NextRequest:
        """Request that would follow `call` with the context `head`, sent at `time` (Unix seconds).

        None: when `call` ended (or else began), or when its cache was last kept warm, whichever is later.
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
        """Tokens of the context of `call`, plus the blocks that `next_call` adds (or lacks).

        Unrecorded tokens are included.
        """
        return max(
            0, figures(self._book, call).context_tokens + self._count_context(next_call) - self._count_context(call)
        )


def _keeping_warm(last: Call, later: Sequence[Call]) -> list[Call]:
    return [call for call in later if call.keeps_warm and call.sent_head == last.sent_head]


def _leaves_forecasts_unchanged(last: Call) -> bool:
    """Whether a request made up after `last` leaves the other code's forecaster unchanged.

    Then no markers are assumed for it (`CachePrompts.assume_markers`), and no `ClientBehaviour` is created.
    """
    return last.skeleton is None and last.usage is not None and last.usage.has_cache


def _start_request(
    reads: CacheForecaster, call: Call, total: int, forecast: CacheForecast | None = None
) -> NextRequest:
    simulator, prompt, at = reads.start_what_if(call, total)
    weigh, ends = reads.prompts.weigher(call), reads.prompts.request_ends(call)
    # A copy, so that the request stays valid when the replay continues.
    return NextRequest(simulator.copy(), prompt, at, weigh, ends, reads.floors(call), forecast)


def _known_skeleton(skeleton: Skeleton | None) -> Skeleton | None:
    """Skeleton of the next request if the last one asked for automatic caching.

    None without a top-level ``cache_control``: `CachePrompts.assume_markers` then moves the last request's markers.
    """
    if skeleton is None or "cache_control" not in Request((), skeleton).params:
        return None
    parts = {key: value for key, value in skeleton.parts.items() if key in ("frame", "styles")}
    return Skeleton(skeleton.dialect, parts)
