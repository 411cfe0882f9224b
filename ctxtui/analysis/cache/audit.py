"""Audit of cache reads: compares forecasts with the provider's reports.

It also describes the evidence of misses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from ctxtui.analysis.audit import percentile
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.cached_input import CachedInput, CachedInputs
from ctxtui.analysis.cache.call_forecasts import CallForecaster
from ctxtui.analysis.cache.forecast import CacheForecast
from ctxtui.analysis.cache.miss import NOT_IN_RECORD
from ctxtui.analysis.cache.miss_cause import BEHIND, MissCause
from ctxtui.analysis.running_totals import running_totals
from ctxtui.cache.explain import matches_diagnosis
from ctxtui.cache.outcome import LOOKBACK, NOT_YET
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.tokens.models import ModelCard

_NEAR_SHARE: Final = 0.05
"""Share of a lifetime that counts as near its end."""


class MissEvidence:
    """Earlier calls, with what each left in the cache, to explain what a later call read."""

    def __init__(self, session: Session, numbers: Mapping[str, int]) -> None:
        self._tree = session.tree
        self._numbers = numbers
        self._left: dict[tuple[str, int], Call] = {}
        self._reads: dict[tuple[str, int], Call] = {}

    def add(self, call: Call, rules: CacheRules) -> None:
        """Remember what `call` left in the cache and what it read, by its report."""
        usage = call.usage
        if usage is None:
            return
        cached = usage.cache_read + usage.cache_write
        if rules.mechanism.keeps_every_prefix:
            cached = rules.reported_read(usage.input, usage.input + rules.spare)
        if cached:
            self._left[call.thread, cached] = call
        if 0 < usage.cache_read * 2 < usage.input:
            self._reads.setdefault((call.model, usage.cache_read), call)

    def describe(self, forecast: CacheForecast, usage: Usage, cause: MissCause, cached: CachedInput) -> str:
        """Describe for the user why a call read less than the cache held."""
        return (
            self._describe_cause(forecast, cause) or self._describe_unexplained(forecast, usage, cached)
        ) + self._describe_diagnosis(forecast, cause)

    def _describe_diagnosis(self, forecast: CacheForecast, cause: MissCause) -> str:
        reported = diagnosis(forecast.call)
        if not reported:
            return ""
        shared = self._tree.common(forecast.base.sent_head, forecast.call.sent_head)
        after = next(iter(self._tree.path(forecast.call.sent_head, shared)), shared)
        same = matches_diagnosis(cause.name, self._tree[after].place.section, reported)
        return f"; the provider says {reported}" + (
            "" if same is None else ", as found here" if same else ", unlike here"
        )

    def _describe_cause(self, forecast: CacheForecast, cause: MissCause) -> str:
        call, (name, by, what) = forecast.call, cause
        match name:
            case "expired":
                return f"{_format_span(by)} after its lifetime had ended"
            case "model":
                return f"another model: {what}"
            case "tools":
                return f"other tools: {what}"
            case "parameter":
                return f"another parameter: {what}"
            case "cache behind":
                return "the provider's cache had not caught up with the previous call"
            case "resume":
                return "the client was restarted: its system prompt may have changed"
            case "compaction":
                return f"{call.epoch.start.value}: {call.epoch.detail or 'the context was replaced'}"
            case "thinking stripped":
                distance = next((r.by for r in forecast.outcome.reasons if r.kind == LOOKBACK), None)
                reach = f"; the rest is {distance:.0f} positions beyond the lookback" if distance else ""
                return f"a new user message, so the provider dropped the earlier thinking{reach}"
            case "edits":
                shared = self._tree.common(forecast.base.sent_head, call.sent_head)
                position = self._tree[shared].depth + 1
                return f"edits were applied or taken back: the requests differ from block {position} on"
            case "content":
                shared = self._tree.common(forecast.base.sent_head, call.sent_head)
                return f"the context differs from the previous call's from block {self._tree[shared].depth + 1} on"
        return _describe_marker_cause(name, by)

    def _describe_unexplained(self, forecast: CacheForecast, usage: Usage, cached: CachedInput) -> str:
        read_text = self._describe_read(forecast, usage)
        more = usage.input - forecast.input
        size = f"the input is {abs(more):,} tokens {'more' if more > 0 else 'less'} than forecast"
        early = next((r.by for r in forecast.outcome.reasons if r.kind == NOT_YET), None)
        if early is not None:
            size += f"; the previous call had begun {_format_span(early)} later"
        size += _near_expiry(cached)
        return f"{read_text}; {size}"

    def _describe_read(self, forecast: CacheForecast, usage: Usage) -> str:
        read, call = usage.cache_read, forecast.call
        if not read:
            return "nothing was read, not even system prompt and tools"
        same_call = self._left.get((call.thread, read))
        if same_call is not None:
            return f"only what call {self._numbers[same_call.id]} had cached was read: {read:,} tokens"
        same = self._reads.get((call.model, read))
        if same is not None:
            thread_note = "" if same.thread == call.thread else " of another thread"
            return f"only {read:,} tokens were read, as at call {self._numbers[same.id]}{thread_note}"
        return f"{read:,} tokens were read; no earlier call explains this length"


def _near_expiry(cached: CachedInput) -> str:
    remaining_s = -1.0 if cached.pause is None else cached.life - cached.pause
    is_near = 0 <= remaining_s <= _NEAR_SHARE * cached.life
    return f"; its lifetime would have ended {_format_span(remaining_s)} later" if is_near else ""


def diagnosis(call: Call) -> str:
    """The provider's own reason for a cache miss (facts §3, §4).

    "" if it gave none, or reported a hit.
    """
    diagnostics = call.extra.get("diagnostics") or call.extra.get("prompt_cache_diagnostics")
    for key in ("cache_miss_reason", "cache_miss"):
        if isinstance(diagnostics, dict) and isinstance(diagnostics.get(key), dict):
            diagnostics = diagnostics[key]
    reason = (diagnostics.get("reason") or diagnostics.get("type")) if isinstance(diagnostics, dict) else None
    return reason if isinstance(reason, str) and reason != "cache_hit" else ""


def _describe_marker_cause(name: str, by: float) -> str:
    match name:
        case "marker missing":
            return "no marker in the request: nothing is cached"
        case "marker moved":
            return f"its last marker is {by:.0f} positions before the end of the cached prefix"
        case "lookback":
            return f"the cached prefix is {by:.0f} positions beyond the lookback"
        case "below minimum":
            return f"{by:.0f} tokens below the shortest prefix that is cached"
        case "not yet readable":
            return f"sent {_format_span(by)} before the answer that wrote it began"
    return ""


def _format_span(seconds: float) -> str:
    for size, word in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} seconds"


MAX_ERROR_SHARE: Final = 0.02
MAX_ERROR_TOKENS: Final = 300
"""Errors up to which a forecast counts as right: a share of the input, and a number of tokens."""


class AuditedRead(Struct, frozen=True, kw_only=True):
    """One call's cache read as forecast and as reported, in tokens.

    - `call`: its number in its thread, from 1.
    - `previous`: the input of the call whose context it extends; a hit reads more than half of it.
    - `predicted`, `floor`, `ceiling`: the forecast and its band; `reported`: the report.
    - `lost`: cached tokens that it did not read (see `cached_input.CachedInput`); `forecast_loss`: the forecast of
      them.
    - `cause`: the predicted one; for a loss without it, the one in the recording or ``not in the record``; else "".
    - `what`: the tool, parameter or model that changed.
    - `evidence`: describes the loss from the recording; "" without one.
    - `inferred`: the client's markers are not recorded.
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
    forecast_loss: int = field(default=0, name="foretold")

    @property
    def within(self) -> bool:
        """Whether the error is at most `MAX_ERROR_TOKENS`, or `MAX_ERROR_SHARE` of the input."""
        return abs(self.predicted - self.reported) <= max(MAX_ERROR_TOKENS, MAX_ERROR_SHARE * self.input)

    @property
    def missed(self) -> bool:
        """Whether it lost cached tokens and read at most half of `previous`, or had an alarm."""
        return self.lost > 0 and (self.reported * 2 <= self.previous or self.alarm)

    @property
    def alarm(self) -> bool:
        """Whether a miss was predicted, and there was something to lose."""
        return self.predicted * 2 <= self.previous and (self.forecast_loss > 0 or self.lost > 0)


