"""SQLite's errors in words: which file, what is wrong with it, what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError, Unreadable

ELSEWHERE: Final = "name another place with CTXTUI_HOME or CTXTUI_DB"

_SAID: Final[tuple[tuple[str, type[CtxtuiError], str, str], ...]] = (
    ("file is not a database", Unreadable, "the database is damaged or no SQLite file", "restore a backup, or {0}"),
    ("malformed", Unreadable, "the database is damaged", "restore a backup, or {0}"),
    ("file is encrypted", Unreadable, "the database is damaged or no SQLite file", "restore a backup, or {0}"),
    ("locked", CtxtuiError, "another process has been writing to the database for too long", "try again"),
    ("readonly", Unreadable, "the database cannot be written", "make it writable, or {0}"),
    ("unable to open", Unreadable, "the database cannot be opened", "check its folder's permissions, or {0}"),
    ("full", CtxtuiError, "the disk is full", "free some space, or {0}"),
    ("disk I/O", CtxtuiError, "the disk fails to read or write the database", "check the disk, or {0}"),
)
"""Part of SQLite's message, the error's class, our words, the way out."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise SQLite's and the system's errors about the database `path` as `CtxtuiError`s."""
    try:
        yield
    except sqlite3.Error as error:
        raise in_words(error, path) from error
    except OSError as error:
        raise Unreadable(
            f"the database cannot be used: {error.strerror or error}", place=str(path), way_out=ELSEWHERE
        ) from error


def in_words(error: sqlite3.Error, path: Path) -> CtxtuiError:
    """The `CtxtuiError` for one of SQLite's; what we have no words for keeps SQLite's own."""
    said = str(error)
    for part, kind, words, way_out in _SAID:
        if part in said:
            return kind(f"{words} ({said})", place=str(path), way_out=way_out.format(ELSEWHERE))
    return CtxtuiError(f"the database refused: {said}", place=str(path))
