"""Replays a recorded session up to a call or the one after it, for what-ifs with the cache simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.call_forecasts import CallForecasts
from ctxtui.analysis.cache.forecast import CacheForecast, CacheForecaster, Floors
from ctxtui.analysis.cache.losses import lifetime
from ctxtui.analysis.figures import figures
from ctxtui.cache.prefix_key import RequestEnds
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.call import Call, Skeleton
from ctxtui.tokens.features import Features
from ctxtui.wire.request import Request

Weigh = Callable[[Features], float]
"""Gives the tokens of features."""


class NextRequest(NamedTuple):
    """Caches before a request, the request, and its time (Unix seconds).

    `forecast` adds to the simulation what the client's behaviour predicts; the audit compares the same forecast
    with the reports. None if no earlier call allows one. `weigh` gives the tokens of a block's features in this
    prompt, `place` the end position of the same request with another context, `floors` its read in any case.
    """

    simulator: Simulator
    prompt: CachedPrompt
    at: float
    weigh: Weigh
    place: RequestEnds
    floors: Floors
    forecast: CacheForecast | None = None


Beside = Callable[[], CallForecasts | None]
"""Gives the forecasts of another reader of the same session; None if there is none."""


class Replay:
    """A session's calls in order up to one of them, with the forecasts learnt so far.

    A later call continues from the current one; an earlier call, or a changed record, restarts. `rules` gives the
    cache rules of a call; everything in `book` must be counted. Forecasts of another reader (`beside`) are used
    if it has learnt the same calls, and continued once that reader has restarted.
    """

    def __init__(self, book: Book, rules: Callable[[Call], CacheRules], beside: Beside = lambda: None) -> None:
        self._book = book
        self._rules = rules
        self._beside = beside
        self._lent: CallForecasts | None = None
        """Forecasts of the other reader when last used."""
        self._known = self._begun()
        self._lives: tuple[list[Call], float] = [], 0.0
        """Calls of the last `longest_life`, and its result."""

    def _begun(self) -> CallForecasts:
        return CallForecasts(self._book, self._rules)

    def _upto(self, last: Call, *, inclusive: bool) -> CallForecasts:
        """Forecasts learnt from the calls before `last`, and from it too if `inclusive`."""
        wanted = list(self._book.session.calls.values())
        # Search from the end, where it is in a growing session.
        place = next((at for at in range(len(wanted) - 1, -1, -1) if wanted[at].id == last.id), None)
        if place is not None:
            del wanted[place + inclusive :]
        beside = self._beside()
        if self._lent is not None and self._lent is not beside:
            # The other reader no longer uses it.
            self._known, self._lent = self._lent, None
        if beside is not None and inclusive and _asks_alike(last) and beside.taken == wanted:
            self._lent = beside
            return beside
        if wanted[: len(self._known.taken)] != self._known.taken:  # identity is compared first, which is fast
            self._known = self._begun()
        known = self._known
        for call in wanted[len(known.taken) :]:
            known.learn(call, known.foretell(call))
        return known

    def longest_life(self, calls: Sequence[Call]) -> float:
        """Longest promised lifetime of the cache writes of `calls` in seconds; each is read once while calls are
        only added.
        """
        known, longest = self._lives
        if list(calls[: len(known)]) != known:  # identity is compared first, which is fast
            known, longest = [], 0.0
        longest = max(longest, *map(lifetime, calls[len(known) :]), 0.0)
        self._lives = list(calls), longest
        return longest

    def before(self, call: Call) -> NextRequest:
        """Request of `call` as it was sent, with the caches of all earlier calls of the session."""
        known = self._upto(call, inclusive=False)
        foretold = known.inputs.forecast(call)
        given = call.usage.input if call.usage else call.estimated_input
        total = given if given is not None else foretold.predicted if foretold else self._counted(call)
        return _asking(known.reads, call, total)

    def following(self, call: Call, head: int, at: float | None = None) -> NextRequest:
        """Request that would follow `call` with the context `head`, sent `at` (None: when `call` ended)."""
        known = self._upto(call, inclusive=True)
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
        known.reads.expect(coming, call)
        # An estimate in the recording takes precedence, because the screen shows it for `call`.
        foretold = known.inputs.forecast(coming) if call.estimated_input is None else None
        forecast = known.reads.forecast(coming, foretold) if foretold is not None else None
        total = foretold.predicted if foretold else self._grown(call, coming)
        return _asking(known.reads, coming, total, forecast)

    def _counted(self, call: Call) -> int:
        return sum(self._book.sums(call.model, call.sent_head))

    def _grown(self, call: Call, coming: Call) -> int:
        """Size of the context of `call`, including its unrecorded part, plus the blocks that `coming` adds (or
        lacks).
        """
        return max(0, figures(self._book, call).context_tokens + self._counted(coming) - self._counted(call))


def _asks_alike(last: Call) -> bool:
    """Whether a what-if after `last` has no effect on what is learnt.

    True if its parameters are not recorded, and its client's behaviour is known.
    """
    return last.skeleton is None and last.usage is not None and last.usage.has_cache


def _asking(reads: CacheForecaster, call: Call, total: int, forecast: CacheForecast | None = None) -> NextRequest:
    simulator, made, at = reads.asking(call, total)
    # A copy, so that the request stays valid when the replay continues.
    return NextRequest(simulator.copy(), made, at, reads.tokens(call), reads.places(call), reads.floors(call), forecast)


def before(book: Book, rules: Callable[[Call], CacheRules], call: Call) -> NextRequest:
    """Like `Replay.before`, for a single call."""
    return Replay(book, rules).before(call)


def following(
    book: Book, rules: Callable[[Call], CacheRules], call: Call, head: int, at: float | None = None
) -> NextRequest:
    """Like `Replay.following`, for a single call."""
    return Replay(book, rules).following(call, head, at)


def _bare(skeleton: Skeleton | None) -> Skeleton | None:
    """The known parts of the next request's format: its parameters, and a marker at its end."""
    if skeleton is None or "cache_control" not in Request((), skeleton).params:
        return None
    parts = {key: value for key, value in skeleton.parts.items() if key in ("frame", "styles")}
    return Skeleton(skeleton.dialect, parts)
