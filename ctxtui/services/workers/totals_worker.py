"""Computes stats and the ledger of tools over all sessions from cached figures."""

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
from ctxtui.services.library.totals.summary_cache import cached_by_key, read_usages, reread_reason
from ctxtui.services.workers.summary_worker import summarize_stored
from ctxtui.views.model.call_owners import is_own_session
from ctxtui.views.model.session_summary import SessionSummary

KnownSessions = MutableMapping[SessionSummary, SessionSummary]
"""Summaries with figures, by listed session; reused between requests."""


def load_known(
    settings: Settings, cwd: Path, cache: KnownSessions
) -> tuple[list[SessionSummary], list[SessionSummary]]:
    """Load the sessions with cached figures, oldest first, and list the files not read yet.

    Samples are left out. Sessions that are only in the database are read if their figures are not cached.
    """
    library = SessionLibrary(settings, cwd)
    sessions = [session for session in library.join_stored(library.list_fast()) if is_own_session(session)]
    with_figures = {session: cache[session] for session in sessions if session in cache}
    cached = library.load_cached(session for session in sessions if session not in with_figures)
    with_figures |= {session: cached[session.key] for session in sessions if session.key in cached}
    unread = []
    for session in sessions:
        if session in with_figures:
            continue
        if session.path:
            unread.append(session)
        else:
            with suppress(CtxtuiError):  # Home shows the error
                with_figures[session] = summarize_stored(session, settings)
    cache.clear()
    cache.update(with_figures)
    return sorted(with_figures.values(), key=lambda session: session.mtime), unread


_SLICE_SECONDS: Final = 1.5


class StatsSoFar(NamedTuple):
    """The stats of the sessions read so far.

    `left` is the number of sessions not fully read; of those, `unread` are without even their usage.
    """

    stats: Stats
    left: int
    unread: int = 0
    reread_reason: str = ""


class StatsMaker:
    """Makes stats of the sessions read so far, and reads more at each call; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd
        self._known: dict[SessionSummary, SessionSummary] = {}
        self._usage_by_session: dict[SessionSummary, SessionSummary] = {}
        self._reread_reason: str | None = None

    def make(self, by: str, age: float = 0.0, change: str = "") -> StatsSoFar:
        """Make the current stats, with rows by one of `stats.WAYS`.

        - `age`: only calls of the last so many seconds (0: all).
        - `change`: as the user typed it, divides them into before and after.
        """
        settings, usage_by_session = self._settings, self._usage_by_session
        sessions, unfinished = load_known(settings, self._cwd, self._known)
        if unfinished and self._reread_reason is None:
            # Only the first pass can tell: reading updates the cache.
            self._reread_reason = reread_reason(unfinished, settings)
        _read_usage(unfinished, usage_by_session, settings)
        sessions += [usage_by_session[session] for session in unfinished if session in usage_by_session]
        sessions.sort(key=lambda session: session.mtime)
        unread = sum(session not in usage_by_session for session in unfinished)
        now, changed = time.time(), parse_change(change) if change else None
        since = now - age if age else 0.0
        quotas = [(client_quotas.SOURCE, report) for report in client_quotas.read_reports(settings)]
        stats = make_stats(sessions, now, by=by, since=since, changed=changed, list_changes=True, quota_reports=quotas)
        return StatsSoFar(stats, len(unfinished), unread, (self._reread_reason or "") if unfinished else "")


def _read_usage(
    unfinished: list[SessionSummary], usage_by_session: dict[SessionSummary, SessionSummary], settings: Settings
) -> None:
    unread = [session for session in unfinished if session not in usage_by_session]
    cached = cached_by_key(unread, settings, usage=True)
    usage_by_session |= {session: cached[session.key] for session in unread if session.key in cached}
    deadline = time.monotonic() + _SLICE_SECONDS
    unread = [session for session in reversed(unread) if session not in usage_by_session]
    with closing(read_usages(unread, settings)) as summaries:
        for session, summary in zip(unread, summaries, strict=False):
            usage_by_session[session] = summary
            if time.monotonic() >= deadline:
                break


class LedgerSoFar(NamedTuple):
    """The ledger of the sessions read so far, and the number of unread ones."""

    ledger: ToolsLedger
    left: int


class LedgerMaker:
    """Makes the ledger of tools from cached figures; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd
        self._known: dict[SessionSummary, SessionSummary] = {}

    def make(self) -> LedgerSoFar:
        sessions, unfinished = load_known(self._settings, self._cwd, self._known)
        return LedgerSoFar(tools_ledger(sessions), len(unfinished))
