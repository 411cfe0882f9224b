"""Translates SQLite's errors to `CtxtuiError`s: the file, its fault, and what to do."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from ctxtui.core.errors import CtxtuiError, Unreadable
from ctxtui.store.schema.damage import Damaged

P = ParamSpec("P")
R = TypeVar("R")

ELSEWHERE: Final = "name another place with CTXTUI_HOME or CTXTUI_DB"

DAMAGED: Final = ("vtable constructor failed", "invalid fts5 file format", "malformed", "corrupt")
"""Parts of SQLite's messages about a damaged full-text index; the last two may also be about the whole database."""

_RESTORE: Final = "restore a backup, or {0}"
_INDEX_DAMAGED: Final = (Unreadable, "the full-text index is damaged", "`ctxtui db index --anew` makes another")
_MESSAGES: Final[tuple[tuple[str, type[CtxtuiError], str, str], ...]] = (
    ("file is not a database", Unreadable, "the database is damaged or no SQLite file", _RESTORE),
    ("malformed", Unreadable, "the database is damaged", _RESTORE),
    ("could not decode", Unreadable, "the database is damaged", _RESTORE),
    ("constraint failed", Unreadable, "the database is damaged", _RESTORE),
    ("vtable constructor failed", *_INDEX_DAMAGED),
    ("fts5: corruption", *_INDEX_DAMAGED),  # SQLite 3.53.4 says so
    ("invalid fts5 file format", *_INDEX_DAMAGED),
    ("file is encrypted", Unreadable, "the database is damaged or no SQLite file", _RESTORE),
    ("locked", CtxtuiError, "another process has been writing to the database for too long", "try again"),
    ("readonly", Unreadable, "the database cannot be written", "make it writable, or {0}"),
    ("unable to open", Unreadable, "the database cannot be opened", "check its folder's permissions, or {0}"),
    ("full", CtxtuiError, "the disk is full", "free some space, or {0}"),
    ("disk I/O", CtxtuiError, "the disk fails to read or write the database", "check the disk, or {0}"),
)
"""For SQLite's errors: a part of its message, the error's class, our message, the way out."""


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors, the system's and damage in the database `path` as `CtxtuiError`s."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate_error(error, path) from error
    except OSError as error:
        raise Unreadable(
            f"the database cannot be used: {error.strerror or error}", place=str(path), way_out=ELSEWHERE
        ) from error
    except Damaged as error:
        raise Unreadable(
            f"the database is damaged ({error})", place=str(path), way_out=_RESTORE.format(ELSEWHERE)
        ) from error


def translate_error(error: sqlite3.Error, path: Path) -> CtxtuiError:
    """The `CtxtuiError` for one of SQLite's; unknown ones keep SQLite's own message."""
    message = str(error)
    if "disk I/O" in message and _is_disk_full(path):
        return CtxtuiError(f"the disk is full ({message})", place=str(path), way_out=f"free some space, or {ELSEWHERE}")
    for part, kind, explanation, way_out in _MESSAGES:
        if part.lower() in message.lower():
            return kind(f"{explanation} ({message})", place=str(path), way_out=way_out.format(ELSEWHERE))
    return CtxtuiError(f"the database reports an error: {message}", place=str(path))


_MIN_FREE_BYTES: Final = 65_536
"""Bytes of free space below which a failure counts as a full disk.

SQLite's files grow by almost as many at once: with less it may fail before it reports a full disk.
"""


def _is_disk_full(path: Path) -> bool:
    try:
        state = os.statvfs(path.parent)
    except OSError:
        return False
    return state.f_bavail * state.f_frsize < _MIN_FREE_BYTES


class HasPath(Protocol):
    """An object that works on the database `path`."""

    path: Path


F = TypeVar("F", bound=HasPath)


def explains_errors(method: Callable[Concatenate[F, P], R]) -> Callable[Concatenate[F, P], R]:
    """Decorator: raise errors about the database as `CtxtuiError`s."""

    @wraps(method)
    def wrapped(self: F, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with explain_errors(self.path):
            return method(self, *args, **kwargs)

    return wrapped
