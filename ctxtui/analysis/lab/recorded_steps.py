"""Data of each recorded call of a session, for all variants of the lab.

Lifetimes and unrecorded tokens of a call follow from the reports of the calls before it, not from its own.
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
from ctxtui.analysis.read.absence import NO_ABSENCES, Absences
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import COUNTED, Call, Fidelity
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT

NO_BLOCKS: Final = "no block is recorded: a context cannot be rebuilt"
NO_CALLS: Final = "no call is recorded"


class RecordedStep(Struct, frozen=True, kw_only=True):
    """One recorded call, as the lab simulates it.

    - `number`: counts all calls of the session from 1.
    - `at`: when it was sent; `asked_at`: the same by the clock of its cache (`CacheForecaster.time_of`; Unix seconds;
      None: unknown).
    - `life`: the lifetime that its client writes; "": the default.
    - `floors`: least tokens that it is expected to read.
    - `unrecorded`: unrecorded tokens, and `gone` absent blocks, according to earlier reports.
    - `reported`: gives the last node at or above a node of its context whose length was reported before, with that
      length in tokens; valid while the step is the newest.
    - `cold`: all entries at markers have expired, after a `pause` in seconds.
    - `sets_markers`: its client sets cache markers, according to earlier reports.
    """

    call: Call
    number: int
    at: float | None
    asked_at: float | None
    life: str
    floors: ReadFloors
    unrecorded: int
    gone: Absences
    reported: Callable[[int], tuple[int, int]]
    cold: bool
    pause: float = 0.0
    sets_markers: bool = True


def simulated_calls(session: Session) -> list[Call]:
    """Calls with a recorded context that a lab simulates.

    Those without a report are left out, unless no call has one.
    """
    calls = [call for call in session.calls.values() if call.stop_reason != COUNTED]
    reported = [call for call in calls if call.usage is not None and call.usage.input]
    return [call for call in reported or calls if call.fidelity != Fidelity.TOTALS and call.sent_head != ROOT]


def reason_for_none(session: Session) -> str:
    return NO_BLOCKS if session.calls else NO_CALLS


def recorded_steps(book: Book, rules: Callable[[Call], CacheRules]) -> Iterator[RecordedStep]:
    """Yield the calls of a session in order; everything in `book` must be counted."""
    session = book.session
    inputs = Forecaster(session, book.cumulated, book.card)
    reads = CacheForecaster(session, rules, book.cumulated, inputs)
    clocks: dict[str, Clock] = {}
    earlier = _EarlierReports(book)
    simulated = {call.id for call in simulated_calls(session)}
    for number, call in enumerate(list(session.calls.values()), 1):
        clock = clocks.setdefault(call.thread, Clock())
        input_forecast = inputs.forecast(call) if call.usage is not None else None
        if call.id in simulated:
            has_time = clock.has_time(call)
            time = clock.earliest(call) if has_time else None
            asked_at = (
                reads.time_of(call, input_forecast is not None and input_forecast.step.person_wrote)
                if has_time
                else None
            )
            life = reads.life(call)
            pause = time - clock.last if time is not None and clock.last is not None else 0.0
            unrecorded, absences = earlier.unrecorded(call)
            lasts = rules(call).seconds(life) if rules(call).mechanism.writes_at_markers else 0.0
            yield RecordedStep(
                call=call,
                number=number,
                at=time,
                asked_at=asked_at,
                life=life,
                floors=reads.floors(call),
                unrecorded=unrecorded,
                gone=absences,
                reported=partial(reads.prompts.reported_length, call),
                cold=0 < lasts < pause,
                pause=pause,
                sets_markers=earlier.sets_markers(call),
            )
        forecast = reads.forecast(call, input_forecast) if input_forecast is not None else None
        reads.learn(call, forecast, input_forecast)
        inputs.learn(call, input_forecast)
        clock.tick(call)
        earlier.add(call)


class _EarlierReports:
    """Unrecorded input of a call according to earlier reports.

    In a transcript it is the part of the previous call's report beyond the recorded blocks. The first call of an epoch
    has the unrecorded input of the previous call; the first call of a thread has that of the session's first reported
    call in threads of its kind (main or subagent, by model).
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._last: dict[str, Call] = {}
        self._kinds: dict[tuple[bool, str], int] = {}
        self._cached: set[str] = set()
        self._uncached: set[str] = set()

    def unrecorded(self, call: Call) -> tuple[int, Absences]:
        """Unrecorded tokens of `call`, and its absent blocks."""
        base = self._last.get(call.thread)
        read = self._book.contexts.read_of(base) if base is not None else None
        absences = read.gone if read is not None else NO_ABSENCES
        if call.fidelity != Fidelity.TRANSCRIPT or not self._book.is_counted(call.model, call.sent_head):
            return 0, absences
        if base is None:
            return self._kinds.get(self._kind(call), 0), absences
        if base.epoch.number != call.epoch.number or base.usage is None or base.model != call.model:
            return unrecorded_tokens(self._book, base), absences
        return base.usage.input - sum(self._book.read_sums(base.model, base.sent_head, absences)), absences

    def sets_markers(self, call: Call) -> bool:
        """Whether the client requests caching in the thread of `call`.

        It is False if nothing was written or read in spite of enough input.
        """
        return call.thread in self._cached or call.thread not in self._uncached

    def add(self, call: Call) -> None:
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
