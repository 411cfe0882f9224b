"""The sessions that Home knows: glimpses come and go, figures arrive one by one, totals follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.views.home.session_list import Entry, ListOrder, SessionsSought, arrange, matches
from ctxtui.views.home.totals import Totals, totals
from ctxtui.views.model.call_owners import CallOwners, counts
from ctxtui.views.model.session_summary import SessionSummary

AGAIN: Final = 20.0
"""Seconds between two readings of a session that grows."""

_OF_THE_FILE: Final = ("mtime", "size", "live", "stored", "own_title", "tags", "archived", "subscription")


class Collection(Struct):
    """All sessions by key. `directory` is where ctxtui was started, `name` how that is written on screen."""

    directory: str = ""
    name: str = ""
    archived: bool = False
    """Whether archived sessions are listed."""
    sought: tuple[SessionsSought, ...] = ()
    """Where sessions are looked for."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Why a request of a session waits for the user, by the path of its recording."""
    sessions: dict[str, SessionSummary] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    """Sessions whose file changed since their figures were made."""
    _read_at: dict[str, float] = field(default_factory=dict)
    _owners: CallOwners = field(default_factory=CallOwners)

    def see(self, glimpses: Iterable[SessionSummary]) -> bool:
        """Take what is there now; sessions that are not among `glimpses` are gone. Figures known before are kept,
        those of a file that changed until new ones come. Whether anything changed."""
        seen = {one.key: self._merged(one) for one in glimpses}
        if seen == self.sessions:
            return False
        for key in self.sessions.keys() - seen.keys():
            self._owners.drop(key)
            self.stale.discard(key)
        for key, one in seen.items():
            if one.known and one.spent and one != self.sessions.get(key):
                self._count(one)
        self.sessions = seen
        return True

    def _merged(self, one: SessionSummary) -> SessionSummary:
        old = self.sessions.get(one.key)
        if old is None or one.known:
            return one
        if not old.known:
            return one if one.cwd or not old.cwd else replace(one, cwd=old.cwd, group=old.group)
        untitled = old.own_title and not one.own_title
        if (old.size, old.mtime) != (one.size, one.mtime) or untitled:
            self.stale.add(one.key)
        if untitled:
            self._read_at.pop(one.key, None)
        kept = {name: getattr(one, name) for name in _OF_THE_FILE}
        return replace(old, title=one.own_title or old.title, **kept)

    def touch(self, one: SessionSummary) -> None:
        """The file of one session changed, or it is no longer live."""
        if one.key in self.sessions:
            self.sessions[one.key] = self._merged(replace(one, known=False))

    def put(self, filled: SessionSummary, at: float = 0.0) -> None:
        """Figures of one session, there at `at` (seconds of any clock); those of a session that is gone are dropped."""
        now = self.sessions.get(filled.key)
        if now is None:
            return
        self._read_at[filled.key] = at
        if (now.size, now.mtime) == (filled.size, filled.mtime):
            self.stale.discard(filled.key)
        # Calls are kept by their owners alone: there may be a million of them.
        own = [call for call in filled.spent if not call.copied]
        sent, read = sum(call.input for call in own), sum(call.read for call in own)
        self.sessions[filled.key] = replace(
            filled, mtime=now.mtime, size=now.size, live=now.live, spent=(), sent_tokens=sent, read_tokens=read
        )
        self._count(filled)

    def _count(self, one: SessionSummary) -> None:
        if counts(one):
            self._owners.put(one.key, one.spent)

    def totals(self, words: str = "") -> Totals:
        """Sums over the user's own sessions, those that match the filter `words`."""
        own = [one for one in self.sessions.values() if counts(one)]
        wanted = words.casefold().split()
        if not wanted:
            return totals(self._owners.total, len(own))
        keys = {one.key for one in own if matches(one, wanted)}
        return totals(self._owners.among(keys), len(keys), len(own))

    def progress(self) -> tuple[int, int]:
        """How many sessions have figures, of how many."""
        return sum(one.known for one in self.sessions.values()), len(self.sessions)

    def wanting(self, now: float) -> list[str]:
        """Keys of the sessions that have no figures yet, then of those whose figures are stale; a session that is
        being written is not read again before `AGAIN` seconds have passed."""
        new = [key for key, one in self.sessions.items() if not one.known]
        return new + [key for key in self.stale if now - self._read_at.get(key, -AGAIN) >= AGAIN]

    def entries(self, wanted: ListOrder) -> tuple[Entry, ...]:
        """The list as shown."""
        shown = (self._as_held(one) for one in self.sessions.values() if self.archived or not one.archived)
        return arrange(shown, wanted, self.directory, self.name, self.sought)

    def _as_held(self, one: SessionSummary) -> SessionSummary:
        """Its program waits for the user, so that it runs, whenever it last wrote."""
        why = self.held.get(one.path, "") if self.held else ""
        return replace(one, held=why, live=True) if why else one
