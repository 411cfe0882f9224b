"""Databases that SQLite has open, which must not be read as files.

A process that closes any descriptor of a file loses all its locks on it (POSIX). If that is a database which the same
process has open, such as ctxtui's own in the folder that an agent works in, another process takes it for abandoned,
deletes its write-ahead log, and the database is damaged.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

INDEX: Final = "-shm"
LOG: Final = "-wal"
WHY: Final = "a database that is in use"


def in_use(path: Path) -> bool:
    """Whether `path` is a database that may have an open connection.

    True also for a file kept next to a database. Nothing is opened: a database with a write-ahead log has an index file
    as long as a connection is open.
    """
    return has_index(path) or any(
        path.name.endswith(end) and os.path.exists(str(path).removesuffix(end)) for end in (INDEX, LOG)
    )


def has_index(path: Path) -> bool:
    """Whether there is an index of a write-ahead log next to `path`."""
    return os.path.exists(f"{path}{INDEX}")  # False for a name that is too long
