"""Home's sessions: file listings arrive first, figures one session at a time, totals last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.views.home.session_list import Entry, ListOrder, SessionsSought, arrange, matches
from ctxtui.views.home.totals import Totals, totals
from ctxtui.views.model.call_owners import CallOwners, is_own_session
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary

RELOAD_INTERVAL: Final = 20.0
"""Minimum seconds between two readings of a growing session."""

FILE_FIELDS: Final = ("mtime", "size", "live", "stored", "own_title", "tags", "archived", "subscription")
"""Fields of a summary that come from the listing, not from reading the session."""


class Collection(Struct):
    """All sessions of Home by key.

    `directory` is where ctxtui was started, `name` its form on the screen.
    """

    directory: str = ""
    name: str = ""
    archived: bool = False
    sought: tuple[SessionsSought, ...] = ()
    held_reasons: Mapping[str, str] = field(default_factory=dict)
    """Why a session's request is held, by the path of its recording."""
    sessions: dict[str, SessionSummary] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    _read_at: dict[str, float] = field(default_factory=dict)
    _owners: CallOwners = field(default_factory=CallOwners)

    def update(self, summaries: Iterable[SessionSummary]) -> bool:
        """Replace the list of sessions; return whether anything changed.

        Known figures are kept, also those of a changed file until new ones come.
        """
        merged = {summary.key: self._merge(summary) for summary in summaries}
        if merged == self.sessions:
            return False
        for key in self.sessions.keys() - merged.keys():
            self._owners.drop(key)
            self.stale.discard(key)
        self.sessions = merged
        return True

    def _merge(self, summary: SessionSummary) -> SessionSummary:
        old = self.sessions.get(summary.key)
        if old is None:
            return summary
        if not old.known:
            return summary if summary.cwd or not old.cwd else replace(summary, cwd=old.cwd, group=old.group)
        untitled = old.own_title and not summary.own_title
        if (old.size, old.mtime) != (summary.size, summary.mtime) or untitled:
            self.stale.add(summary.key)
        if untitled:
            self._read_at.pop(summary.key, None)
        file_fields = {name: getattr(summary, name) for name in FILE_FIELDS}
        return replace(old, title=summary.own_title or old.title, **file_fields)

    def mark_changed(self, summary: SessionSummary) -> None:
        """Handle a change of one session's file, or the end of its live state."""
        if summary.key in self.sessions:
            self.sessions[summary.key] = self._merge(replace(summary, known=False))

    def add_figures(self, summary: SessionSummary, at: float = 0.0) -> None:
        """Store the figures of one session, computed at `at` (seconds of any clock)."""
        now = self.sessions.get(summary.key)
        if now is None:
            return
        self._read_at[summary.key] = at
        if (now.size, now.mtime) == (summary.size, summary.mtime):
            self.stale.discard(summary.key)
        # There may be a million calls; only `CallOwners` keeps them.
        own_calls = [call for call in summary.spent if not call.copied]
        sent, read = sum(call.input for call in own_calls), sum(call.read for call in own_calls)
        self.sessions[summary.key] = replace(
            summary, mtime=now.mtime, size=now.size, live=now.live, spent=(), sent_tokens=sent, read_tokens=read
        )
        self._count_calls(summary)

    def _count_calls(self, summary: SessionSummary) -> None:
        if is_own_session(summary):
            self._owners.put(summary.key, summary.spent)

    def totals(self, words: str = "") -> Totals:
        counted = [summary for summary in self.sessions.values() if is_own_session(summary)]
        filter_words = words.casefold().split()
        if not filter_words:
            return totals(self._owners.total, len(counted))
        keys = {summary.key for summary in counted if matches(summary, filter_words)}
        return totals(self._owners.sums_of(keys), len(keys), len(counted))

    def progress(self) -> tuple[int, int]:
        return sum(summary.known for summary in self.sessions.values()), len(self.sessions)

    def keys_to_read(self, now: float) -> list[str]:
        """Keys of sessions without figures, then of stale ones.

        A growing session is read again after `RELOAD_INTERVAL` seconds at the earliest.
        """
        unread = [key for key, summary in self.sessions.items() if not summary.known]
        return unread + [key for key in self.stale if now - self._read_at.get(key, -RELOAD_INTERVAL) >= RELOAD_INTERVAL]

    def entries(self, order: ListOrder) -> tuple[Entry, ...]:
        listed = (
            self._with_hold(summary) for summary in self.sessions.values() if self.archived or not summary.archived
        )
        has_own = any(summary.group != SAMPLES for summary in self.sessions.values())
        return arrange(listed, order, self.directory, self.name, () if has_own else self.sought)

    def _with_hold(self, summary: SessionSummary) -> SessionSummary:
        reason = self.held_reasons.get(summary.path, "")
        return replace(summary, held=reason, live=True) if reason else summary
