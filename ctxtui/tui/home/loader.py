"""Reading sessions behind Home: what is on the screen first, in batches, so that no frame waits for it.

Looking and reading behind Home: what is there, what is new, in threads; the screen gets messages.
"""

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

BATCH: Final = 0.15
"""Seconds between two batches."""
MANY: Final = 8
"""Sessions from which the database is asked for all of them."""


class SessionsListed(Message):
    """The sessions that are there now; `trouble` says why those in the database are not among them ("": they are)."""

    def __init__(self, sessions: Sequence[SessionSummary], trouble: str = "") -> None:
        super().__init__()
        self.sessions = sessions
        self.trouble = trouble


class Touched(SessionsListed):
    """Some sessions whose files changed, or that are no longer live."""


class Figured(SessionsListed):
    """Figures of some sessions."""


class HeldSeen(Message):
    """Sessions of which a request waits for the user now: why, by the path of the recording."""

    def __init__(self, held: Mapping[str, str]) -> None:
        super().__init__()
        self.held = held


class Filled(Message):
    """Reading has come to its end."""


class ReadingQueue:
    """The sessions to be read, handed out one by one: those at the `front` (on screen) first.

    The screen adds, a worker thread takes.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._pending: dict[str, SessionSummary] = {}
        self.front: tuple[str, ...] = ()
        """Keys of the sessions on screen."""

    def add(self, sessions: Iterable[SessionSummary]) -> bool:
        """More to read; whether there is anything."""
        with self._lock:
            self._pending |= {one.key: replace(one, known=False) for one in sessions}
            return bool(self._pending)

    def waiting(self) -> list[SessionSummary]:
        """All of them, those at the front first."""
        with self._lock:
            front = dict.fromkeys(key for key in self.front if key in self._pending)
            return [self._pending[key] for key in {**front, **dict.fromkeys(self._pending)}]

    def done(self, one: SessionSummary) -> None:
        """Its figures are known; what was added meanwhile, since its file has changed, stays."""
        with self._lock:
            there = self._pending.get(one.key)
            if there is not None and (there.size, there.mtime) == (one.size, one.mtime):
                del self._pending[one.key]

    def __iter__(self) -> Iterator[SessionSummary]:
        while True:
            with self._lock:
                key = next((key for key in self.front if key in self._pending), next(iter(self._pending), None))
                if key is None:
                    return
                one = self._pending.pop(key)
            yield one


def fill(sessions: SessionLibrary, feed: ReadingQueue, stop: Event, post: Callable[[Message], object]) -> None:
    """Post the figures of what `feed` holds in batches; for a worker thread. What is remembered is not read."""
    batch: list[SessionSummary] = []
    posted = 0.0
    for one in _figured(sessions, feed, stop):
        batch.append(one)
        if time.monotonic() - posted > BATCH:
            post(Figured(batch))
            batch, posted = [], time.monotonic()
    if batch:
        post(Figured(batch))


def _figured(sessions: SessionLibrary, feed: ReadingQueue, stop: Event) -> Iterator[SessionSummary]:
    waiting = feed.waiting()
    # All that is remembered is asked for at once; for a few that were touched, reading asks for each.
    for one in sessions.each_remembered(waiting) if len(waiting) > MANY else ():
        if stop.is_set():
            return
        feed.done(one)
        yield one
    yield from sessions.figures(feed, stop)


TICK = 2.0
"""Seconds between looks at what is live."""
SELDOM = 30.0
"""Seconds after which everything is looked at, whether a folder changed or not."""
PART = 400.0
"""Looking at everything may take one part in so many of the time: with many thousand files it comes more rarely."""


class Watch:
    """The threads that find and read sessions for `screen`, which is posted `SessionsListed`, `Touched`, `Figured`,
    `HeldSeen` and `Filled`. `held` tells what waits for the user.

    Every `TICK` the files in `near`, the folders and what is held are looked at; everything only where a folder
    changed.
    """

    def __init__(
        self, screen: Screen[Any], source: SessionLibrary, held: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        self.feed = ReadingQueue()
        self.reading = False
        """Whether sessions are being read."""
        self.awake = True
        """Whether to look at all; a covered screen sleeps."""
        self.near: tuple[SessionSummary, ...] = ()
        """The sessions on the screen and the live ones."""
        self._screen = screen
        self._source = source
        self._held, self._held_before = held, dict[str, str]()
        self._stop = Event()
        self._wake = Event()
        self._ask_store = True
        self._wanted = True
        self._earliest = self._latest = 0.0

    def start(self) -> None:
        """Look from now on; also into the database at first."""
        self._screen.run_worker(self._loop, thread=True, group="look")

    def look(self, ask_store: bool = False) -> None:
        """Look at everything now; with `ask_store` also at what the database holds."""
        self._ask_store |= ask_store
        self._wanted = True
        self._wake.set()

    def _loop(self) -> None:
        while not self._stop.is_set():
            if self.awake:
                self._once(time.monotonic())
            self._wake.wait(TICK)
            self._wake.clear()

    def _once(self, now: float) -> None:
        held = dict(self._held())
        if held != self._held_before:
            self._held_before = held
            self._screen.post_message(HeldSeen(held))
        if self._wanted or now >= self._latest or (now >= self._earliest and self._source.folders_changed()):
            ask, self._ask_store, self._wanted = self._ask_store, False, False
            start = time.thread_time()
            found = self._source.all_sessions() if ask else self._source.refresh()
            pause = PART * (time.thread_time() - start)
            self._earliest, self._latest = now + pause, now + max(SELDOM, 2 * pause)
            trouble = self._source.trouble
            self._screen.post_message(SessionsListed(found, str(trouble) if trouble is not None else ""))
        elif touched := self._source.find_changed(self.near):
            self._screen.post_message(Touched(touched))

    def read(self, wanting: Iterable[SessionSummary]) -> None:
        """Read these too."""
        if self.feed.add(wanting) and not self.reading:
            self.reading = True
            self._screen.run_worker(self._fill, thread=True, group="figures")

    def _fill(self) -> None:
        try:
            fill(self._source, self.feed, self._stop, self._screen.post_message)
        finally:
            self._screen.post_message(Filled())

    def filled(self) -> None:
        """The thread has ended; what was added just before it did is read by another one."""
        self.reading = False
        self.read(())

    def stop(self) -> None:
        """No more: the screen is closed."""
        self._stop.set()
        self._wake.set()
