"""Filling the full-text index while the screen runs: in a process of its own that takes only what others leave."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.search.index import fill, lacking

_LOWEST: Final = 19
_EVERY: Final = 300.0
"""Seconds until it is looked whether there is more to index."""
_FAILED: Final = -1


class Filler:
    """Keeps the index full; `run` is for a thread, `close` ends it at once. What is half done counts for nothing."""

    def __init__(self, settings: Settings, cwd: Path) -> None:
        self._settings = settings
        self._cwd = cwd
        self._stop = Event()
        self._child = ChildProcess("ctxtui.services.workers.index_worker:make")

    def run(self) -> None:
        """Index what is lacking, and what comes to rest later. Where there is no database none is made."""
        while not self._stop.is_set():
            if self._settings.index and database(self._settings.data_dir).exists():
                try:
                    if self._child.ask((self._settings, str(self._cwd))) == _FAILED:
                        return
                except ChildGone:
                    return
            self._stop.wait(_EVERY)

    def close(self) -> None:
        """No more."""
        self._stop.set()
        self._child.close()


def make() -> Callable[[tuple[Settings, str]], int]:
    """What the child answers with: how many sessions it indexed, `_FAILED` where the database cannot be used."""
    with suppress(OSError):
        os.nice(_LOWEST)
    parent = os.getppid()

    def answer(request: tuple[Settings, str]) -> int:
        settings, cwd = request
        shelf = SessionLibrary(settings, Path(cwd))
        try:
            units = lacking(settings, shelf.stored(shelf.glimpses()))
            # A screen that was killed leaves its child behind: that ends after the session it is at.
            return sum(1 for _ in fill(settings, units, lambda: os.getppid() != parent))
        except CtxtuiError:
            return _FAILED

    return answer
