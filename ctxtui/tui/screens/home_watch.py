"""Looking and reading behind Home: what is there, what is new, in threads; the screen gets messages."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from threading import Event
from typing import Any

from textual.screen import Screen

from ctxtui.tui.screens.home_feed import Feed, Filled, Listed, Sessions, fill
from ctxtui.views.home import SessionSummary

TICK = 2.0
"""Seconds between looks at what is live."""
PART = 400.0
"""A look may take one part in so many of the time: with many thousand files they come more rarely."""


class Watch:
    """The threads that find and read sessions for `screen`, which is posted `Listed`, `Figured` and `Filled`."""

    def __init__(self, screen: Screen[Any], source: Sessions) -> None:
        self.feed = Feed()
        self.reading = False
        """Whether sessions are being read."""
        self._screen = screen
        self._source = source
        self._stop = Event()
        self._next_look = 0.0

    def look(self, ask_store: bool = False) -> None:
        """Find what is there now; with `ask_store` also what the database holds."""
        self._next_look = time.monotonic() + 60
        self._screen.run_worker(partial(self._look, ask_store), thread=True, group="look", exclusive=True)

    def _look(self, ask_store: bool) -> None:
        start = time.perf_counter()
        found = self._source.stored(self._source.glimpses()) if ask_store else self._source.again()
        self._screen.post_message(Listed(found, time.perf_counter() - start))

    def looked(self, took: float) -> None:
        """A look took so many seconds: when the next one is due follows from it."""
        self._next_look = time.monotonic() + max(TICK, PART * took) - TICK / 2

    def due(self) -> bool:
        """Whether it is time to look again."""
        return time.monotonic() >= self._next_look

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
