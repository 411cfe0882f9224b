"""Values that the store takes and returns besides sessions, and conversion of text for SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from ctxtui.core.call import Call
from ctxtui.store.schema.damage import Damaged

Progress = Callable[[int, int], None]
"""Callback with (blocks done, blocks in all) while an import packs blocks; called in the importing thread."""


class Priced(Protocol):
    """Cost of a call, as `ctxtui.pricing` gives it."""

    @property
    def usd(self) -> float:
        """Total in USD."""

    @property
    def version(self) -> str:
        """The price table's name."""


Price = Callable[[Call], Priced | None]
"""Function that returns the cost of a call, None if unknown."""


def unpriced(call: Call) -> None:
    return None


class SourceInfo(Struct, frozen=True):
    """The file that a session was read from.

    - `path`: absolute; "" without a file (a chat, standard input).
    - `size`: bytes; `mtime`: Unix seconds as the system gives it.
    - `format`: the format's name.
    - `companions`: further files of the same session (subagents).
    """

    path: str = ""
    size: int = 0
    mtime: float = 0.0
    format: str = ""
    companions: tuple[SourceInfo, ...] = ()


class SessionRow(Struct, frozen=True, kw_only=True):
    """A stored session in a list.

    - `title`: the user's if there is one, else the recording's.
    - `ended` (None: unknown), `imported`: Unix seconds.
    - `subscription`: a subscription paid for it.
    """

    id: str
    title: str
    source: str
    cwd: str
    client: str
    calls: int
    ended: float | None
    imported: float
    archived: bool
    path: str
    tags: tuple[str, ...]
    subscription: bool = False


class Glance(NamedTuple):
    """Facts about a session from the head of its file ("": not given).

    `size` are the file's bytes when it was read, `version` is the client's version.
    """

    size: int = 0
    title: str = ""
    cwd: str = ""
    version: str = ""


class Info(Struct, frozen=True, kw_only=True):
    """The state of the file: sizes in bytes, rows by table.

    `free` are the bytes of unused pages. `plain` is the size of all block bodies unpacked, `packed` their size in the
    file. `journal` is the mode of SQLite's journal, `sqlite` its version.
    """

    path: str
    schema_version: int
    size: int
    wal_size: int
    free: int
    rows: dict[str, int]
    plain: int
    packed: int
    journal: str
    sqlite: str

    @property
    def ratio(self) -> float | None:
        """Packed to plain bytes of block bodies; None without blocks."""
        return self.packed / self.plain if self.plain else None


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def sql_text(text: str) -> str | bytes:
    """Convert text to a SQL value: a BLOB if it has lone surrogates, which UTF-8 cannot hold."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-8", "surrogatepass")


def py_text(value: str | bytes) -> str:
    """Convert a SQL value made by `sql_text` back to text. Raises `Damaged`."""
    if isinstance(value, str):
        return value
    try:
        return str(value, "utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise Damaged(f"{value!r:.60} is not text") from error
