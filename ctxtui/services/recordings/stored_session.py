"""A stored session that is open: followed while a chat or a run in another process goes on with it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ctxtui.agent.conversation import resume
from ctxtui.agent.replay import OPENED, Replay
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, CallSeen, Event, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.services.recordings.file_tail import FileStamp, stamp_of
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.store.leases import host_of
from ctxtui.store.sessions.stored_state import StoredSnapshot, read_if_changed
from ctxtui.wire.grammar import ANTHROPIC

_EVERY: Final = 0.2
"""Seconds between two looks at a database that is written to."""
_SHARE: Final = 5.0
"""Times as long as reading took, nobody reads again."""


class StoredSession(Loaded):
    """The session `id_` of the database `path`, as it is now. Raises `NotFound`, `CtxtuiError`."""

    def __init__(self, path: Path, id_: str) -> None:
        found = read_if_changed(path, id_)
        assert found is not None
        super().__init__(found.session, id_)
        self._path = path
        self._now = found
        self._threads = dict(found.session.threads)
        self._calls = dict(found.session.calls)
        self._happened = len(found.session.happenings)
        self._tips = {id_: thread.tip for id_, thread in found.session.threads.items()}
        self._stamps = self._stamped()
        self._due = 0.0
        found.session.fold(self._flying(found))

    @property
    def follows(self) -> bool:
        """It may go on at any time."""
        return True

    @property
    def hosted(self) -> bool:
        """Whether some process goes on with it now."""
        try:
            return host_of(self._path, self.name) is not None
        except CtxtuiError:
            return False  # nothing can be asked of the database: nobody is seen there

    def fetch(self) -> RecordingNews:
        """What was written since the last look. What cannot be read now is read later."""
        begun, stamps = time.monotonic(), self._stamped()
        if stamps == self._stamps or begun < self._due:
            return RecordingNews()
        self._due = begun + _EVERY
        try:
            found = read_if_changed(self._path, self.name, self.session.tree, self._now.state)
        except CtxtuiError:
            # Locked, or deleted: what is shown stays.
            return RecordingNews()
        self._stamps = stamps
        if found is None:
            return RecordingNews()
        self._now = found
        events = [*self._news(found.session), *self._flying(found)]
        self._due = max(self._due, begun + _SHARE * (time.monotonic() - begun))
        return RecordingNews(events)

    def _stamped(self) -> tuple[FileStamp, ...]:
        return tuple(map(stamp_of, (self._path, self._path.with_name(f"{self._path.name}-wal"))))

    def _news(self, now: Session) -> Iterable[Event]:
        """What is new in `now`, whose contexts are nodes of the same tree."""
        yield now.about
        for id_, thread in now.threads.items():
            if self._threads.get(id_) != thread:
                yield ThreadSeen(id_, thread.label, thread.parent)
        for id_, call in now.calls.items():
            if self._calls.get(id_) != call:
                yield CallSeen(call)
        yield from now.happenings[self._happened :]
        self._threads, self._calls, self._happened = dict(now.threads), dict(now.calls), len(now.happenings)

    def _flying(self, now: StoredSnapshot) -> list[Event]:
        """Where each context ends, with what it has grown by since its last call."""
        tips = {id_: thread.tip for id_, thread in now.session.threads.items()}
        for thread in dict.fromkeys(event.thread for event in now.pending):
            tips[thread] = _grown(now, thread, tips.get(thread, ROOT))
        moved = [TipMoved(id_, tip) for id_, tip in tips.items() if self._tips.get(id_) != tip]
        self._tips = tips
        return list(moved)


def _grown(now: StoredSnapshot, thread: str, tip: int) -> int:
    """The end of the context of `thread`, which its calls left at `tip`."""
    session = now.session
    calls = session.thread_calls(thread) or session.thread_calls(MAIN) or list(session.calls.values())
    spoken = [call.skeleton.dialect for call in calls if call.skeleton is not None]
    opened = [str(json.loads(event.data).get("dialect")) for event in now.pending if event.kind == OPENED]
    talk = resume(session.tree, tip, (spoken[-1:] or opened or [ANTHROPIC])[0], {})
    replay = Replay(talk, "", frozenset(session.calls), "")
    mine = [event for event in now.pending if event.thread == thread]
    # Where several hosts left something, the one that wrote last is seen.
    for event in mine:
        if event.host == mine[-1].host:
            replay.replay(event)
    return talk.head
