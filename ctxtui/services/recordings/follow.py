"""Follows growing recordings by polling file statuses many times a second.

Each ``stat`` takes a few microseconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.recordings.recording import Loaded, RecordingNews

BUSY_SECONDS: Final = 0.025
"""Seconds between checks of a recording that grows many times a second."""
ACTIVE_SECONDS: Final = 0.05
"""Seconds between checks of a recording that has just grown."""
IDLE_SECONDS: Final = 0.125
"""Seconds between checks of an idle recording: news must be on the screen within 0.2 s."""
_BATCH_SECONDS: Final = BUSY_SECONDS / 2
"""Recordings due within these seconds are checked together: waking up costs more than a check."""
_BUSY_GAP_SECONDS: Final = 0.2
"""Seconds between two changes of a recording that counts as busy."""
_ACTIVE_FOR_SECONDS: Final = 5.0
"""Seconds without growth after which a recording counts as idle."""


class FollowedNews(Struct, frozen=True):
    """News of one recording, or the `error` of reading it."""

    loaded: Loaded
    news: RecordingNews
    error: CtxtuiError | None = None


class _WatchedRecording(Struct):
    """A followed recording.

    `due` is the time of its next check, `grew_at` when it last grew (monotonic seconds).
    """

    loaded: Loaded
    due: float
    grew_at: float
    is_busy: bool = False
    """Whether its last two changes came within `_BUSY_GAP_SECONDS`."""

    def pause(self, now: float) -> float:
        quiet_seconds = now - self.grew_at
        if quiet_seconds >= _ACTIVE_FOR_SECONDS:
            return IDLE_SECONDS
        return BUSY_SECONDS if self.is_busy and quiet_seconds < _BUSY_GAP_SECONDS else ACTIVE_SECONDS


class Follower:
    """Checks each open recording when its next check is due; `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watched: dict[int, _WatchedRecording] = {}
        self._lock = threading.Lock()

    def watch(self, loaded: Loaded) -> None:
        """Follow `loaded` from now on; streams are ignored."""
        if loaded.follows:
            now = self._clock()
            with self._lock:
                self._watched[id(loaded)] = _WatchedRecording(loaded, now, now)

    def poll(self) -> list[FollowedNews]:
        """Check every due recording; return what is new, for `Loaded.add_news`."""
        now = self._clock()
        with self._lock:
            due = [watch for watch in self._watched.values() if watch.due <= now + _BATCH_SECONDS]
        news = []
        for watch in due:
            item = _fetch_news(watch.loaded)
            if item is not None:
                news.append(item)
                watch.is_busy, watch.grew_at = now - watch.grew_at < _BUSY_GAP_SECONDS, now
            watch.due = now + watch.pause(now)
        return news

    def pause(self) -> float:
        """Seconds until the next recording is due."""
        with self._lock:
            first = min((watch.due for watch in self._watched.values()), default=self._clock() + IDLE_SECONDS)
        return max(0.0, first - self._clock())


def _fetch_news(loaded: Loaded) -> FollowedNews | None:
    try:
        news = loaded.fetch()
    except CtxtuiError as error:
        return FollowedNews(loaded, RecordingNews(), error)
    return FollowedNews(loaded, news) if news else None


def run_follower(follower: Follower, tell: Callable[[FollowedNews], None], stop: threading.Event) -> None:
    """Follow until `stop` is set; for a worker thread, in which `tell` is called."""
    while not stop.wait(follower.pause()):
        for news in follower.poll():
            tell(news)
