"""What goes in and comes out of the store besides sessions, and how texts become SQL values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from ctxtui.core.call import Call
from ctxtui.store.schema.damage import Damaged

Progress = Callable[[int, int], None]
"""Called with (blocks done, blocks in all) while an import packs; from the importing thread."""


class Priced(Protocol):
    """What a call costs, as `ctxtui.pricing` gives it."""

    @property
    def usd(self) -> float:
        """USD in total."""

    @property
    def version(self) -> str:
        """The price table's name."""


Price = Callable[[Call], Priced | None]
"""Gives the cost of a call, None where it is unknown."""


class SourceInfo(Struct, frozen=True):
    """The file a session was read from: absolute path ("" for standard input), bytes, mtime in Unix seconds as the
    system gives it, the format's name. `companions` are further files of the same session (subagents)."""

    path: str = ""
    size: int = 0
    mtime: float = 0.0
    format: str = ""
    companions: tuple[SourceInfo, ...] = ()


class SessionRow(Struct, frozen=True, kw_only=True):
    """A stored session in a list. Times in Unix seconds, tokens, USD; None means unknown. `title` is the user's where
    there is one. `peak` is the largest input of any call; `input` and `output` add up all calls with a report;
    `subscription`: paid by one, so that `cost` is what the list says."""

    id: str
    title: str
    source: str
    cwd: str
    client: str
    model: str
    calls: int
    threads: int
    started: float | None
    ended: float | None
    peak: int | None
    input: int | None
    cache_read: int | None
    output: int | None
    cost: float | None
    imported: float
    archived: bool
    path: str
    tags: tuple[str, ...]
    subscription: bool = False


class Glance(NamedTuple):
    """What the head of a file, `size` bytes long then, says of its session: title, directory, its client's version; ""
    for what it does not say."""

    size: int = 0
    title: str = ""
    cwd: str = ""
    version: str = ""


class StoreTotals(Struct, frozen=True):
    """All calls of the store, each counted once however many sessions hold it (law 3). `cost` is USD over the calls
    whose price is known, `unpriced` how many calls have none."""

    calls: int
    input: int
    cache_read: int
    output: int
    cost: float
    unpriced: int


class Info(Struct, frozen=True, kw_only=True):
    """The state of the file: sizes in bytes, rows by table. `plain` is what all block bodies take unpacked, `packed`
    what they take in the file."""

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


def sql_text(words: str) -> str | bytes:
    """`words` as SQL value. UTF-8 holds no lone surrogate: such a text becomes a BLOB, and comes back whole."""
    if words.isascii() or not _SURROGATE.search(words):
        return words
    return words.encode("utf-8", "surrogatepass")


def py_text(value: str | bytes) -> str:
    """The text of a SQL value that `sql_text` made."""
    if isinstance(value, str):
        return value
    try:
        return str(value, "utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise Damaged(f"{value!r:.60} is no text") from error
