"""Writes a whole file in one step."""

from __future__ import annotations

import os
from pathlib import Path


def mode_of(path: Path) -> int:
    """The permissions of a file; 0600 if it does not exist."""
    return path.stat().st_mode & 0o777 if path.exists() else 0o600


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write `data` to `path` in one step; if that fails, `path` stays as it was.

    Hard links to an existing file keep the old content. Raises `OSError`.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode != 0o600:
                os.fchmod(handle, mode)  # the umask may have reduced it
            file.write(data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
