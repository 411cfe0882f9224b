"""Recordings that are SQLite databases, as the rows that their readers take. Only ever opened to read."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ctxtui.core.errors import Unreadable
from ctxtui.services.config.format_registry import detect
from ctxtui.transcripts.kit.rows import HEAD

MAGIC: Final = b"SQLite format 3\0"
TABLES: Final = (
    "session", "message", "part", "conversations", "responses", "tool_calls", "tool_results", "threads", "turns",
    "messages", "parts",
)  # fmt: skip
"""The tables that some reader knows; others are not read."""


def is_database(path: Path) -> bool:
    """Whether the file `path` begins as a SQLite database does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def rows(path: Path) -> Iterator[bytes]:
    """The rows of the known tables of `path` as JSON lines, in order of writing, after a line that names the tables.

    Raises `Unreadable` where SQLite cannot read it.
    """
    import sqlite3
    from contextlib import closing
    from urllib.parse import quote

    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            known = [name for name in TABLES if name in there]
            head = _line({HEAD: known})
            if detect(head) is None:
                # Somebody else's database: its own first bytes say what it is.
                yield MAGIC
                return
            yield head
            for name in known:
                for row in connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid'):
                    yield _line({"table": name, "row": {key: _plain(row[key]) for key in row.keys()}})  # noqa: SIM118
    except sqlite3.Error as error:
        raise Unreadable(f"SQLite cannot read this database: {error}", place=str(path)) from error


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _plain(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
