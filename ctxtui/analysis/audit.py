"""The audit: every call's input foretold from earlier calls alone, held against its report (design §1)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, overload

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.forecast import Forecast, Forecaster
from ctxtui.analysis.forecast_errors import CallsBefore, cause
from ctxtui.core.call import Call
from ctxtui.tokens.models import ModelCard

LEAST: Final = 100
"""Errors of newly added tokens are relative to at least this many tokens."""
OFF: Final = 0.22
"""A call whose new tokens are off by more than this share carries a cause."""


class Audited(Struct, frozen=True, kw_only=True):
    """One call's forecast and report, in tokens; `call` is its number in its thread, from 1.

    `lo` to `hi` is the 90 % interval of `predicted`. The new figures are those beyond the report of the call whose
    context this one extends; `new_reported` is negative where content left. `cause` says why a call is off ("" where it
    is not), `asked` that a person spoke before it (else it goes on from tool results).
    """

    thread: str
    call: int
    predicted: int
    lo: int
    hi: int
    reported: int
    new_predicted: int
    new_reported: int
    cause: str
    asked: bool


def audited(book: Book, card: Callable[[str], ModelCard] | None = None) -> list[Audited]:
    """Every call with a report but the first of each thread, in the order of the recording.

    Each is foretold by what came before it and taught to the rest only then; everything in `book` must be counted.
    `card` gives other facts about a model than the book's (another prior), counted in the same way.
    """
    session = book.session
    forecaster = Forecaster(session, book.cumulated, card or book.card)
    numbers = {id_: n for order in session.order.values() for n, id_ in enumerate(order, 1)}
    past = CallsBefore(session.tree)
    found = []
    for call in list(session.calls.values()):
        if call.usage is None:
            continue
        forecast = forecaster.forecast(call)
        if forecast is not None:
            found.append(_audited(forecast, call, numbers[call.id], past))
        forecaster.learn(call, forecast)
        past.add(call)
    return found


def _audited(forecast: Forecast, call: Call, number: int, past: CallsBefore) -> Audited:
    assert call.usage is not None
    reported = call.usage.input
    new = reported - forecast.step.usage.input
    off = abs(forecast.predicted - reported) > OFF * max(abs(new), LEAST)
    return Audited(
        thread=call.thread,
        call=number,
        predicted=forecast.predicted,
        lo=forecast.lo,
        hi=forecast.hi,
        reported=reported,
        new_predicted=forecast.new,
        new_reported=new,
        cause=cause(forecast, call.usage, past) if off else "",
        asked=forecast.step.asked,
    )


def summary(rows: Sequence[Audited]) -> dict[str, Any]:
    """The aggregates of `rows`, in percent; None where there is nothing to take them of.

    Errors of totals are relative to the report; errors of new tokens are relative to max(new_reported, `LEAST`) and
    leave out calls whose new_reported is negative; widths are half of hi - lo (the x of "± x %") relative to
    max(new_predicted, `LEAST`).
    Percentiles are interpolated linearly.
    """
    totals = [100 * abs(r.predicted - r.reported) / max(r.reported, 1) for r in rows]
    grown = [r for r in rows if r.new_reported >= 0]
    new = [100 * abs(r.new_predicted - r.new_reported) / max(r.new_reported, LEAST) for r in grown]
    widths = [50 * (r.hi - r.lo) / max(r.new_predicted, LEAST) for r in rows]
    inside = [100.0 * (r.lo <= r.reported <= r.hi) for r in rows]
    return {
        "median_abs_error_pct": percentile(totals, 50),
        "p95_abs_error_pct": percentile(totals, 95),
        "new_median_abs_error_pct": percentile(new, 50),
        "new_p90_abs_error_pct": percentile(new, 90),
        "interval_coverage_pct": round(sum(inside) / len(inside), 3) if inside else None,
        "median_interval_width_pct": percentile(widths, 50),
    }


def percentile(values: Iterable[float], share: float) -> float | None:
    """The `share` percentile (0 to 100) of `values`, interpolated linearly; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return round(ordered[low] + (ordered[high] - ordered[low]) * (place - low), 3)


class RunningRecord(Sequence[tuple[int, int]]):
    """How many calls had a report inside the interval that was foretold, and how many were foretold at all, by how many
    of them are over; two columns, as a long session has many calls."""

    def __init__(self) -> None:
        self._right = array("i", [0])
        self._of = array("i", [0])

    def add(self, right: bool | None) -> None:
        """One call more: whether its report was inside; None where it was not foretold, or has none."""
        self._right.append(self._right[-1] + (right or 0))
        self._of.append(self._of[-1] + (right is not None))

    def __len__(self) -> int:
        return len(self._of)

    @overload
    def __getitem__(self, at: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, at: slice) -> list[tuple[int, int]]: ...

    def __getitem__(self, at: int | slice) -> tuple[int, int] | list[tuple[int, int]]:
        if isinstance(at, slice):
            return list(zip(self._right[at], self._of[at], strict=True))
        return self._right[at], self._of[at]


def records(book: Book, calls: Iterable[Call]) -> RunningRecord:
    """The running record of a thread's `calls`, as far as the book has learnt."""
    found = RunningRecord()
    for call in calls:
        forecast, usage = book.forecasts.get(call.id), call.usage
        found.add(None if forecast is None or usage is None else forecast.lo <= usage.input <= forecast.hi)
    return found
