"""A stored session that is followed while a chat or a run in another process continues it."""

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
from ctxtui.live_database import LOG
from ctxtui.services.recordings.file_tail import FileStamp, file_stamp
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.store.leases import host_of
from ctxtui.store.sessions.stored_state import StoredSnapshot, read_if_changed
from ctxtui.wire.grammar import ANTHROPIC

_READ_SECONDS: Final = 0.2
"""Minimum seconds from the begin of a read of a changing database to the next one."""
_PAUSE_FACTOR: Final = 5.0
"""Minimum time from the begin of a read to the next one, as a multiple of the reading time."""


class StoredSession(Loaded):
    """The session `id_` in the database `path`. Raises `CtxtuiError`."""

    def __init__(self, path: Path, id_: str) -> None:
        stored = read_if_changed(path, id_)
        assert stored is not None
        super().__init__(stored.session, id_)
        self._path = path
        self._snapshot = stored
        self._threads = dict(stored.session.threads)
        self._calls = dict(stored.session.calls)
        self._event_count = len(stored.session.happenings)
        self._tips = {id_: thread.tip for id_, thread in stored.session.threads.items()}
        self._stamps = self._file_stamps()
        self._due = 0.0
        stored.session.fold(self._tip_events(stored))

    @property
    def follows(self) -> bool:
        return True

    @property
    def is_hosted(self) -> bool:
        """Whether a process hosts the session now; False if the database cannot be queried."""
        try:
            return host_of(self._path, self.name) is not None
        except CtxtuiError:
            return False

    def fetch(self) -> RecordingNews:
        """Read what was written since the last `fetch`. A `CtxtuiError` is ignored: a later `fetch` tries again."""
        begun, stamps = time.monotonic(), self._file_stamps()
        if stamps == self._stamps or begun < self._due:
            return RecordingNews()
        self._due = begun + _READ_SECONDS
        try:
            stored = read_if_changed(self._path, self.name, self.session.tree, self._snapshot.state)
        except CtxtuiError:
            # Locked or deleted: keep the session.
            return RecordingNews()
        self._stamps = stamps
        if stored is None:
            return RecordingNews()
        self._snapshot = stored
        events = [*self._diff_events(stored.session), *self._tip_events(stored)]
        self._due = max(self._due, begun + _PAUSE_FACTOR * (time.monotonic() - begun))
        return RecordingNews(events)

    def _file_stamps(self) -> tuple[FileStamp, ...]:
        return tuple(map(file_stamp, (self._path, self._path.with_name(self._path.name + LOG))))

    def _diff_events(self, session: Session) -> Iterable[Event]:
        """The events that lead to `session`, whose contexts are nodes of the same tree."""
        yield session.about
        for id_, thread in session.threads.items():
            if self._threads.get(id_) != thread:
                yield ThreadSeen(id_, thread.label, thread.parent)
        for id_, call in session.calls.items():
            if self._calls.get(id_) != call:
                yield CallSeen(call)
        yield from session.happenings[self._event_count :]
        self._threads, self._calls = dict(session.threads), dict(session.calls)
        self._event_count = len(session.happenings)

    def _tip_events(self, snapshot: StoredSnapshot) -> list[Event]:
        """`TipMoved` events for threads whose tip changed, by blocks after the last call, too."""
        tips = {id_: thread.tip for id_, thread in snapshot.session.threads.items()}
        for thread in dict.fromkeys(event.thread for event in snapshot.pending):
            tips[thread] = _tip_with_events(snapshot, thread, tips.get(thread, ROOT))
        moved = [TipMoved(id_, tip) for id_, tip in tips.items() if self._tips.get(id_) != tip]
        self._tips = tips
        return list(moved)


def _tip_with_events(snapshot: StoredSnapshot, thread: str, tip: int) -> int:
    """The tip of `thread` with the blocks added after `tip`, the end of its last call."""
    session = snapshot.session
    calls = session.thread_calls(thread) or session.thread_calls(MAIN) or list(session.calls.values())
    dialects = [call.skeleton.dialect for call in calls if call.skeleton is not None]
    opened = [str(json.loads(event.data).get("dialect")) for event in snapshot.pending if event.kind == OPENED]
    conversation = resume(session.tree, tip, (dialects[-1:] or opened or [ANTHROPIC])[0], {})
    replay = Replay(conversation, "", frozenset(session.calls), "")
    events = [event for event in snapshot.pending if event.thread == thread]
    # If several hosts left events, use those of the last writer.
    for event in events:
        if event.host == events[-1].host:
            replay.replay(event)
    return conversation.head