class CacheAuditor:
    """Audits a session call by call: forecasts each from earlier ones, then learns its report.

    Everything in `book` must be counted up to the current call.
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
        self.forecasts = CallForecaster(book, rules, card)
        self._numbers: dict[str, int] = {}
        self._past = MissEvidence(session, self._numbers)

    def audit_call(self, call: Call, cached: CachedInput) -> AuditedRead | None:
        """Audit the next call of the session.

        None without a forecast, reported cache counts, or known rules.
        """
        number = self._number(call)
        rules = self._rules(call)
        forecasts = self.forecasts.forecast(call)
        row = None
        if forecasts.read is not None and call.usage is not None and call.usage.has_cache and rules.is_known:
            row = self._make_row(forecasts.read, cached, number)
        self.forecasts.learn(call, forecasts)
        self._past.add(call, rules)
        return row

    def _number(self, call: Call) -> int:
        if call.id not in self._numbers:
            self._numbers.update((id_, n) for n, id_ in enumerate(self._book.session.order[call.thread], 1))
        return self._numbers[call.id]

    def _make_row(self, forecast: CacheForecast, cached: CachedInput, number: int) -> AuditedRead:
        call = forecast.call
        usage = call.usage
        assert usage is not None
        lost, predicted_loss = cached.lost_tokens(usage.cache_read), cached.lost_tokens(forecast.read)
        cause = forecast.cause
        if not cause.name and lost:
            cause = cached.cause if cached.cause.name or not forecast.alarm else MissCause(BEHIND)
        return AuditedRead(
            thread=call.thread,
            call=number,
            provider=call.provider or self._book.card(call.model).provider or "unknown",
            input=usage.input,
            previous=forecast.previous_input,
            predicted=forecast.read,
            floor=forecast.floor,
            ceiling=forecast.ceiling,
            reported=usage.cache_read,
            cause=cause.name or (NOT_IN_RECORD if lost else ""),
            evidence=self._past.describe(forecast, usage, cause, cached) if lost else "",
            inferred=forecast.inferred,
            what=cause.what,
            lost=lost,
            forecast_loss=predicted_loss,
        )


def audit_reads(
    book: Book, rules: Callable[[Call], CacheRules], card: Callable[[str], ModelCard] | None = None
) -> list[AuditedRead]:
    """Audit all calls of a session, for tests and benchmarks.

    Everything in `book` must be counted.
    """
    cached_inputs = CachedInputs(book, rules, running_totals(book))
    auditor = CacheAuditor(book, rules, card)
    rows = (auditor.audit_call(call, cached_inputs.add_call(call)) for call in list(book.session.calls.values()))
    return [row for row in rows if row is not None]


def summarize_reads(rows: Sequence[AuditedRead]) -> dict[str, Any]:
    """Aggregate `rows` by provider: shares in percent, and numbers of calls and misses."""
    by_provider: dict[str, list[AuditedRead]] = {}
    for row in rows:
        by_provider.setdefault(row.provider, []).append(row)
    return {provider: _provider_figures(own) for provider, own in sorted(by_provider.items())}


def _provider_figures(rows: Sequence[AuditedRead]) -> dict[str, Any]:
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


def summarize_bands(rows: Sequence[AuditedRead]) -> dict[str, Any]:
    """Percent of reports inside their band, and the bands' median width, by provider.

    The width is in percent of the input. Forecasts without a band are left out.
    """
    by_provider: dict[str, list[AuditedRead]] = {}
    for row in rows:
        if row.ceiling > row.floor:
            by_provider.setdefault(row.provider, []).append(row)
    return {
        provider: {
            "holds_pct": _percent(row.floor <= row.reported <= row.ceiling for row in own),
            "median_width_pct": percentile((100 * (r.ceiling - r.floor) / max(r.input, 1) for r in own), 50),
        }
        for provider, own in sorted(by_provider.items())
    }


def _percent(flags: Iterable[bool]) -> float | None:
    values = list(flags)
    return round(100 * sum(values) / len(values), 3) if values else None
