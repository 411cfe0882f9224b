"""Evidence in the recording for a reported cache miss, as one sentence that can be checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.analysis.cache.forecast import CacheForecast
from ctxtui.analysis.cache.losses import lifetime
from ctxtui.analysis.cache.miss_cause import Cause
from ctxtui.cache.explain import agrees
from ctxtui.cache.outcome import LOOKBACK, NOT_YET
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage

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
            held = rules.counted(usage.input, usage.input + rules.spare)
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
        same = agrees(cause.name, self._tree[after].place.section, said)
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
