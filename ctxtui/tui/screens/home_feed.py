"""Reading sessions behind Home: what is on the screen first, in batches, so that no frame waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from threading import Event, Lock
from typing import Final, Protocol

from textual.message import Message

from ctxtui.views.home.summary import SessionSummary

BATCH: Final = 0.15
"""Seconds between two batches."""


class Sessions(Protocol):
    """Where Home has its sessions from (`runtime.shelf.Shelf`). All but `glimpses` are for worker threads."""

    def glimpses(self) -> list[SessionSummary]:
        """Every recording by name and file times."""

    def placed(self) -> list[SessionSummary]:
        """As `glimpses`, with the directories that only a file's first line tells."""

    def stored(self, seen: Iterable[SessionSummary]) -> list[SessionSummary]:
        """`seen` with what the database knows of each, and the database's own."""

    def again(self) -> list[SessionSummary]:
        """`glimpses` with what the database last said."""

    def touched(self, seen: Iterable[SessionSummary]) -> list[SessionSummary]:
        """Those of `seen` whose file changed or that began or ceased to be live, as they are now."""

    def folders_changed(self) -> bool:
        """Whether files came or went since the last `glimpses`."""

    def figures(self, seen: Iterable[SessionSummary], stop: Event) -> Iterator[SessionSummary]:
        """Each of `seen` with its figures, as they come."""


class Listed(Message):
    """The sessions that are there now."""

    def __init__(self, sessions: Sequence[SessionSummary]) -> None:
        super().__init__()
        self.sessions = sessions


class Touched(Listed):
    """Some sessions whose files changed, or that are no longer live."""


class Figured(Listed):
    """Figures of some sessions."""


class Filled(Message):
    """Reading has come to its end."""


class Feed:
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
            self._pending |= {one.key: replace(one, known=False) for one in sessions if one.path}
            return bool(self._pending)

    def __iter__(self) -> Iterator[SessionSummary]:
        while True:
            with self._lock:
                key = next((key for key in self.front if key in self._pending), next(iter(self._pending), None))
                if key is None:
                    return
                one = self._pending.pop(key)
            yield one


def fill(sessions: Sessions, feed: Feed, stop: Event, post: Callable[[Message], object]) -> None:
    """Read what `feed` holds and post it in batches; for a worker thread."""
    batch: list[SessionSummary] = []
    posted = 0.0
    for one in sessions.figures(feed, stop):
        batch.append(one)
        if time.monotonic() - posted > BATCH:
            post(Figured(batch))
            batch, posted = [], time.monotonic()
    if batch:
        post(Figured(batch))
