"""Fills the full-text index in a child process of lowest priority while the screen runs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.search.index import fill_index, list_unindexed
from ctxtui.services.worker import Worker

_LOWEST_PRIORITY: Final = 19
_CHECK_INTERVAL: Final = 300.0
"""Seconds from the end of a check for sessions to index to the next one."""


class BackgroundIndexer:
    """Keeps the index up to date; `run` is for a thread."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings = settings
        self._stop = Event()
        self._worker = Worker(IndexFiller, settings, cwd)

    def run(self) -> None:
        """Index new and changed sessions now and every few minutes, until `close`.

        Live ones wait. Only with the setting `index` and if there is a database; ends if the child process does.
        """
        while not self._stop.is_set():
            if self._settings.index and database(self._settings.data_dir).exists():
                try:
                    # A database that is locked or full now may not be at the next check.
                    with suppress(CtxtuiError):
                        self._worker.call(IndexFiller.fill)
                except ChildGone:
                    return
            self._stop.wait(_CHECK_INTERVAL)

    def close(self) -> None:
        self._stop.set()
        self._worker.close()


class IndexFiller:
    """Fills the index at the lowest priority; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd
        with suppress(OSError):
            os.nice(_LOWEST_PRIORITY)
        self._parent = os.getppid()

    def fill(self) -> int:
        """Index sessions and return their number.

        Raises `CtxtuiError` if the database cannot be used.
        """
        library = SessionLibrary(self._settings, self._cwd)
        units = list_unindexed(self._settings, library.join_stored(library.list_fast()))
        # If the screen is killed, this child ends after its current session.
        return sum(1 for _ in fill_index(self._settings, units, lambda: os.getppid() != self._parent))
