"""A recorded call, or the one after it, as a question to the cache simulator: what a what-if starts from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.forecast import CacheForecast, CacheForecaster, Floors
from ctxtui.analysis.forecast import Forecaster
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.call import Call, Skeleton
from ctxtui.dataclasses import replace
from ctxtui.tokens.features import Features
from ctxtui.wire.request import Request

Weigh = Callable[[Features], float]
"""What features come to in tokens."""


class NextRequest(NamedTuple):
    """The caches before a request, the request, and when it is sent (Unix seconds).

    `forecast` is what is foretold of it beyond the simulator, from what the client did before: the same forecast that
    the audit holds against the reports. None where no earlier call tells. `weigh` gives the tokens of a block's
    features, as the lengths of the prompt have it, `place` the last place of the same request with another context,
    `floors` what it reads anyway.
    """

    simulator: Simulator
    prompt: CachedPrompt
    at: float
    weigh: Weigh
    place: Callable[[int], PrefixEnd]
    floors: Floors
    forecast: CacheForecast | None = None


class Replay:
    """A session's calls in order, up to one of them: what was known then. Asked about a later call it goes on from
    where it is, about an earlier one, or where the record changed, it begins anew. `rules` gives how a call is cached;
    everything in `book` must be counted."""

    def __init__(self, book: Book, rules: Callable[[Call], CacheRules]) -> None:
        self._book = book
        self._rules = rules
        self._begin()

    def _begin(self) -> None:
        book = self._book
        self._taken: list[Call] = []
        self._inputs = Forecaster(book.session, book.cumulated, book.card)
        self._reads = CacheForecaster(book.session, self._rules, book.cumulated, self._inputs)

    def _go(self, last: Call, *, inclusive: bool) -> None:
        wanted: list[Call] = []
        for call in list(self._book.session.calls.values()):
            if call.id == last.id and not inclusive:
                break
            wanted.append(call)
            if call.id == last.id:
                break
        if wanted[: len(self._taken)] != self._taken:  # compared by identity first: quick
            self._begin()
        for call in wanted[len(self._taken) :]:
            self._learn(call)
            self._taken.append(call)

    def _learn(self, call: Call) -> None:
        foretold = self._inputs.forecast(call) if call.usage is not None else None
        forecast = self._reads.forecast(call, foretold) if foretold is not None else None
        self._reads.learn(call, forecast, foretold)
        self._inputs.learn(call, foretold)

    def before(self, call: Call) -> NextRequest:
        """`call` as it was sent, after every call that the session made before it."""
        self._go(call, inclusive=False)
        foretold = self._inputs.forecast(call)
        total = call.usage.input if call.usage else foretold.predicted if foretold else self._counted(call)
        return self._asking(call, total)

    def following(self, call: Call, head: int, at: float | None = None) -> NextRequest:
        """The request that would follow `call` with the context `head`, sent `at` (None: when `call` ended)."""
        self._go(call, inclusive=True)
        started = at if at is not None else call.ended or call.started
        coming = replace(
            call,
            id=f"after {call.id} with {head}",
            raw_head=head,
            sent_head=head,
            response_head=head,
            started=started,
            first_byte=None,
            ended=None,
            usage=None,
            skeleton=_bare(call.skeleton),
        )
        self._reads.expect(coming, call)
        foretold = self._inputs.forecast(coming)
        forecast = self._reads.forecast(coming, foretold) if foretold is not None else None
        total = foretold.predicted if foretold else self._counted(coming)
        return self._asking(coming, total, forecast)

    def _asking(self, call: Call, total: int, forecast: CacheForecast | None = None) -> NextRequest:
        simulator, made, at = self._reads.asking(call, total)
        # A copy: what is asked of stays as it is when the replay goes on.
        return NextRequest(
            simulator.copy(),
            made,
            at,
            self._reads.tokens(call),
            partial(self._reads.place, call),
            self._reads.floors(call),
            forecast,
        )

    def _counted(self, call: Call) -> int:
        return sum(self._book.sums(call.model, call.sent_head))


def before(book: Book, rules: Callable[[Call], CacheRules], call: Call) -> NextRequest:
    """As `Replay.before`, once."""
    return Replay(book, rules).before(call)


def following(
    book: Book, rules: Callable[[Call], CacheRules], call: Call, head: int, at: float | None = None
) -> NextRequest:
    """As `Replay.following`, once."""
    return Replay(book, rules).following(call, head, at)


def _bare(skeleton: Skeleton | None) -> Skeleton | None:
    """What is known beforehand of how the next request is written: its parameters, where its marker sets itself."""
    if skeleton is None or "cache_control" not in Request((), skeleton).params:
        return None
    parts = {key: value for key, value in skeleton.parts.items() if key in ("frame", "styles")}
    return Skeleton(skeleton.dialect, parts)
