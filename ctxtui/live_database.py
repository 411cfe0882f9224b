"""Databases that SQLite has open, which nobody may read as files.

A process that closes any descriptor of a file loses all its locks on it (POSIX). Where that is a database which the
same process has open, as ctxtui's own in the folder that an agent works in, another process takes it for abandoned,
deletes its write-ahead log, and the database is damaged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

INDEX: Final = "-shm"
LOG: Final = "-wal"
WHY: Final = "a database that is in use"


def in_use(path: Path) -> bool:
    """Whether `path` is a database that has a connection by now, or a file that SQLite keeps beside one. Nothing is
    opened: beside a database with a write-ahead log lies its index as long as somebody is connected."""
    return has_index(path) or any(
        path.name.endswith(end) and path.with_name(path.name.removesuffix(end)).exists() for end in (INDEX, LOG)
    )


def has_index(path: Path) -> bool:
    """Whether the index of a write-ahead log lies beside the file `path`."""
    return path.with_name(path.name + INDEX).exists()
