"""Lists and reads the sessions in other programs' SQLite databases: OpenCode, Goose, llm.

Sessions are listed by the database's own columns, addressed as ``DATABASE#ID``, and read as rows (facts §13.4).
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound, Several, Unreadable
from ctxtui.core.json_values import as_str
from ctxtui.live_database import LOG, has_index
from ctxtui.services.config.format_registry import detect
from ctxtui.services.recordings.databases.address import MAGIC, MARK, is_database
from ctxtui.services.recordings.multi_file import json_line
from ctxtui.transcripts.kit.fields import as_time, one_line
from ctxtui.transcripts.kit.readers import TABLES_KEY

TABLES: Final = (
    "session", "message", "part", "session_v2", "session_message", "schema_version", "sessions", "conversations",
    "responses", "tool_calls", "tool_results", "threads", "turns",
    "messages", "parts", "tools", "turn_tools", "tool_responses", "attachments", "part_attachments",
    "prompt_attachments", "fragments", "part_fragments", "prompt_fragments", "system_fragments",
)  # fmt: skip
"""The tables that some reader knows; other tables are not read."""

_WAL: Final = slice(18, 20)
"""Format version bytes in a database's header: 2 and 2 for a write-ahead log."""

RowFilter = Callable[[sqlite3.Connection, str], tuple[str, Mapping[str, object]]]
"""Returns an SQL condition for a table, and its values by name."""


