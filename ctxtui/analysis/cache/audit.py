"""Audit of cache reads: what was foretold of each call held against what the provider reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ctxtui.analysis.audit import percentile
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.client_habit import USUAL, Leanings
from ctxtui.analysis.cache.forecast import CacheForecast, CacheForecaster
from ctxtui.analysis.cache.miss_cause import AGAIN
from ctxtui.analysis.cache.miss_evidence import Evidence
from ctxtui.analysis.forecast import Forecaster
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.tokens.models import ModelCard

SHARE: Final = 0.02
LEAST: Final = 300
"""A forecast is within when it is off by no more than `SHARE` of the input or `LEAST` tokens."""
NOT_IN_RECORD: Final = "not in the record"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheAudited:
    """One call's cache read as foretold and as reported, in tokens; `call` is its number in its thread, from 1.

    `previous` is the input of the call whose context it extends: a hit reads more than half of it. `cause` says what
    was foretold to be lost, of a miss that nothing in the recording explains it is ``not in the record``; `evidence`
    is what the recording shows about a miss. `inferred`: the client's markers are not recorded. `what` names the tool,
    parameter or model that was lost to.
    """

    thread: str
    call: int
    provider: str
    input: int
    previous: int
    predicted: int
    floor: int
    ceiling: int
    reported: int
    cause: str
    evidence: str
    inferred: bool
    what: str = ""

    @property
    def within(self) -> bool:
        """Whether the forecast was right."""
        return abs(self.predicted - self.reported) <= max(LEAST, SHARE * self.input)

    @property
    def missed(self) -> bool:
        """Whether the call was a miss."""
        return self.reported * 2 <= self.previous

    @property
    def alarm(self) -> bool:
        """Whether a miss was foretold."""
        return self.predicted * 2 <= self.previous


def cache_audited(
    book: Book,
    rules: Callable[[Call], CacheRules],
    card: Callable[[str], ModelCard] | None = None,
    leanings: Leanings = USUAL,
) -> list[CacheAudited]:
    """Every call that extends one with a report, whose provider reports cache reads and whose rules are known.

    Each is foretold by what came before it and taught to the rest only then; everything in `book` must be counted.
    `card` gives other facts about a model than the book's, counted in the same way; `leanings` as in `CacheForecaster`.
    """
    session = book.session
    inputs = Forecaster(session, book.cumulated, card or book.card)
    reads = CacheForecaster(session, rules, book.cumulated, inputs, leanings)
    numbers = {id_: n for order in session.order.values() for n, id_ in enumerate(order, 1)}
    past = Evidence(session, numbers)
    found: list[CacheAudited] = []
    for call in list(session.calls.values()):
        foretold = inputs.forecast(call) if call.usage is not None else None
        forecast = reads.forecast(call, foretold) if foretold is not None else None
        if forecast is not None and call.usage is not None and call.usage.has_cache and rules(call).known:
            provider = call.provider or book.card(call.model).provider or "unknown"
            found.append(_audited(forecast, call, numbers[call.id], provider, past))
        reads.learn(call, forecast, foretold)
        inputs.learn(call, foretold)
        past.add(call, rules(call))
    return found


def _audited(forecast: CacheForecast, call: Call, number: int, provider: str, past: Evidence) -> CacheAudited:
    usage = call.usage
    assert usage is not None
    missed = usage.cache_read * 2 <= forecast.held
    known, cause = forecast.alarm and forecast.cause.name != AGAIN, forecast.cause.name
    return CacheAudited(
        thread=call.thread,
        call=number,
        provider=provider,
        input=usage.input,
        previous=forecast.held,
        predicted=forecast.read,
        floor=forecast.floor,
        ceiling=forecast.ceiling,
        reported=usage.cache_read,
        cause=NOT_IN_RECORD if missed and not known else cause,
        evidence=past.of(forecast, usage) if missed else "",
        inferred=forecast.inferred,
        what=forecast.cause.what,
    )


def cache_summary(rows: Sequence[CacheAudited]) -> dict[str, Any]:
    """The aggregates of `rows` by provider, in percent."""
    by: dict[str, list[CacheAudited]] = {}
    for row in rows:
        by.setdefault(row.provider, []).append(row)
    return {provider: _figures(some) for provider, some in sorted(by.items())}


def _figures(rows: Sequence[CacheAudited]) -> dict[str, Any]:
    missed = [row for row in rows if row.missed]
    return {
        "calls": len(rows),
        "within_pct": _percent(row.within for row in rows),
        "hit_miss_accuracy_pct": _percent(row.missed == row.alarm for row in rows),
        "misses": {
            "reported": len(missed),
            "foreseen": sum(row.alarm for row in missed),
            "false_alarms": sum(row.alarm and not row.missed for row in rows),
            "not_in_record": sum(row.cause == NOT_IN_RECORD for row in missed),
        },
    }


def cache_bands(rows: Sequence[CacheAudited]) -> dict[str, Any]:
    """By provider: how often a report lay inside its band, in percent, and the band's median width in percent of the
    input. Only of calls that have a band."""
    by: dict[str, list[CacheAudited]] = {}
    for row in rows:
        if row.ceiling > row.floor:
            by.setdefault(row.provider, []).append(row)
    return {
        provider: {
            "holds_pct": _percent(row.floor <= row.reported <= row.ceiling for row in some),
            "median_width_pct": percentile((100 * (r.ceiling - r.floor) / max(r.input, 1) for r in some), 50),
        }
        for provider, some in sorted(by.items())
    }


def _percent(flags: Any) -> float | None:
    every = list(flags)
    return round(100 * sum(every) / len(every), 3) if every else None
