"""Addresses of sessions in databases (``DATABASE#ID``) and body folders (``FOLDER#ID``)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from ctxtui.live_database import INDEX, LOG, has_index

MARK: Final = "#"
MAGIC: Final = b"SQLite format 3\0"

_UNQUOTED: Final = ":@+,=~ "
"""Characters of an id that are not escaped in an address."""


def is_database(path: Path) -> bool:
    """Whether the file `path` is a SQLite database.

    Its first bytes decide, or while it is in use the files next to it.
    """
    try:
        if not path.is_file() or path.name.endswith((INDEX, LOG)):
            return False
        if has_index(path):
            return True
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def address_of(database: Path, id_: str) -> Path:
    """The address of a session in a database or body folder; `open.load` accepts it like a path."""
    return Path(f"{database}{MARK}{quote(id_, safe=_UNQUOTED)}")


def split_address(path: Path) -> tuple[Path, str]:
    """Split an address into database or folder and id; any other path is returned with ""."""
    file, mark, id_ = str(path).rpartition(MARK)
    if not mark or not id_ or os.path.exists(path) or not (is_database(Path(file)) or _is_body_folder(Path(file))):
        return path, ""
    return Path(file), unquote(id_)


def _is_body_folder(path: Path) -> bool:
    # Imported here: few paths contain the mark.
    from ctxtui.services.recordings.body_folder import is_body_folder

    return is_body_folder(path)


def file_of(path: Path) -> Path:
    """The file or folder that holds what `path` names."""
    return split_address(path)[0]
