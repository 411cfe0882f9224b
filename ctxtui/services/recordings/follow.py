"""Follow growing recordings by polling file statuses many times a second.

Polling works the same on every system and file system, and is cheap: one `stat` per file and folder, a few microseconds
each. `Follower` is independent of Textual; `run` drives it in a thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.recordings.recording import Loaded, RecordingNews

BUSY: Final = 0.025
"""Seconds between checks of a recording that grows many times a second: up to thirty frames a second."""
ACTIVE: Final = 0.05
"""Seconds between checks of a recording that has just grown."""
QUIET: Final = 0.125
"""Seconds between checks of an idle recording: news must be on the screen within 0.2 s."""
_TOGETHER: Final = BUSY / 2
"""Recordings due within these seconds are checked together: waking up costs more than a check."""
_OFTEN: Final = 0.2
"""Seconds between two changes of a recording that counts as busy."""
_COOLING: Final = 5.0
"""Seconds without growth after which a recording counts as idle."""


class FollowedNews(Struct, frozen=True):
    """News of one recording: `news` to be taken, or the `error` of reading it."""

    loaded: Loaded
    news: RecordingNews
    error: CtxtuiError | None = None


class _Watch(Struct):
    loaded: Loaded
    due: float
    grew: float
    often: bool = False
    """Whether its last two changes came within `_OFTEN` seconds."""

    def pause(self, now: float) -> float:
        """Seconds until the next check."""
        since = now - self.grew
        return QUIET if since >= _COOLING else BUSY if self.often and since < _OFTEN else ACTIVE


class Follower:
    """Checks each open recording when it is due. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watched: dict[int, _Watch] = {}
        self._lock = threading.Lock()

    def watch(self, loaded: Loaded) -> None:
        """Follow `loaded` from now on; streams are ignored."""
        if loaded.follows:
            now = self._clock()
            with self._lock:
                self._watched[id(loaded)] = _Watch(loaded, now, now)

    def leave(self, loaded: Loaded) -> None:
        """Stop following `loaded`."""
        with self._lock:
            self._watched.pop(id(loaded), None)

    def poll(self) -> list[FollowedNews]:
        """Check every due recording; returns what is new, not taken yet."""
        now = self._clock()
        with self._lock:
            due = [watch for watch in self._watched.values() if watch.due <= now + _TOGETHER]
        heard = []
        for watch in due:
            found = _look(watch.loaded)
            if found is not None:
                heard.append(found)
                watch.often, watch.grew = now - watch.grew < _OFTEN, now
            watch.due = now + watch.pause(now)
        return heard

    def pause(self) -> float:
        """Seconds until the next recording is due."""
        with self._lock:
            first = min((watch.due for watch in self._watched.values()), default=self._clock() + QUIET)
        return max(0.0, first - self._clock())


def _look(loaded: Loaded) -> FollowedNews | None:
    try:
        news = loaded.fetch()
    except CtxtuiError as error:
        return FollowedNews(loaded, RecordingNews(), error)
    return FollowedNews(loaded, news) if news else None


def run(follower: Follower, tell: Callable[[FollowedNews], None], stop: threading.Event) -> None:
    """Follow until `stop` is set; for a worker thread. `tell` is called there and must post a message."""
    while not stop.wait(follower.pause()):
        for heard in follower.poll():
            tell(heard)
