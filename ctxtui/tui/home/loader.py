"""Background threads of Home that list, watch and read sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Event, Lock
from typing import Any, Final

from msgspec.structs import replace
from textual.message import Message
from textual.screen import Screen

from ctxtui.services.library.library import SessionLibrary
from ctxtui.views.model.session_summary import SessionSummary

BATCH_SECONDS: Final = 0.15
"""Minimum seconds between two batches."""
MAX_SINGLE_LOOKUPS: Final = 8
"""For more sessions than this, cached figures are fetched in one query."""


class SessionsListed(Message):
    """The sessions that exist now. `trouble` is why those in the database are missing, or ""."""

    def __init__(self, sessions: Sequence[SessionSummary], trouble: str = "") -> None:
        super().__init__()
        self.sessions = sessions
        self.trouble = trouble


class SessionsChanged(SessionsListed):
    """Sessions whose files changed, or that began or ceased to be live."""


class SessionFigures(SessionsListed):
    """Sessions with new figures."""


class HeldRequestsChanged(Message):
    """Reasons of held requests by path of the recording."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__()
        self.held = reasons


class ReadingDone(Message):
    """The reading thread ended: the queue was empty, the screen closed, or reading failed."""


class ReadingQueue:
    """The sessions still to be read.

    The screen adds them; iterating, in a worker thread, removes them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._pending: dict[str, SessionSummary] = {}
        self.front: tuple[str, ...] = ()
        """Keys of the sessions in view, which come first."""

    def add(self, sessions: Iterable[SessionSummary]) -> bool:
        """Add sessions to read; return whether the queue has any."""
        with self._lock:
            self._pending |= {session.key: replace(session, known=False) for session in sessions}
            return bool(self._pending)

    def list_waiting(self) -> list[SessionSummary]:
        """Return all queued sessions, those in `front` first."""
        with self._lock:
            front = [key for key in self.front if key in self._pending]
            return [self._pending[key] for key in dict.fromkeys([*front, *self._pending])]

    def remove(self, session: SessionSummary) -> None:
        """Remove a session that was read, unless it was added again because its file changed."""
        with self._lock:
            queued = self._pending.get(session.key)
            if queued is not None and (queued.size, queued.mtime) == (session.size, session.mtime):
                del self._pending[session.key]

    def __iter__(self) -> Iterator[SessionSummary]:
        while True:
            with self._lock:
                key = next((key for key in self.front if key in self._pending), next(iter(self._pending), None))
                if key is None:
                    return
                session = self._pending.pop(key)
            yield session


def post_figures(sessions: SessionLibrary, queue: ReadingQueue, stop: Event, post: Callable[[Message], object]) -> None:
    """Post the figures of queued sessions in batches; for a worker thread."""
    batch: list[SessionSummary] = []
    posted = 0.0
    for session in _read_sessions(sessions, queue, stop):
        batch.append(session)
        if time.monotonic() - posted > BATCH_SECONDS:
            post(SessionFigures(batch))
            batch, posted = [], time.monotonic()
    if batch:
        post(SessionFigures(batch))


def _read_sessions(sessions: SessionLibrary, queue: ReadingQueue, stop: Event) -> Iterator[SessionSummary]:
    waiting = queue.list_waiting()
    # Fetch all cached figures at once; for a few changed sessions, reading looks up each.
    for session in sessions.iter_cached(waiting) if len(waiting) > MAX_SINGLE_LOOKUPS else ():
        if stop.is_set():
            return
        queue.remove(session)
        yield session
    yield from sessions.figures(queue, stop)


TICK_SECONDS = 2.0
"""Seconds between checks of live sessions."""
MAX_LISTING_SECONDS = 30.0
"""Seconds after which all sessions are listed again even if no folder changed; longer if listing is slow."""
LISTING_PAUSE_FACTOR = 400.0
"""Pause after a listing, as a multiple of its processor time.

Many thousand files are listed rarely. During the pause only `request_listing` lists again; after it a changed folder
does; after twice the time (at least `MAX_LISTING_SECONDS`) it is done anyway.
"""


class SessionWatcher:
    """Threads that find and read sessions for `screen`, and post the messages above.

    Every `TICK_SECONDS` it looks for held requests (`held_reasons`), then for changed folders, to list all sessions
    again; without a listing it looks for changed files in `watched`. After a listing, folders are left alone for a
    while (`LISTING_PAUSE_FACTOR`).
    """

    def __init__(
        self, screen: Screen[Any], source: SessionLibrary, held_reasons: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        self.queue = ReadingQueue()
        self.is_reading = False
        """Whether sessions are being read."""
        self.is_awake = True
        """Whether to check anything; False while the screen is covered."""
        self.watched: tuple[SessionSummary, ...] = ()
        """Sessions in view and live ones."""
        self._screen = screen
        self._source = source
        self._held_reasons, self._held_before = held_reasons, dict[str, str]()
        self._stop = Event()
        self._wake = Event()
        self._listing_requested = True
        self._next_if_changed = self._next_anyway = 0.0

    def start(self) -> None:
        self._screen.run_worker(self._loop, thread=True, group="look")

    def request_listing(self) -> None:
        """List all sessions at the next check (at once if awake), and read the database again."""
        self._listing_requested = True
        self._wake.set()

    def _loop(self) -> None:
        while not self._stop.is_set():
            if self.is_awake:
                self._check(time.monotonic())
            self._wake.wait(TICK_SECONDS)
            self._wake.clear()

    def _check(self, now: float) -> None:
        held_requests = dict(self._held_reasons())
        if held_requests != self._held_before:
            self._held_before = held_requests
            self._screen.post_message(HeldRequestsChanged(held_requests))
        if (
            self._listing_requested
            or now >= self._next_anyway
            or (now >= self._next_if_changed and self._source.folders_changed())
        ):
            requested, self._listing_requested = self._listing_requested, False
            start = time.thread_time()
            sessions = self._source.all_sessions() if requested else self._source.refresh()
            pause = LISTING_PAUSE_FACTOR * (time.thread_time() - start)
            self._next_if_changed, self._next_anyway = now + pause, now + max(MAX_LISTING_SECONDS, 2 * pause)
            trouble = self._source.trouble
            self._screen.post_message(SessionsListed(sessions, str(trouble) if trouble is not None else ""))
        elif changed := self._source.find_changed(self.watched):
            self._screen.post_message(SessionsChanged(changed))

    def read(self, sessions: Iterable[SessionSummary]) -> None:
        """Read these sessions, too."""
        if self.queue.add(sessions) and not self.is_reading:
            self.is_reading = True
            self._screen.run_worker(self._read_queue, thread=True, group="figures")

    def _read_queue(self) -> None:
        try:
            post_figures(self._source, self.queue, self._stop, self._screen.post_message)
        finally:
            self._screen.post_message(ReadingDone())

    def finish_reading(self) -> None:
        """The reading thread ended: read what was added just before that."""
        self.is_reading = False
        self.read(())

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()
