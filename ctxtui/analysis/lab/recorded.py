"""What a lab takes from the recording itself, once for all variants: times, lifetimes, markers, what is not recorded.

Everything about a call is what was known before it: its own report is only what the lab is held against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.client_behaviour import Clock
from ctxtui.analysis.cache.forecast import CacheForecaster, ReadFloors
from ctxtui.analysis.figures import unrecorded_tokens
from ctxtui.analysis.forecast import Forecaster
from ctxtui.analysis.read.absence import NONE_GONE, Absences
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import COUNTED, Call, Fidelity
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT

NO_BLOCKS: Final = "no block is recorded: a context cannot be rebuilt"
NO_CALLS: Final = "no call is recorded"


class RecordedStep(Struct, frozen=True, kw_only=True):
    """One recorded call. `number` counts all calls of the session from 1; it was sent `at` and, as its cache sees it,
    at `asked_at` (Unix seconds; None: not known). `life` is the lifetime that its client writes ("": the default),
    `floors` what it reads anyway. `lacking` are tokens that the recording lacks of it, as the reports before tell it,
    and `gone` the blocks that they show to be gone. `cold`: what was cached for it has expired, in a `pause` of so
    many seconds. `marks`: its client sets cache markers, as far as reports before it tell.
    `reported` gives the last node at or above one of its context of whose length a report before it told, with that
    length in tokens; it holds while the step is the newest."""

    call: Call
    number: int
    at: float | None
    asked_at: float | None
    life: str
    floors: ReadFloors
    lacking: int
    gone: Absences
    reported: Callable[[int], tuple[int, int]]
    cold: bool
    pause: float = 0.0
    marks: bool = True


def simulated_calls(session: Session) -> list[Call]:
    """The calls that a lab goes through: those with a report, or all where none has one; of each the context must be
    recorded."""
    calls = [call for call in session.calls.values() if call.stop_reason != COUNTED]
    reported = [call for call in calls if call.usage is not None and call.usage.input]
    return [call for call in reported or calls if call.fidelity != Fidelity.TOTALS and call.sent_head != ROOT]


def why_none(session: Session) -> str:
    """Why no call of `session` can be simulated."""
    return NO_BLOCKS if session.calls else NO_CALLS


def recorded_steps(book: Book, rules: Callable[[Call], CacheRules]) -> Iterator[RecordedStep]:
    """The calls of a session in order; everything in `book` must be counted."""
    session = book.session
    inputs = Forecaster(session, book.cumulated, book.card)
    reads = CacheForecaster(session, rules, book.cumulated, inputs)
    clocks: dict[str, Clock] = {}
    before = _Before(book)
    wanted = {call.id for call in simulated_calls(session)}
    for number, call in enumerate(list(session.calls.values()), 1):
        clock = clocks.setdefault(call.thread, Clock())
        foretold = inputs.forecast(call) if call.usage is not None else None
        if call.id in wanted:
            known = clock.has_time(call)
            at = clock.earliest(call) if known else None
            asked_at = reads.time_of(call, foretold is not None and foretold.step.person_wrote) if known else None
            life = reads.life(call)
            pause = at - clock.last if at is not None and clock.last is not None else 0.0
            lacks, gone = before.of(call)
            lasts = rules(call).seconds(life) if rules(call).mechanism.writes_at_markers else 0.0
            yield RecordedStep(
                call=call,
                number=number,
                at=at,
                asked_at=asked_at,
                life=life,
                floors=reads.floors(call),
                lacking=lacks,
                gone=gone,
                reported=partial(reads.reported_length, call),
                cold=0 < lasts < pause,
                pause=pause,
                marks=before.marks(call),
            )
        forecast = reads.forecast(call, foretold) if foretold is not None else None
        reads.learn(call, forecast, foretold)
        inputs.learn(call, foretold)
        clock.tick(call)
        before.add(call)


class _Before:
    """What the reports before a call tell of what its recording lacks. A transcript lacks by how much the report of the
    call before it went beyond the blocks on record; the first call of an epoch what was lacking of the one before it,
    the first call of a thread what the last thread of its kind began with."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._last: dict[str, Call] = {}
        self._kinds: dict[tuple[bool, str], int] = {}
        self._cached: set[str] = set()
        self._uncached: set[str] = set()

    def of(self, call: Call) -> tuple[int, Absences]:
        """What is lacking of `call`, in tokens, and what is gone."""
        base = self._last.get(call.thread)
        if call.fidelity != Fidelity.TRANSCRIPT or not self._book.is_counted(call.model, call.sent_head):
            gone = self._gone(base) if base is not None else NONE_GONE
            return 0, gone
        if base is None:
            return self._kinds.get(self._kind(call), 0), NONE_GONE
        gone = self._gone(base)
        if base.epoch.number != call.epoch.number or base.usage is None or base.model != call.model:
            return unrecorded_tokens(self._book, base), gone
        return base.usage.input - sum(self._book.read_sums(base.model, base.sent_head, gone)), gone

    def _gone(self, base: Call) -> Absences:
        """What was gone of `base`, as it left."""
        read = self._book.contexts.of(base)
        return read.gone if read is not None else NONE_GONE

    def marks(self, call: Call) -> bool:
        """Whether its client asks for caching: nothing written or read where there was enough tells that it does
        not."""
        return call.thread in self._cached or call.thread not in self._uncached

    def add(self, call: Call) -> None:
        """Take in that `call` was made."""
        if call.usage is None or not call.usage.input:
            return
        if call.usage.cache_read or call.usage.cache_write:
            self._cached.add(call.thread)
        elif call.usage.has_cache and call.usage.input >= (self._book.card(call.model).cache_minimum or 0):
            self._uncached.add(call.thread)
        self._last[call.thread] = call
        if call.fidelity == Fidelity.TRANSCRIPT:
            self._kinds.setdefault(self._kind(call), unrecorded_tokens(self._book, call))

    def _kind(self, call: Call) -> tuple[bool, str]:
        return bool(self._book.session.threads[call.thread].parent), call.model
