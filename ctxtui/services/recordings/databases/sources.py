"""Recordings that are SQLite databases, as the rows that their readers take. Only ever opened to read."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ctxtui.core.errors import Unreadable
from ctxtui.live_database import LOG, has_index
from ctxtui.services.config.format_registry import detect
from ctxtui.services.recordings.databases.address import MAGIC
from ctxtui.transcripts.kit.readers import HEAD

TABLES: Final = (
    "session", "message", "part", "session_v2", "session_message", "schema_version", "sessions", "conversations",
    "responses", "tool_calls", "tool_results", "threads", "turns",
    "messages", "parts", "tools", "turn_tools", "tool_responses", "attachments", "part_attachments",
    "prompt_attachments", "fragments", "part_fragments", "prompt_fragments", "system_fragments",
)  # fmt: skip
"""The tables that some reader knows; others are not read."""

_WAL: Final = slice(18, 20)
"""The bytes of a database's head that say how it is written: 2 and 2 for a write-ahead log."""

Wanted = Callable[["sqlite3.Connection", str], tuple[str, Mapping[str, object]]]
"""Which rows of a table are read: a condition and its values by name."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the database `path` that changes nothing, neither in it nor beside it; bytes that are no UTF-8
    are read as U+FFFD. Raises `Unreadable` where SQLite cannot read it."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address + ("&immutable=1" if _rests(path) else ""), uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error as error:
        raise Unreadable(f"SQLite cannot read this database: {error}", place=str(path)) from error


def _rests(path: Path) -> bool:
    """Whether a database with a write-ahead log has none now: nobody writes to it, and an ordinary connection would
    leave files beside it. One that is in use is not looked into (`ctxtui.live_database`)."""
    log = path.with_name(path.name + LOG)
    if log.exists() and has_index(path):
        return False
    try:
        with path.open("rb") as file:
            return file.read(_WAL.stop)[_WAL] == b"\x02\x02" and not (log.exists() and log.stat().st_size)
    except OSError:
        return False


def tables_of(connection: sqlite3.Connection) -> list[str]:
    """The tables of a database that some reader knows."""
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return [name for name in TABLES if name in there]


def rows(path: Path, wanted: Wanted | None = None) -> Iterator[bytes]:
    """The rows of the known tables of `path` as JSON lines, in order of writing, after a line that names the tables;
    those that `wanted` chooses, all of them without it.

    Raises `Unreadable` where SQLite cannot read it.
    """
    with reading(path) as connection:
        known = tables_of(connection)
        head = _line({HEAD: known})
        if detect(head) is None:
            # Somebody else's database: its own first bytes say what it is.
            yield MAGIC
            return
        yield head
        for name in known:
            where, values = wanted(connection, name) if wanted is not None else ("1", {})
            for row in connection.execute(f'SELECT * FROM "{name}" WHERE {where} ORDER BY rowid', values):
                yield _line({"table": name, "row": {key: _plain(row[key]) for key in row.keys()}})  # noqa: SIM118


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _plain(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
