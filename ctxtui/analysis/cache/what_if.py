"""A recorded call, or the one after it, as a question to the cache simulator: what a what-if starts from."""

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
"""What features come to in tokens."""


class NextRequest(NamedTuple):
    """The caches before a request, the request, and when it is sent (Unix seconds).

    `forecast` is what is foretold of it beyond the simulator, from what the client did before: the same forecast that
    the audit holds against the reports. None where no earlier call tells. `weigh` gives the tokens of a block's
    features, as the lengths of the prompt have it, `place` where the same request with another context ends,
    `floors` what it reads anyway.
    """

    simulator: Simulator
    prompt: CachedPrompt
    at: float
    weigh: Weigh
    place: RequestEnds
    floors: Floors
    forecast: CacheForecast | None = None


Beside = Callable[[], CallForecasts | None]
"""Gives what another one who goes through the same session has learnt so far; None where there is nobody."""


class Replay:
    """A session's calls in order, up to one of them: what was known then. Asked about a later call it goes on from
    where it is, about an earlier one, or where the record changed, it begins anew. `rules` gives how a call is cached;
    everything in `book` must be counted. Who has gone through the session `beside` it is asked first: what they have
    learnt is taken where it is the same, and gone on from once they have begun anew."""

    def __init__(self, book: Book, rules: Callable[[Call], CacheRules], beside: Beside = lambda: None) -> None:
        self._book = book
        self._rules = rules
        self._beside = beside
        self._lent: CallForecasts | None = None
        """What was learnt by the one beside, when that was last looked at."""
        self._known = self._begun()
        self._lives: tuple[list[Call], float] = [], 0.0
        """The calls of which the longest life was asked last, and that."""

    def _begun(self) -> CallForecasts:
        return CallForecasts(self._book, self._rules)

    def _upto(self, last: Call, *, inclusive: bool) -> CallForecasts:
        """What the calls before `last` have taught, and it too where it is `inclusive`."""
        wanted = list(self._book.session.calls.values())
        # From the end: that is where it stands, of a session that grows.
        place = next((at for at in range(len(wanted) - 1, -1, -1) if wanted[at].id == last.id), None)
        if place is not None:
            del wanted[place + inclusive :]
        beside = self._beside()
        if self._lent is not None and self._lent is not beside:
            # Nobody goes on with it any more.
            self._known, self._lent = self._lent, None
        if beside is not None and inclusive and _asks_alike(last) and beside.taken == wanted:
            self._lent = beside
            return beside
        if wanted[: len(self._known.taken)] != self._known.taken:  # compared by identity first: quick
            self._known = self._begun()
        known = self._known
        for call in wanted[len(known.taken) :]:
            known.learn(call, known.foretell(call))
        return known

    def longest_life(self, calls: Sequence[Call]) -> float:
        """Seconds that what `calls` wrote to the cache is promised to live at most; each is looked at once as long as
        there are only more of them."""
        known, longest = self._lives
        if list(calls[: len(known)]) != known:  # compared by identity first: quick
            known, longest = [], 0.0
        longest = max(longest, *map(lifetime, calls[len(known) :]), 0.0)
        self._lives = list(calls), longest
        return longest

    def before(self, call: Call) -> NextRequest:
        """`call` as it was sent, after every call that the session made before it."""
        known = self._upto(call, inclusive=False)
        foretold = known.inputs.forecast(call)
        given = call.usage.input if call.usage else call.estimated_input
        total = given if given is not None else foretold.predicted if foretold else self._counted(call)
        return _asking(known.reads, call, total)

    def following(self, call: Call, head: int, at: float | None = None) -> NextRequest:
        """The request that would follow `call` with the context `head`, sent `at` (None: when `call` ended)."""
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
        # Where the recording has a figure of its own for `call`, that is what its context is shown as.
        foretold = known.inputs.forecast(coming) if call.estimated_input is None else None
        forecast = known.reads.forecast(coming, foretold) if foretold is not None else None
        total = foretold.predicted if foretold else self._grown(call, coming)
        return _asking(known.reads, coming, total, forecast)

    def _counted(self, call: Call) -> int:
        return sum(self._book.sums(call.model, call.sent_head))

    def _grown(self, call: Call, coming: Call) -> int:
        """What the context of `call` comes to, with all that it has beyond its blocks, and the blocks that `coming` has
        more (or less)."""
        return max(0, figures(self._book, call).context_tokens + self._counted(coming) - self._counted(call))


def _asks_alike(last: Call) -> bool:
    """Whether asking what would follow `last` leaves no trace in what is learnt: its parameters are not on record, and
    its client's habit is known."""
    return last.skeleton is None and last.usage is not None and last.usage.has_cache


def _asking(reads: CacheForecaster, call: Call, total: int, forecast: CacheForecast | None = None) -> NextRequest:
    simulator, made, at = reads.asking(call, total)
    # A copy: what is asked of stays as it is when the replay goes on.
    return NextRequest(simulator.copy(), made, at, reads.tokens(call), reads.places(call), reads.floors(call), forecast)


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
