"""Looking and reading behind Home: what is there, what is new, in threads; the screen gets messages."""

from __future__ import annotations

import time
from collections.abc import Iterable
from threading import Event
from typing import Any

from textual.screen import Screen

from ctxtui.tui.screens.home_feed import Feed, Filled, Listed, Sessions, Touched, fill
from ctxtui.views.home.summary import SessionSummary

TICK = 2.0
"""Seconds between looks at what is live."""
SELDOM = 30.0
"""Seconds after which everything is looked at, whether a folder changed or not."""
PART = 400.0
"""Looking at everything may take one part in so many of the time: with many thousand files it comes more rarely."""


class Watch:
    """The threads that find and read sessions for `screen`, which is posted `Listed`, `Touched`, `Figured`, `Filled`.

    Every `TICK` the files in `near` and the folders are looked at; everything only where a folder changed.
    """

    def __init__(self, screen: Screen[Any], source: Sessions) -> None:
        self.feed = Feed()
        self.reading = False
        """Whether sessions are being read."""
        self.awake = True
        """Whether to look at all; a covered screen sleeps."""
        self.near: tuple[SessionSummary, ...] = ()
        """The sessions on the screen and the live ones."""
        self._screen = screen
        self._source = source
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
        if self._wanted or now >= self._latest or (now >= self._earliest and self._source.folders_changed()):
            ask, self._ask_store, self._wanted = self._ask_store, False, False
            start = time.thread_time()
            found = self._source.stored(self._source.placed()) if ask else self._source.again()
            pause = PART * (time.thread_time() - start)
            self._earliest, self._latest = now + pause, now + max(SELDOM, 2 * pause)
            self._screen.post_message(Listed(found))
        elif touched := self._source.touched(self.near):
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
