"""The misses of an open session, worked out beside everything else, a few calls at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.call_forecasts import CallForecasts
from ctxtui.analysis.cache.missed import Missed
from ctxtui.analysis.cache.misses import MissFinder
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.call import Call
from ctxtui.services.counting.books import cached_by

_AT_ONCE: Final = 512
"""Calls taken in between two looks at what there is, where they are waited for."""


class SessionMisses:
    """The misses of a session that may still grow. `found` is another list whenever there are others.

    Where a call was replaced, or the sizes of contexts are known better, all calls are looked at anew; what was found
    before stays until that has come as far.
    """

    def __init__(self, book: Book, running: Callable[[str], RunningTotals]) -> None:
        self._book = book
        self._running = running
        self._finder: MissFinder | None = None
        self._taken: list[Call] = []
        self._calls: tuple[int, list[Call]] | None = None
        """How many calls the session had, and those of them that can be looked at."""
        self._versions: dict[str, int] = {}
        self.found: Sequence[Missed] = ()

    def advance(self, limit: int) -> bool:
        """Take in up to `limit` calls, as far as they are counted; whether there was anything to do."""
        calls, anew = self._now()
        finder = self._finder
        if finder is None or anew or self._outdated():
            finder = self._begun()
        before = len(self._taken)
        for call in calls[before : before + limit]:
            if not self._running(call.model).counted(max(call.sent_head, call.response_head)):
                # It came in since everything there was had been counted.
                break
            self._versions[call.model] = self._running(call.model).version
            finder.take(call)
            self._taken.append(call)
        if len(self._taken) == len(calls) and list(self.found) != finder.found:
            self.found = tuple(finder.found)
            return True
        return len(self._taken) > before

    def forecasts(self) -> CallForecasts | None:
        """What the calls taken so far have taught about the next one."""
        return self._finder.forecasts if self._finder is not None else None

    def catch_up(self) -> None:
        """Take in all that can be, unless that were to be done anew."""
        if self._finder is not None and (self._now()[1] or self._outdated()):
            self._begun()
            return
        before = -1
        while before < len(self._taken):
            before = len(self._taken)
            self.advance(_AT_ONCE)

    def grew(self) -> None:
        """The session has other calls than before."""
        self._calls = None

    def _now(self) -> tuple[list[Call], bool]:
        """The calls that can be looked at, and whether one of those that were is another one now."""
        every = self._book.session.calls
        known, anew = self._calls, False
        if known is None or known[0] != len(every):
            calls = list(every.values())
            known = self._calls = len(calls), calls
            if calls and not calls[-1].usage:
                # It is under way: it would be looked at again.
                calls.pop()
            anew = calls[: len(self._taken)] != self._taken
        return known[1], anew

    def _outdated(self) -> bool:
        return any(self._running(model).version != version for model, version in list(self._versions.items()))

    def _begun(self) -> MissFinder:
        self._taken, self._versions = [], {}
        self._finder = MissFinder(self._book, cached_by(self._book), self._running, misses_alone=True)
        return self._finder
