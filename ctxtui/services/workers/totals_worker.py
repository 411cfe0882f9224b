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
from ctxtui.services.library.totals.stat_changes import parse_change
from ctxtui.services.library.totals.stats import make_stats
from ctxtui.services.library.totals.summary_memory import cached_by_key, read_usages, reread_reason
from ctxtui.services.workers.summary_worker import summarize_stored
from ctxtui.views.model.call_owners import is_own_session
from ctxtui.views.model.session_summary import SessionSummary

KnownSessions = MutableMapping[SessionSummary, SessionSummary]
"""Sessions with figures, by the session as listed; reused between requests."""


def load_known(
    settings: Settings, cwd: Path, cache: KnownSessions
) -> tuple[list[SessionSummary], list[SessionSummary]]:
    """Load the sessions with cached figures, and list those not read yet.

    The former are ordered by time, oldest first; samples are left out.
    """
    library = SessionLibrary(settings, cwd)
    every = [session for session in library.stored(library.glimpses()) if is_own_session(session)]
    figured = {session: cache[session] for session in every if session in cache}
    cached = library.remembered(session for session in every if session not in figured)
    figured |= {session: cached[session.key] for session in every if session.key in cached}
    left = []
    for session in every:
        if session in figured:
            continue
        if session.path:
            left.append(session)
        else:
            with suppress(CtxtuiError):  # Home shows the error
                figured[session] = summarize_stored(session, settings)
    cache.clear()
    cache.update(figured)
    return sorted(figured.values(), key=lambda one: one.mtime), left


_SLICE_SECONDS: Final = 1.5
"""Seconds of reading usage before the next result."""


class StatsSoFar(NamedTuple):
    """The stats of the sessions read so far.

    `left` sessions are not fully read (only their usage, or nothing); nothing is known of `unread` ones.
    `reread_reason` says in a few words why some are read again.
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
        sessions, left = load_known(settings, self._cwd, self._kept)
        if left and self._why is None:
            # Only the first pass can tell: reading updates the cache.
            self._why = reread_reason(left, settings)
        _read_usage(left, used, settings)
        sessions += [used[session] for session in left if session in used]
        sessions.sort(key=lambda one: one.mtime)
        unread = sum(session not in used for session in left)
        at, changed = time.time(), parse_change(change) if change else None
        since = at - age if age else 0.0
        quotas = [(client_quotas.SOURCE, session) for session in client_quotas.read_reports(settings)]
        stats = make_stats(sessions, at, by=by, since=since, changed=changed, seen_changes=True, told=quotas)
        return StatsSoFar(stats, len(left), unread, (self._why or "") if left else "")


def _read_usage(left: list[SessionSummary], used: dict[SessionSummary, SessionSummary], settings: Settings) -> None:
    """Read the usage of some of the sessions in `left` into `used`."""
    unread = [session for session in left if session not in used]
    cached = cached_by_key(unread, settings, usage=True)
    used |= {session: cached[session.key] for session in unread if session.key in cached}
    until = time.monotonic() + _SLICE_SECONDS
    unread = [session for session in reversed(unread) if session not in used]
    with closing(read_usages(unread, settings)) as passing:
        for session, summary in zip(unread, passing, strict=False):
            used[session] = summary
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
        sessions, left = load_known(self._settings, self._cwd, self._kept)
        return LedgerSoFar(tools_ledger(sessions), len(left))
