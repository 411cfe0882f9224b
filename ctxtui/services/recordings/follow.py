"""Following recordings that grow: a few file statuses many times a second, and nothing else until something changes.

Polling, because it is the same on every system and file system, and cheap: a look at one recording is one `stat` per
file and folder (a few microseconds each). Nothing here knows Textual: `Follower` is a plain object, which `run` drives
from a thread.
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
"""Seconds between looks at a recording that grows many times a second: each of thirty is a frame of its own."""
ACTIVE: Final = 0.05
"""Seconds between looks at a recording that has just grown."""
QUIET: Final = 0.125
"""Seconds between looks at one that rests: what it then gets must still be on screen within 0.2 s."""
_TOGETHER: Final = BUSY / 2
"""Recordings due within so many seconds are looked at together: waking up costs more than looking."""
_OFTEN: Final = 0.2
"""Seconds between two growths, at most, of a recording that grows many times a second."""
_COOLING: Final = 5.0
"""Seconds after which a recording that has not grown counts as resting."""


class FollowedNews(Struct, frozen=True):
    """Something new of one recording: `news` to be taken, or the `error` that reading it ended in."""

    loaded: Loaded
    news: RecordingNews
    error: CtxtuiError | None = None


class _Watch(Struct):
    loaded: Loaded
    due: float
    grew: float
    often: bool = False
    """Whether it had grown a moment before it grew last."""

    def pause(self, now: float) -> float:
        """Seconds until it is to be looked at again."""
        since = now - self.grew
        return QUIET if since >= _COOLING else BUSY if self.often and since < _OFTEN else ACTIVE


class Follower:
    """Looks at open recordings when each is due. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watched: dict[int, _Watch] = {}
        self._lock = threading.Lock()

    def watch(self, loaded: Loaded) -> None:
        """Follow `loaded` from now on; a stream has nothing to follow."""
        if loaded.follows:
            now = self._clock()
            with self._lock:
                self._watched[id(loaded)] = _Watch(loaded, now, now)

    def leave(self, loaded: Loaded) -> None:
        """Follow `loaded` no longer."""
        with self._lock:
            self._watched.pop(id(loaded), None)

    def poll(self) -> list[FollowedNews]:
        """Look at every recording that is due; what was new, not yet taken."""
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
    """Follow until `stop` is set; for a worker thread. `tell` is called in it and must hand over (post a message)."""
    while not stop.wait(follower.pause()):
        for heard in follower.poll():
            tell(heard)
