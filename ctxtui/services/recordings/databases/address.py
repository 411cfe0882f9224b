"""The names of sessions in databases, ``DATABASE#ID``, and in folders of bodies, ``FOLDER#ID``: they go wherever a
recording's path goes."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from ctxtui.live_database import INDEX, LOG, has_index

MARK: Final = "#"
"""Stands between a database and the id of a session in it."""
MAGIC: Final = b"SQLite format 3\0"

_SPOKEN: Final = ":@+,=~ "


def is_database(path: Path) -> bool:
    """Whether the file `path` begins as a SQLite database does. A pipe, which can be read once, is not looked into, nor
    is a database that is in use, which is told by what lies beside it."""
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
    """The name of a session in a database, which `load` and `locate` take as they take a file's."""
    return Path(f"{database}{MARK}{quote(id_, safe=_SPOKEN)}")


def parted(path: Path) -> tuple[Path, str]:
    """The database or folder and the id that an address names; any other path as it is, with ""."""
    file, mark, id_ = str(path).rpartition(MARK)
    if not mark or not id_ or path.exists() or not (is_database(Path(file)) or _is_body_folder(Path(file))):
        return path, ""
    return Path(file), unquote(id_)


def _is_body_folder(path: Path) -> bool:
    # Imported here: few paths have a mark in them.
    from ctxtui.services.recordings.body_folder import is_body_folder

    return is_body_folder(path)


def file_of(path: Path) -> Path:
    """The file that what `path` names is kept in: what has a size and a time of change."""
    return parted(path)[0]
