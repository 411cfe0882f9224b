"""A session in a database that may grow: whether something was written, and its rows as they are now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ctxtui.services.recordings.database_address import parted
from ctxtui.services.recordings.database_sessions import roots, rows_of
from ctxtui.services.recordings.sqlite_sources import rows

EVERY: Final = 0.5
"""Seconds between readings at least: a session's rows are all read again."""

Stamp = tuple[tuple[int, int, int], ...]


class DatabaseTail:
    """The session that `path` names, or the newest of the database `path`, which then stays the one. `clock` gives
    monotonic seconds."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.database, self.session = parted(path)
        self.session = self.session or next((one.id for one in roots(self.database)), "")
        self._files = (self.database, self.database.with_name(self.database.name + "-wal"))
        self._clock = clock
        self._read = 0.0
        self._seen: Stamp = ()

    @property
    def gone(self) -> bool:
        """Whether there is no such database any more."""
        return not self.database.exists()

    def changed(self) -> bool:
        """Whether something was written since the last reading, which is some time ago."""
        return self._clock() - self._read >= EVERY and self._stamp() != self._seen

    def rows(self) -> Iterator[bytes]:
        """All rows of the session as they are now. Raises `Unreadable`."""
        self._seen, self._read = self._stamp(), self._clock()
        return rows(self.database, rows_of(self.database, self.session) if self.session else None)

    def _stamp(self) -> Stamp:
        return tuple(map(_stamp_of, self._files))


def _stamp_of(path: Path) -> tuple[int, int, int]:
    try:
        now = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return now.st_ino, now.st_size, now.st_mtime_ns
