"""Cached input of a call: tokens that it could have read, and the rule for counting a miss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss_cause import CHANGED_REQUEST, NO_CAUSE, MissCause, cause_in_record
from ctxtui.analysis.cache.write_reports import WriteReports
from ctxtui.analysis.money.resent import Resent, ResentTracker
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage

SHORTEST_CACHED: Final = 1_024
"""Losses of fewer tokens are no misses: most models' shortest cacheable prefix (facts §2)."""
_MINUTE: Final = 60.0
_LONGEST_LIFETIME: Final = 720 * _MINUTE
"""Longest lifetime that a provider promises for an entry at a marker, in seconds."""


def entry_lifetime(call: Call) -> float:
    """Promised lifetime in seconds of the longest-lived entry that `call` wrote (facts §2, §4).

    300 without one.
    """
    usage = call.usage
    if usage and usage.write_12h:
        return _LONGEST_LIFETIME
    if usage and usage.write_1h:
        return 60 * _MINUTE
    if usage and usage.write_30m:
        return 30 * _MINUTE
    return 5 * _MINUTE


def cache_lifetime(rules: CacheRules, longest: float) -> float:
    """Lifetime of a cached prefix in seconds.

    That of an automatic cache if known, else `longest`.
    """
    if rules.mechanism.keeps_every_prefix and rules.retention:
        return rules.retention
    return longest


def latest_expiry(rules: CacheRules, at: float | None) -> float:
    """Latest promised expiry (Unix seconds) of what was used `at`; `inf` without a time."""
    return math.inf if at is None else at + cache_lifetime(rules, _LONGEST_LIFETIME)


class CachedInput(Struct, frozen=True, kw_only=True):
    """Input of one call that the cache held before it.

    - `resent`: the part of the previous context that was sent again.
    - `before`: the last call of its thread with a report. None: there is none, or nothing says what this call read;
      then only `resent` is set.
    - `cached`: tokens that `before` left in the cache.
    - `expected`: those of them that were sent again and should have been read.
    - `promised`: the client had the entries written, so that each must be there.
    - `cause`: the recorded cause of a loss.
    - `pause`: seconds from the start of the previous call to that of this one; None: not recorded.
    - `life`: the longest lifetime of the thread's entries so far, or an automatic cache's retention, in seconds.
    - `inferred`: the read tokens, if the report does not give them (None: it does).
    """

    resent: Resent
    before: Call | None = None
    cached: int = 0
    expected: int = 0
    promised: bool = False
    cause: MissCause = NO_CAUSE
    pause: float | None = None
    life: float = 0.0
    inferred: int | None = None

    def read_tokens(self, usage: Usage) -> int:
        return usage.cache_read if self.inferred is None else self.inferred

    def lost_tokens(self, read: int) -> int:
        """Cached tokens that were sent again and are missing from `read`; 0 for a hit.

        Losses below `SHORTEST_CACHED` do not count. Without a promise, a loss counts only if the request changed, or if
        at most half of the cached tokens was read.
        """
        lost = self.expected - read
        if lost < SHORTEST_CACHED:
            return 0
        return lost if self.promised or self.cause.name in CHANGED_REQUEST or read * 2 <= self.cached else 0


class CachedInputs:
    """Cached input of a session's calls, in order.

    `running` must have counted the calls that are added.
    """

    def __init__(
        self, book: Book, rules: Callable[[Call], CacheRules], running: Callable[[str], RunningTotals]
    ) -> None:
        self._book = book
        self._rules = rules
        self._running = running
        self._sendings: dict[str, ResentTracker] = {}
        self._last: dict[str, Call] = {}
        self._reported: dict[str, Call] = {}
        self._life: dict[str, float] = {}
        self._kept_warm: dict[int, float] = {}
        """By last node of a context: the time of ctxtui's last request that kept its cache warm (Unix seconds)."""
        self._reads: set[str] = set()
        self._writes = WriteReports()

    def add_call(self, call: Call) -> CachedInput:
        """Add the next call of the session; returns its cached input."""
        sending = self._sendings.get(call.thread)
        if sending is None:
            sending = self._sendings[call.thread] = ResentTracker(self._book, self._running)
        resent, last, before = sending.add_call(call), self._last.get(call.thread), self._reported.get(call.thread)
        cached = CachedInput(resent=resent)
        if last is not None:
            life = self._life[call.thread] = max(self._life.get(call.thread, 0.0), entry_lifetime(last))
            has_report = call.usage is not None and (call.usage.has_cache or self._rules(call).mechanism.holds_one)
            if before is not None and has_report:
                cached = self._make_input(call, resent, last, before, life)
        self._last[call.thread] = call
        if call.keeps_warm and call.usage is not None and call.started is not None:
            self._kept_warm[call.sent_head] = call.started
        if call.usage is not None:
            self._reported[call.thread] = call
            self._writes.add(call)
            if call.usage.cache_read:
                self._reads.add(call.model)
        return cached

    def _make_input(self, call: Call, resent: Resent, last: Call, before: Call, life: float) -> CachedInput:
        rules, usage_before = self._rules(call), before.usage
        assert usage_before is not None
        pause = call.started - last.started if call.started is not None and last.started is not None else None
        inferred = resent.prefix_tokens if call.usage is not None and not call.usage.has_cache else None
        if inferred is not None:
            cached = usage_before.input
        else:
            cached = self._cached_tokens(before, usage_before, call, resent, rules) if usage_before.has_cache else 0
        expected, lifetime = min(cached, resent.tokens), cache_lifetime(rules, life)
        if rules.mechanism.keeps_every_prefix:
            expected = rules.reported_read(expected, call.usage.input if call.usage else expected)
        late = pause - lifetime if pause is not None else None
        if late is not None and last.started is not None:
            late -= max(0.0, self._kept_warm.get(last.sent_head, 0.0) - last.started)
        late = late if late is not None and late > 0 else None
        return CachedInput(
            resent=resent,
            before=before,
            cached=cached,
            expected=expected,
            promised=bool(usage_before.cache_write) or call.provider == "anthropic",
            cause=cause_in_record(self._book.session.tree, before, call, resent, late, rules),
            pause=pause,
            life=lifetime,
            inferred=inferred,
        )

    def _cached_tokens(self, before: Call, usage_before: Usage, call: Call, resent: Resent, rules: CacheRules) -> int:
        if usage_before.cache_write or call.provider == "anthropic" or rules.mechanism.writes_at_markers:
            return self._writes.cached_after(before, rules)
        assert call.usage is not None
        proven = usage_before.cache_read or call.usage.cache_read or call.model in self._reads
        return usage_before.input if proven or (rules.is_known and resent.changed) else 0
