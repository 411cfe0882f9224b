"""Audit of cache reads: what was foretold of each call held against what the provider reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from ctxtui.analysis.audit import percentile
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.call_forecasts import CallForecasts
from ctxtui.analysis.cache.forecast import CacheForecast
from ctxtui.analysis.cache.losses import CacheDemand, CacheDemands, lifetime
from ctxtui.analysis.cache.miss_cause import BEHIND, Cause
from ctxtui.analysis.cache.missed import NOT_IN_RECORD
from ctxtui.analysis.running_totals import running_of
from ctxtui.cache.explain import matches_diagnosis
from ctxtui.cache.outcome import LOOKBACK, NOT_YET
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.tokens.models import ModelCard

_NEAR: Final = 0.05
"""Share of a lifetime that is near its end."""


class Evidence:
    """The calls before the one in question: what each left in the cache, and the least that was read."""

    def __init__(self, session: Session, numbers: Mapping[str, int]) -> None:
        self._tree = session.tree
        self._numbers = numbers
        self._left: dict[tuple[str, int], Call] = {}
        self._reads: dict[tuple[str, int], Call] = {}

    def add(self, call: Call, rules: CacheRules) -> None:
        """Remember `call`, which is cached by `rules`."""
        usage = call.usage
        if usage is None:
            return
        held = usage.cache_read + usage.cache_write
        if rules.mechanism.keeps_every_prefix:
            held = rules.reported_read(usage.input, usage.input + rules.spare)
        if held:
            self._left[call.thread, held] = call
        if 0 < usage.cache_read * 2 < usage.input:
            self._reads.setdefault((call.model, usage.cache_read), call)

    def of(self, forecast: CacheForecast, usage: Usage, cause: Cause) -> str:
        """Why `forecast.call`, whose report is `usage`, missed what the call before it had left, which is due to
        `cause`."""
        return (self._told(forecast, cause) or self._unexplained(forecast, usage)) + self._diagnosed(forecast, cause)

    def _diagnosed(self, forecast: CacheForecast, cause: Cause) -> str:
        """The provider's own diagnosis of the miss; "" if none was recorded."""
        said = diagnosis(forecast.call)
        if not said:
            return ""
        shared = self._tree.common(forecast.base.sent_head, forecast.call.sent_head)
        after = next(iter(self._tree.path(forecast.call.sent_head, shared)), shared)
        same = matches_diagnosis(cause.name, self._tree[after].place.section, said)
        return f"; the provider says {said}" + ("" if same is None else ", as found here" if same else ", unlike here")

    def _told(self, forecast: CacheForecast, cause: Cause) -> str:
        call, (name, by, what) = forecast.call, cause
        match name:
            case "expired":
                return f"{_span(by)} after its lifetime had ended"
            case "model":
                return f"another model: {what}"
            case "tools":
                return f"other tools: {what}"
            case "parameter":
                return f"another parameter: {what}"
            case "cache behind":
                return "the provider's cache had fallen behind at the call before"
            case "resume":
                return "the client was started anew: its system prompt is another one"
            case "compaction":
                return f"{call.epoch.start.value}: {call.epoch.detail or 'the context was replaced'}"
            case "thinking stripped":
                far = next((r.by for r in forecast.outcome.reasons if r.kind == LOOKBACK), None)
                reach = f"; what is left of it lies {far:.0f} positions beyond the lookback" if far else ""
                return f"a new user message, so the provider dropped the earlier thinking{reach}"
            case "edits":
                shared = self._tree.common(forecast.base.sent_head, call.sent_head)
                at = self._tree[shared].depth + 1
                return f"edits were applied or taken back: the requests differ from block {at} on"
            case "content":
                shared = self._tree.common(forecast.base.sent_head, call.sent_head)
                return f"the context parts from that of the call before it at block {self._tree[shared].depth + 1}"
        return _about_markers(name, by)

    def _unexplained(self, forecast: CacheForecast, usage: Usage) -> str:
        found = self._what_was_read(forecast, usage)
        more = usage.input - forecast.input
        size = f"the input is {abs(more):,} tokens {'more' if more > 0 else 'less'} than foretold"
        early = next((r.by for r in forecast.outcome.reasons if r.kind == NOT_YET), None)
        if early is not None:
            size += f"; the call before had begun {_span(early)} later"
        size += _nearly(forecast)
        return f"{found}; {size}"

    def _what_was_read(self, forecast: CacheForecast, usage: Usage) -> str:
        read, call = usage.cache_read, forecast.call
        if not read:
            return "nothing was read, not even system prompt and tools"
        left = self._left.get((call.thread, read))
        if left is not None:
            return f"only what call {self._numbers[left.id]} had left was read: {read:,} tokens"
        same = self._reads.get((call.model, read))
        if same is not None:
            where = "" if same.thread == call.thread else " of another thread"
            return f"only {read:,} tokens were read, as at call {self._numbers[same.id]}{where}"
        return f"{read:,} tokens were read; no recorded request has a part of that length"


def _nearly(forecast: CacheForecast) -> str:
    """Note that the previous entry was about to expire; "" if it was not."""
    base, call = forecast.base, forecast.call
    if base.started is None or call.started is None:
        return ""
    left = lifetime(base) - (call.started - base.started)
    return f"; its lifetime would have ended {_span(left)} later" if 0 <= left <= _NEAR * lifetime(base) else ""


def diagnosis(call: Call) -> str:
    """The provider's own reason for a cache miss, as its answer gave it; "" where it gave none (facts §3, §4)."""
    found = call.extra.get("diagnostics") or call.extra.get("prompt_cache_diagnostics")
    for key in ("cache_miss_reason", "cache_miss"):
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            found = found[key]
    reason = (found.get("reason") or found.get("type")) if isinstance(found, dict) else None
    return reason if isinstance(reason, str) and reason != "cache_hit" else ""


def _about_markers(name: str, by: float) -> str:
    match name:
        case "marker missing":
            return "no marker in the request: nothing is cached"
        case "marker moved":
            return f"its last marker stands {by:.0f} positions in front of what was cached"
        case "lookback":
            return f"what was cached lies {by:.0f} positions beyond the lookback"
        case "below minimum":
            return f"{by:.0f} tokens below the shortest prefix that is cached"
        case "not yet readable":
            return f"sent {_span(by)} before the answer that wrote it began"
    return ""


def _span(seconds: float) -> str:
    for size, word in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} seconds"


SHARE: Final = 0.02
LEAST: Final = 300
"""A forecast is within when it is off by no more than `COVERAGE` of the input or `LEAST` tokens."""


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
        if foretold.read is not None and call.usage is not None and call.usage.has_cache and rules.is_known:
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
