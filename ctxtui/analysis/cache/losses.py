"""What of a call's input the cache had held and did not give back: the rule by which a call counts as a miss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss_cause import CHANGES, NO_CAUSE, Cause, in_record
from ctxtui.analysis.money.resent import Resent, Sending
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage

SHORTEST_CACHED: Final = 1_024
"""Below this many tokens in the cache there is nothing to miss: most models' least cacheable prefix (facts §2)."""
_MINUTE: Final = 60.0
_LONGEST: Final = 720 * _MINUTE
"""Seconds that an entry is promised to live at most."""


def lifetime(call: Call) -> float:
    """Seconds that the entries `call` wrote or read are promised to live, judged by what it wrote (facts §2, §4)."""
    usage = call.usage
    if usage and usage.write_12h:
        return _LONGEST
    if usage and usage.write_1h:
        return 60 * _MINUTE
    if usage and usage.write_30m:
        return 30 * _MINUTE
    return 5 * _MINUTE


def lived(rules: CacheRules, longest: float) -> float:
    """Seconds that what calls left in the cache lives: as long as the entry written to live longest (`longest`), or as
    the provider keeps prefixes of its own accord."""
    if rules.mechanism.keeps_every_prefix and rules.retention:
        return rules.retention
    return longest


def warm_until(rules: CacheRules, at: float | None) -> float:
    """The moment (Unix seconds) at which nothing that a call used `at` that time can be cached any more, whatever its
    thread wrote; without a time there is no such moment."""
    return math.inf if at is None else at + lived(rules, _LONGEST)


class CacheDemand(Struct, frozen=True, kw_only=True):
    """What one call could have read from the cache.

    `before` is the last call of its thread that has a report (None: none), and `held` tokens are what that left in the
    cache; `expected` of them were sent again, and would have been read. `promised`: the client writes its entries
    itself, so that each must be there. `cause` is what the recording holds about why they are not. `pause` is the time
    in seconds since the call before began (None: not recorded), `life` how long what its thread had left lives.
    `inferred` is what was read where no report tells it (None: a report does).
    """

    resent: Resent
    before: Call | None = None
    held: int = 0
    expected: int = 0
    promised: bool = False
    cause: Cause = NO_CAUSE
    pause: float | None = None
    life: float = 0.0
    inferred: int | None = None

    def read(self, usage: Usage) -> int:
        """Tokens that were read from the cache, as `usage` reports or else as they are inferred."""
        return usage.cache_read if self.inferred is None else self.inferred

    def lost(self, read: int) -> int:
        """Tokens that the cache held, that were sent again, and that are missing from `read`; 0 for a hit.

        Where the client writes its entries every loss counts. A cache that a provider keeps of its own accord promises
        nothing: there a loss counts where the request is another one, or of more than half.
        """
        lost = self.expected - read
        if lost < SHORTEST_CACHED:
            return 0
        return lost if self.promised or self.cause.name in CHANGES or read * 2 <= self.held else 0


class CacheDemands:
    """The calls of a session in order, and what each could have read. `rules` gives how a call is cached, `running` the
    running totals of a model, which must reach as far as the calls."""

    def __init__(
        self, book: Book, rules: Callable[[Call], CacheRules], running: Callable[[str], RunningTotals]
    ) -> None:
        self._book = book
        self._rules = rules
        self._running = running
        self._sendings: dict[str, Sending] = {}
        self._last: dict[str, Call] = {}
        self._reported: dict[str, Call] = {}
        self._life: dict[str, float] = {}
        self._reads: set[str] = set()

    def take(self, call: Call) -> CacheDemand:
        """The next call of the session."""
        sending = self._sendings.get(call.thread)
        if sending is None:
            sending = self._sendings[call.thread] = Sending(self._book, self._running)
        resent, last, before = sending.enter(call), self._last.get(call.thread), self._reported.get(call.thread)
        found = CacheDemand(resent=resent)
        if last is not None:
            life = self._life[call.thread] = max(self._life.get(call.thread, 0.0), lifetime(last))
            told = call.usage is not None and (call.usage.has_cache or self._rules(call).mechanism.holds_one)
            if before is not None and told:
                found = self._demand(call, resent, last, before, life)
        self._last[call.thread] = call
        if call.usage is not None:
            self._reported[call.thread] = call
            if call.usage.cache_read:
                self._reads.add(call.model)
        return found

    def _demand(self, call: Call, resent: Resent, last: Call, before: Call, life: float) -> CacheDemand:
        rules, was = self._rules(call), before.usage
        assert was is not None
        pause = call.started - last.started if call.started is not None and last.started is not None else None
        inferred = resent.kept if call.usage is not None and not call.usage.has_cache else None
        held = was.input if inferred is not None else self._held(was, call, resent, rules) if was.has_cache else 0
        expected, lives = min(held, resent.tokens), lived(rules, life)
        if rules.mechanism.keeps_every_prefix:
            expected = rules.reported_read(expected, call.usage.input if call.usage else expected)
        late = pause - lives if pause is not None and pause > lives else None
        return CacheDemand(
            resent=resent,
            before=before,
            held=held,
            expected=expected,
            promised=bool(was.cache_write) or call.provider == "anthropic",
            cause=in_record(self._book.session.tree, before, call, resent, late, rules),
            pause=pause,
            life=lives,
            inferred=inferred,
        )

    def _held(self, was: Usage, call: Call, resent: Resent, rules: CacheRules) -> int:
        """Tokens that a call with usage `was` left in the cache: what it read and wrote, where the provider reports
        writes; elsewhere all of its input, once anything was read, or where what was sent again had changed and the
        provider is known to keep every prefix."""
        held = was.cache_read + was.cache_write
        if was.cache_write or call.provider == "anthropic" or rules.mechanism.writes_at_markers:
            return held
        assert call.usage is not None
        proven = was.cache_read or call.usage.cache_read or call.model in self._reads
        return was.input if proven or (rules.is_known and resent.changed) else 0