@contextmanager
def open_readonly(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database `path` to read; SQLite may make the index (-shm) of its log.

    Raises `Unreadable`.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address + ("&immutable=1" if _is_at_rest(path) else ""), uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error as error:
        raise Unreadable(f"SQLite cannot read this database: {error}", place=str(path)) from error


def _is_at_rest(path: Path) -> bool:
    """Whether a write-ahead database has no log, or an empty one, and so no writer.

    Such a file is opened as immutable, because an ordinary connection would leave files next to it.
    """
    log = path.with_name(path.name + LOG)
    if os.path.exists(log) and has_index(path):
        return False
    try:
        with path.open("rb") as file:
            return file.read(_WAL.stop)[_WAL] == b"\x02\x02" and not (os.path.exists(log) and log.stat().st_size)
    except OSError:
        return False


def tables_of(connection: sqlite3.Connection) -> list[str]:
    existing = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return [name for name in TABLES if name in existing]


def read_rows(path: Path, row_filter: RowFilter | None = None) -> Iterator[bytes]:
    """Yield the rows of the known tables as JSON lines, each table's in order of writing.

    The first line has the tables' names. `row_filter` selects rows (None: all). Raises `Unreadable`.
    """
    with open_readonly(path) as connection:
        tables = tables_of(connection)
        head = json_line({TABLES_KEY: tables})
        if detect(head) is None:
            # Another program's database: yield the magic bytes, so that the error names its type.
            yield MAGIC
            return
        yield head
        for name in tables:
            where, values = row_filter(connection, name) if row_filter is not None else ("1", {})
            for row in connection.execute(f'SELECT * FROM "{name}" WHERE {where} ORDER BY rowid', values):
                yield json_line({"table": name, "row": {key: _json_value(row[key]) for key in row.keys()}})  # noqa: SIM118


def _json_value(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


OPENCODE: Final = "opencode"
LLM: Final = "llm"
GOOSE: Final = "goose"

_MAX_LISTED: Final = 6
_CHAIN: Final = (
    "WITH RECURSIVE chain(hash) AS ("
    "SELECT tip_message_hash FROM turns WHERE thread_id IN (SELECT value FROM json_each(:family)) {threads}"
    "UNION SELECT m.parent_hash FROM messages m JOIN chain c ON m.hash = c.hash WHERE m.parent_hash IS NOT NULL"
    ") SELECT hash FROM chain"
)
"""SQL for the messages of llm's threads: from the last one of a thread to its first.

`:family` is a JSON list of the ids of a session and its descendants.
"""


class DatabaseSession(Struct, frozen=True, kw_only=True):
    """A session as listed in its database.

    `source` is the format's name; `parent` is the session of the same database that started it or that it continues
    ("": none). `updated` is in Unix seconds (0: unknown), `messages` is a number of rows or turns.
    """

    id: str
    source: str
    title: str = ""
    cwd: str = ""
    parent: str = ""
    updated: float = 0.0
    version: str = ""
    messages: int = 0


def list_sessions(database: Path) -> list[DatabaseSession]:
    """List the sessions in the file `database`, newest first; empty if no reader knows it.

    Sessions with a parent are read with it as its threads; a session is as new as its newest descendant. Raises
    `Unreadable`.
    """
    if not is_database(database):
        return []
    with open_readonly(database) as connection:
        tables = set(tables_of(connection))
        if tables >= {"session", "message", "part"} or tables >= {"session_v2", "session_message"}:
            sessions = list(_list_opencode(connection))
        elif tables >= {"sessions", "messages", "schema_version"}:
            sessions = list(_list_goose(connection))
        elif "turns" in tables or {"conversations", "responses"} <= tables:
            sessions = list(_list_llm(connection, tables))
        else:
            return []
    return sorted(_update_times(sessions), key=lambda session: (-session.updated, session.id))


def list_roots(database: Path) -> list[DatabaseSession]:
    """The sessions of `list_sessions` that have no parent, but messages or children."""
    sessions = list_sessions(database)
    return [
        session
        for session in sessions
        if not session.parent and (session.messages or any(c.parent == session.id for c in sessions))
    ]


def find_session(database: Path, name: str) -> DatabaseSession:
    """Find a session by id or title, or the unique beginning of one.

    Raises `NotFound`, `Several`, `Unreadable`.
    """
    sessions = list_sessions(database)
    for matches in _NAME_MATCHES:
        matching = [session for session in sessions if matches(session, name)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise Several(f"{name} fits {_list_some(matching)}", way_out="give more of the id")
    listed = f"it holds {_list_some(sessions)}" if sessions else "it holds no session"
    raise NotFound(f"no session {name} in {database}: {listed}", way_out=f"name one as {database}{MARK}ID")


_NAME_MATCHES: Final[tuple[Callable[[DatabaseSession, str], bool], ...]] = (
    lambda session, name: session.id == name,
    lambda session, name: session.title.lower() == name.lower(),
    lambda session, name: session.id.lower().startswith(name.lower()),
    lambda session, name: session.title.lower().startswith(name.lower()),
)
"""The most exact first."""


def _list_some(sessions: Sequence[DatabaseSession]) -> str:
    named = [
        f"{session.id} ({one_line(session.title)})" if session.title else session.id
        for session in sessions[:_MAX_LISTED]
    ]
    more = f" and {len(sessions) - _MAX_LISTED} more" if len(sessions) > _MAX_LISTED else ""
    return ", ".join(named) + more


def session_filter(database: Path, id_: str) -> RowFilter:
    """A row filter for the session `id_` and its descendants."""
    sessions = list_sessions(database)
    family = [id_]
    for parent in family:
        family += [session.id for session in sessions if session.parent == parent and session.id not in family]
    by_session = next((_ROWS[session.source] for session in sessions if session.source in _ROWS), None)

    def select_rows(connection: sqlite3.Connection, table: str) -> tuple[str, Mapping[str, object]]:
        tips = "tip_message_hash" in _columns(connection, "threads")
        conditions = by_session or _llm_rows(set(tables_of(connection)), tips)
        return conditions.get(table, "1"), {"family": json.dumps(family)}

    return select_rows


_ONE_OF: Final = "IN (SELECT value FROM json_each(:family))"
_ROWS: Final = {
    OPENCODE: {
        "session": f"id {_ONE_OF}",
        "message": f"session_id {_ONE_OF}",
        "part": f"message_id IN (SELECT id FROM message WHERE session_id {_ONE_OF})",
        "session_v2": f"id {_ONE_OF}",
        "session_message": f"session_id {_ONE_OF}",
    },
    GOOSE: {"sessions": f"id {_ONE_OF}", "messages": f"session_id {_ONE_OF}"},
}
"""For each format, the condition for a session's rows in each table."""


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}


def _llm_rows(existing_tables: set[str], tips: bool) -> dict[str, str]:
    """The conditions for those of llm's tables, old and new, that are in `existing_tables`.

    With `tips`, threads name their last message.
    """
    conditions: dict[str, str] = {}
    if "turns" in existing_tables:
        turns = f"turn_id IN (SELECT id FROM turns WHERE thread_id {_ONE_OF})"
        conditions |= {"threads": f"id {_ONE_OF}", "turns": f"thread_id {_ONE_OF}", "turn_tools": turns}
        if "messages" in existing_tables:
            # A fork without any request yet still ends at a message.
            thread_tips = f"UNION SELECT tip_message_hash FROM threads WHERE id {_ONE_OF} " if tips else ""
            chain = _CHAIN.format(threads=thread_tips)
            conditions |= {"messages": f"hash IN ({chain})", "parts": f"message_hash IN ({chain})"}
            if "parts" in existing_tables:
                of_message_parts = f"part_id IN (SELECT id FROM parts WHERE message_hash IN ({chain}))"
                conditions |= {"part_attachments": of_message_parts, "part_fragments": of_message_parts}
    if "responses" in existing_tables:
        own_responses = f"SELECT id FROM responses WHERE coalesce(conversation_id, id) {_ONE_OF}"
        conditions |= {"conversations": f"id {_ONE_OF}", "responses": f"id IN ({own_responses})"}
        related_tables = ("tool_calls", "tool_results", "tool_responses", "prompt_attachments", "prompt_fragments")
        conditions |= dict.fromkeys((*related_tables, "system_fragments"), f"response_id IN ({own_responses})")
    for table, column, tables in _SHARED:
        parts = [
            f"SELECT {column} FROM {name} WHERE {conditions[name]}"
            for name in tables
            if name in existing_tables and name in conditions
        ]
        if parts:
            conditions[table] = f"id IN ({' UNION '.join(parts)})"
    return conditions


_SHARED: Final = (
    ("attachments", "attachment_id", ("part_attachments", "prompt_attachments")),
    ("fragments", "fragment_id", ("part_fragments", "prompt_fragments", "system_fragments")),
)
"""Tables with rows shared by several sessions: the column that refers to them, and the tables that have it."""


def _read_columns(
    connection: sqlite3.Connection, table: str, wanted_columns: Sequence[str]
) -> Iterator[dict[str, Json]]:
    """Yield the rows of `table` with those of the given columns that exist.

    Nothing if none does.
    """
    has = _columns(connection, table)
    columns = ", ".join(name for name in wanted_columns if name in has)
    if columns:
        yield from (dict(row) for row in connection.execute(f'SELECT {columns} FROM "{table}"'))


def _list_opencode(connection: sqlite3.Connection) -> Iterator[DatabaseSession]:
    columns = ("id", "parent_id", "directory", "title", "version", "time_updated")
    tables = ("session_v2", "session")
    session_rows = {as_str(row.get("id")): row for table in tables for row in _read_columns(connection, table, columns)}
    messages_by_session: dict[str, list[dict[str, Json]]] = {id_: [] for id_ in session_rows}
    for table in ("message", "session_message"):
        for row in _read_columns(connection, table, ("session_id", "time_created", "time_updated")):
            messages_by_session.setdefault(as_str(row.get("session_id")), []).append(row)
    for id_, messages in messages_by_session.items():
        row = session_rows.get(id_, {})
        times = [as_time(message.get(key)) or 0.0 for message in messages for key in ("time_created", "time_updated")]
        parent = as_str(row.get("parent_id"))
        yield DatabaseSession(
            id=id_,
            source=OPENCODE,
            title=as_str(row.get("title")),
            cwd=as_str(row.get("directory")),
            parent=parent if parent in messages_by_session else "",
            updated=max(as_time(row.get("time_updated")) or 0.0, *times, 0.0),
            version=as_str(row.get("version")),
            messages=len(messages),
        )


def _list_goose(connection: sqlite3.Connection) -> Iterator[DatabaseSession]:
    counts = Counter(as_str(row.get("session_id")) for row in _read_columns(connection, "messages", ("session_id",)))
    columns = ("id", "name", "description", "working_dir", "updated_at")
    for row in _read_columns(connection, "sessions", columns):
        id_ = as_str(row.get("id"))
        yield DatabaseSession(
            id=id_,
            source=GOOSE,
            title=as_str(row.get("name")) or as_str(row.get("description")),
            cwd=as_str(row.get("working_dir")),
            updated=as_time(row.get("updated_at")) or 0.0,
            messages=counts[id_],
        )


def _list_llm(connection: sqlite3.Connection, existing_tables: set[str]) -> Iterator[DatabaseSession]:
    columns: Sequence[str] = ("id", "name", "forked_from", "datetime_utc")
    tables = [table for table in ("conversations", "threads") if table in existing_tables]
    session_rows = {as_str(row.get("id")): row for table in tables for row in _read_columns(connection, table, columns)}
    times_by_session: dict[str, dict[str, float]] = {id_: {} for id_ in session_rows}
    for table, parent_column in (("responses", "conversation_id"), ("turns", "thread_id")):
        columns = ("id", parent_column, "datetime_utc")
        for row in _read_columns(connection, table, columns) if table in existing_tables else ():
            id_ = as_str(row.get("id"))
            times = times_by_session.setdefault(as_str(row.get(parent_column)) or id_, {})
            times[id_] = as_time(row.get("datetime_utc")) or 0.0
    for name, times in times_by_session.items():
        row = session_rows.get(name, {})
        parent = as_str(row.get("forked_from"))
        yield DatabaseSession(
            id=name,
            source=LLM,
            title=as_str(row.get("name")),
            parent=parent if parent in times_by_session else "",
            updated=max(times.values(), default=0.0) or as_time(row.get("datetime_utc")) or 0.0,
            messages=len(times),
        )


def _update_times(sessions: Sequence[DatabaseSession]) -> list[DatabaseSession]:
    """Update each session's time from its descendants, and break cycles of parents."""
    by_id = {session.id: session for session in sessions}
    for id_ in list(by_id):
        ids, ancestor = {id_}, by_id[id_].parent
        while ancestor and ancestor not in ids:
            ids.add(ancestor)
            by_id[ancestor] = replace(by_id[ancestor], updated=max(by_id[ancestor].updated, by_id[id_].updated))
            ancestor = by_id[ancestor].parent
        if ancestor:
            by_id[id_] = replace(by_id[id_], parent="")
    return list(by_id.values())
