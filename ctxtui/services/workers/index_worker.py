"""Filling the full-text index while the screen runs: in a process of its own that takes only what others leave."""

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
from ctxtui.services.search.index import fill, lacking
from ctxtui.services.worker import Worker

_LOWEST: Final = 19
_EVERY: Final = 300.0
"""Seconds until it is looked whether there is more to index."""


class Filler:
    """Keeps the index full; `run` is for a thread, `close` ends it at once. What is half done counts for nothing."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings = settings
        self._stop = Event()
        self._worker = Worker(IndexFiller, settings, cwd)

    def run(self) -> None:
        """Index what is lacking, and what comes to rest later. Where there is no database none is made."""
        while not self._stop.is_set():
            if self._settings.index and database(self._settings.data_dir).exists():
                try:
                    self._worker.call(IndexFiller.fill)
                except (ChildGone, CtxtuiError):
                    return
            self._stop.wait(_EVERY)

    def close(self) -> None:
        """No more."""
        self._stop.set()
        self._worker.close()


class IndexFiller:
    """Fills the index with what only others leave of the processor; for a `Worker`."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings, self._cwd = settings, cwd
        with suppress(OSError):
            os.nice(_LOWEST)
        self._parent = os.getppid()

    def fill(self) -> int:
        """How many sessions were indexed. Raises `CtxtuiError` where the database cannot be used."""
        shelf = SessionLibrary(self._settings, self._cwd)
        units = lacking(self._settings, shelf.stored(shelf.glimpses()))
        # A screen that was killed leaves its child behind: that ends after the session it is at.
        return sum(1 for _ in fill(self._settings, units, lambda: os.getppid() != self._parent))
