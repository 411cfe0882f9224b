"""Cached tokens after a call, also if its provider reports no writes (Copilot's chat API)."""

from __future__ import annotations

from typing import Final

from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call

_MIN_GROWTH: Final = 300
"""Tokens by which a read must exceed all earlier ones to count as growing."""


class WriteReports:
    """Whether reports contain cache writes, by provider and model.

    It is learnt from a session's calls in order. Where entries exist only at markers, a read can only grow if something
    was written. So if reads grow and no report ever had a write, a write of 0 is not a report.
    """

    def __init__(self) -> None:
        self._most_read: dict[tuple[str, str], int] = {}
        self._with_writes: set[tuple[str, str]] = set()
        self._without_writes: set[tuple[str, str]] = set()

    def add(self, call: Call) -> None:
        """Learn from the report of the session's next call."""
        usage, key = call.usage, (call.provider, call.model)
        if usage is None or not usage.has_cache or key in self._with_writes:
            return
        if usage.cache_write:
            self._with_writes.add(key)
            self._without_writes.discard(key)
            return
        if usage.cache_read > self._most_read.get(key, usage.cache_read) + _MIN_GROWTH:
            self._without_writes.add(key)
        self._most_read[key] = max(self._most_read.get(key, 0), usage.cache_read)

    def cached_after(self, call: Call, rules: CacheRules) -> int:
        """Tokens that `call` left in a cache with entries at markers.

        It is all of the input if reports lack writes.
        """
        usage, key = call.usage, (call.provider, call.model)
        if usage is None:
            return 0
        if key in self._without_writes or not (rules.reports_writes or key in self._with_writes):
            return usage.input
        return usage.cache_read + usage.cache_write
