"""Audit of cache reads: what was foretold of each call held against what the provider reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from ctxtui.analysis.audit import percentile
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.call_forecasts import CallForecasts
from ctxtui.analysis.cache.forecast import CacheForecast
from ctxtui.analysis.cache.losses import CacheDemand, CacheDemands
from ctxtui.analysis.cache.miss_cause import BEHIND, Cause
from ctxtui.analysis.cache.miss_evidence import Evidence
from ctxtui.analysis.cache.missed import NOT_IN_RECORD
from ctxtui.analysis.running_totals import running_of
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.tokens.models import ModelCard

SHARE: Final = 0.02
LEAST: Final = 300
"""A forecast is within when it is off by no more than `SHARE` of the input or `LEAST` tokens."""


class CacheAudited(Struct, frozen=True, kw_only=True):
    """One call's cache read as foretold and as reported, in tokens; `call` is its number in its thread, from 1.

    `previous` is the input of the call whose context it extends; a hit reads more than half of it. `lost` are the
    tokens that it missed (see `losses.CacheDemand`), `foretold` those that it was to miss. `cause` says what was
    foretold to be lost; of a miss that was not foretold what the recording holds about it, ``not in the record`` where
    that is nothing. `evidence` is what the recording shows about a miss. `inferred`: the client's markers are not
    recorded. `what` names the tool, parameter or model that was lost to.
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
    lost: int = 0
    foretold: int = 0

    @property
    def within(self) -> bool:
        """Whether the forecast was right."""
        return abs(self.predicted - self.reported) <= max(LEAST, SHARE * self.input)

    @property
    def missed(self) -> bool:
        """Whether the call was a miss, and no hit: a smaller loss, of which nothing was foretold, tests no forecast."""
        return self.lost > 0 and (self.reported * 2 <= self.previous or self.alarm)

    @property
    def alarm(self) -> bool:
        """Whether a miss was foretold, where there was anything to lose."""
        return self.predicted * 2 <= self.previous and (self.foretold > 0 or self.lost > 0)


class CacheAuditor:
    """The audit of a session, call by call: each is foretold by what came before it and taught to the rest only then.

    `rules` gives how a call is cached; everything in `book` must be counted as far as the calls reach. `card` gives
    other facts about a model than the book's, counted in the same way.
    """

    def __init__(
        self,
        book: Book,
        rules: Callable[[Call], CacheRules],
        card: Callable[[str], ModelCard] | None = None,
    ) -> None:
        session = book.session
        self._book = book
        self._rules = rules
        self.forecasts = CallForecasts(book, rules, card)
        """What the calls taken so far have taught."""
        self._numbers: dict[str, int] = {}
        self._past = Evidence(session, self._numbers)

    def take(self, call: Call, demand: CacheDemand) -> CacheAudited | None:
        """The next call of the session, which could read what `demand` says; None where nothing can be foretold of it,
        or its provider reports no reads, or its rules are not known."""
        number = self._number(call)
        rules = self._rules(call)
        foretold = self.forecasts.foretell(call)
        found = None
        if foretold.read is not None and call.usage is not None and call.usage.has_cache and rules.known:
            found = self._audited(foretold.read, demand, number)
        self.forecasts.learn(call, foretold)
        self._past.add(call, rules)
        return found

    def _number(self, call: Call) -> int:
        if call.id not in self._numbers:
            self._numbers.update((id_, n) for n, id_ in enumerate(self._book.session.order[call.thread], 1))
        return self._numbers[call.id]

    def _audited(self, forecast: CacheForecast, demand: CacheDemand, number: int) -> CacheAudited:
        call = forecast.call
        usage = call.usage
        assert usage is not None
        lost, foretold = demand.lost(usage.cache_read), demand.lost(forecast.read)
        cause = forecast.cause
        if not cause.name and lost:
            cause = demand.cause if demand.cause.name or not forecast.alarm else Cause(BEHIND)
        return CacheAudited(
            thread=call.thread,
            call=number,
            provider=call.provider or self._book.card(call.model).provider or "unknown",
            input=usage.input,
            previous=forecast.held,
            predicted=forecast.read,
            floor=forecast.floor,
            ceiling=forecast.ceiling,
            reported=usage.cache_read,
            cause=cause.name or (NOT_IN_RECORD if lost else ""),
            evidence=self._past.of(forecast, usage, cause) if lost else "",
            inferred=forecast.inferred,
            what=cause.what,
            lost=lost,
            foretold=foretold,
        )


def cache_audited(
    book: Book,
    rules: Callable[[Call], CacheRules],
    card: Callable[[str], ModelCard] | None = None,
) -> list[CacheAudited]:
    """Every call that extends one with a report, whose provider reports cache reads and whose rules are known.

    Everything in `book` must be counted. `card` gives other facts about a model than the book's, counted in the same
    way.
    """
    demands = CacheDemands(book, rules, running_of(book))
    auditor = CacheAuditor(book, rules, card)
    found = (auditor.take(call, demands.take(call)) for call in list(book.session.calls.values()))
    return [row for row in found if row is not None]


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
