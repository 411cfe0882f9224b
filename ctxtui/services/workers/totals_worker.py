"""Stats and the ledger of tools over all sessions, made of cached figures."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.analysis.money.usage_stats import Stats
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.tool_ledger import ToolsLedger, tools_ledger
from ctxtui.services.library.totals import client_quotas
from ctxtui.services.library.totals.stat_changes import change_of
from ctxtui.services.library.totals.stats import stats_of
from ctxtui.services.library.totals.summary_memory import remembered, usage_pass, why_anew
from ctxtui.services.workers.summary_worker import summarize_stored
from ctxtui.views.model.call_owners import is_own_session
from ctxtui.views.model.session_summary import SessionSummary

KnownSessions = MutableMapping[SessionSummary, SessionSummary]
"""Sessions with figures, by the session as listed; reused between requests."""


def load_known(settings: Settings, cwd: Path, kept: KnownSessions) -> tuple[list[SessionSummary], list[SessionSummary]]:
    """The sessions with cached figures, oldest first and without samples, and those not read yet."""
    shelf = SessionLibrary(settings, cwd)
    every = [one for one in shelf.stored(shelf.glimpses()) if is_own_session(one)]
    known = {one: kept[one] for one in every if one in kept}
    found = shelf.remembered(one for one in every if one not in known)
    known |= {one: found[one.key] for one in every if one.key in found}
    left = []
    for one in every:
        if one in known:
            continue
        if one.path:
            left.append(one)
        else:
            with suppress(CtxtuiError):  # Home shows the error
                known[one] = summarize_stored(one, settings)
    kept.clear()
    kept.update(known)
    return sorted(known.values(), key=lambda one: one.mtime), left


_SLICE_SECONDS: Final = 1.5
"""Seconds of reading usage before the next result."""


class StatsSoFar(NamedTuple):
    """The stats of the sessions read so far.

    `left` sessions are not fully read (only their usage, or nothing); of `unread` ones nothing is known. `anew` says in
    a few words why some are read again.
    """

    stats: Stats
    left: int
    unread: int = 0
    reread_reason: str = ""


class StatsMaker:
    """Makes the stats; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd
        self._kept: dict[SessionSummary, SessionSummary] = {}
        self._used: dict[SessionSummary, SessionSummary] = {}
        self._why: str | None = None

    def make(self, by: str, age: float = 0.0, change: str = "") -> StatsSoFar:
        """Make the current stats, with rows by one of `stats.WAYS`.

        `age` limits them to calls of the last seconds (0: all); `change`, in the user's words, divides them into before
        and after.
        """
        settings, used = self._settings, self._used
        known, left = load_known(settings, self._cwd, self._kept)
        if left and self._why is None:
            # Only the first pass can tell: reading updates the cache.
            self._why = why_anew(left, settings)
        _read_usage(left, used, settings)
        known += [used[one] for one in left if one in used]
        known.sort(key=lambda one: one.mtime)
        unread = sum(one not in used for one in left)
        at, changed = time.time(), change_of(change) if change else None
        since = at - age if age else 0.0
        told = [(client_quotas.SOURCE, one) for one in client_quotas.kept(settings)]
        found = stats_of(known, at, by=by, since=since, changed=changed, seen_changes=True, told=told)
        return StatsSoFar(found, len(left), unread, (self._why or "") if left else "")


def _read_usage(left: list[SessionSummary], used: dict[SessionSummary, SessionSummary], settings: Settings) -> None:
    """Read the usage of some of the sessions in `left` into `used`."""
    unread = [one for one in left if one not in used]
    found = remembered(unread, settings, usage=True)
    used |= {one: found[one.key] for one in unread if one.key in found}
    until = time.monotonic() + _SLICE_SECONDS
    unread = [one for one in reversed(unread) if one not in used]
    with closing(usage_pass(unread, settings)) as passing:
        for one, told in zip(unread, passing, strict=False):
            used[one] = told
            if time.monotonic() >= until:
                break


class LedgerSoFar(NamedTuple):
    """The ledger of the sessions read so far, and the number of unread ones."""

    ledger: ToolsLedger
    left: int


class LedgerMaker:
    """Makes the ledger; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd
        self._kept: dict[SessionSummary, SessionSummary] = {}

    def make(self) -> LedgerSoFar:
        """Make the current ledger."""
        known, left = load_known(self._settings, self._cwd, self._kept)
        return LedgerSoFar(tools_ledger(known), len(left))
