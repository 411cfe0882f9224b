"""The sessions that SQLite databases of other programs hold (OpenCode's, Goose's, llm's): listed by their own columns,
named one by one as ``DATABASE#ID``, read as rows. Only ever opened to read (facts §13.4)."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound, Several, Unreadable
from ctxtui.live_database import LOG, has_index
from ctxtui.services.config.format_registry import detect
from ctxtui.services.recordings.databases.address import MAGIC, MARK, is_database
from ctxtui.transcripts.kit.fields import as_str, as_time, get_path, one_line
from ctxtui.transcripts.kit.readers import TABLES_KEY, decode_column

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
        head = _line({TABLES_KEY: known})
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


OPENCODE: Final = "opencode"
LLM: Final = "llm"
GOOSE: Final = "goose"

_LISTED: Final = 6
_CHAIN: Final = (
    "WITH RECURSIVE chain(hash) AS ("
    "SELECT tip_message_hash FROM turns WHERE thread_id IN (SELECT value FROM json_each(:family)) {threads}"
    "UNION SELECT m.parent_hash FROM messages m JOIN chain c ON m.hash = c.hash WHERE m.parent_hash IS NOT NULL"
    ") SELECT hash FROM chain"
)


class DatabaseSession(Struct, frozen=True, kw_only=True):
    """A session as the columns of its database tell it.

    `source` is the format's name, `parent` the session of the same database that began it or that it goes on from ("":
    it stands for itself), `created` and `updated` are Unix seconds (0: not known), `messages` how many rows it has.
    """

    id: str
    source: str
    title: str = ""
    cwd: str = ""
    parent: str = ""
    created: float = 0.0
    updated: float = 0.0
    model: str = ""
    version: str = ""
    messages: int = 0


def sessions_in(database: Path) -> list[DatabaseSession]:
    """The sessions in the file `database`, newest first; none where it is no database that a reader knows.

    Those with a `parent` are read with it, as threads of its; the others are sessions each, as `updated` as whatever
    they began. Raises `Unreadable` where SQLite cannot read it.
    """
    if not is_database(database):
        return []
    with reading(database) as connection:
        there = set(tables_of(connection))
        if there >= {"session", "message", "part"} or there >= {"session_v2", "session_message"}:
            found = list(_opencode(connection))
        elif there >= {"sessions", "messages", "schema_version"}:
            found = list(_goose(connection))
        elif "turns" in there or {"conversations", "responses"} <= there:
            found = list(_llm(connection, there))
        else:
            return []
    return sorted(_with_children(found), key=lambda one: (-one.updated, one.id))


def roots(database: Path) -> list[DatabaseSession]:
    """Those of `sessions_in` that stand for themselves and hold anything."""
    found = sessions_in(database)
    return [one for one in found if not one.parent and (one.messages or any(c.parent == one.id for c in found))]


def found_in(database: Path, wanted: str) -> DatabaseSession:
    """The session of `database` that `wanted` names: its id, its title, or the beginning of one that no other has.

    Raises `NotFound`, `Several`, `Unreadable`.
    """
    there = sessions_in(database)
    for fits in _FITS:
        found = [one for one in there if fits(one, wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Several(f"{wanted} fits {_some(found)}", way_out="give more of the id")
    listed = f"it holds {_some(there)}" if there else "it holds no session"
    raise NotFound(f"no session {wanted} in {database}: {listed}", way_out=f"name one as {database}{MARK}ID")


_FITS: Final[tuple[Callable[[DatabaseSession, str], bool], ...]] = (
    lambda one, wanted: one.id == wanted,
    lambda one, wanted: one.title.lower() == wanted.lower(),
    lambda one, wanted: one.id.lower().startswith(wanted.lower()),
    lambda one, wanted: one.title.lower().startswith(wanted.lower()),
)


def _some(found: Sequence[DatabaseSession]) -> str:
    named = [f"{one.id} ({one_line(one.title)})" if one.title else one.id for one in found[:_LISTED]]
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(named) + more


def rows_of(database: Path, id_: str) -> Wanted:
    """Which rows of `database` belong to the session `id_` and to those that it began."""
    there = sessions_in(database)
    family = [id_]
    for known in family:
        family += [one.id for one in there if one.parent == known and one.id not in family]
    by_session = next((_ROWS[one.source] for one in there if one.source in _ROWS), None)

    def wanted(connection: sqlite3.Connection, table: str) -> tuple[str, Mapping[str, object]]:
        known = by_session or _llm_rows(set(tables_of(connection)), _has_tips(connection))
        return known.get(table, "1"), {"family": json.dumps(family)}

    return wanted


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


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}


def _has_tips(connection: sqlite3.Connection) -> bool:
    return "tip_message_hash" in _columns(connection, "threads")


def _llm_rows(there: set[str], tips: bool) -> dict[str, str]:
    """The conditions for llm's tables, of both generations, that are `there`; `tips` says that threads name the
    message that they end with."""
    made: dict[str, str] = {}
    if "turns" in there:
        turns = f"turn_id IN (SELECT id FROM turns WHERE thread_id {_ONE_OF})"
        made |= {"threads": f"id {_ONE_OF}", "turns": f"thread_id {_ONE_OF}", "turn_tools": turns}
        if "messages" in there:
            # A fork that nothing was asked in yet ends at a message all the same.
            also = f"UNION SELECT tip_message_hash FROM threads WHERE id {_ONE_OF} " if tips else ""
            chain = _CHAIN.format(threads=also)
            made |= {"messages": f"hash IN ({chain})", "parts": f"message_hash IN ({chain})"}
            if "parts" in there:
                inside = f"part_id IN (SELECT id FROM parts WHERE message_hash IN ({chain}))"
                made |= {"part_attachments": inside, "part_fragments": inside}
    if "responses" in there:
        mine = f"SELECT id FROM responses WHERE coalesce(conversation_id, id) {_ONE_OF}"
        made |= {"conversations": f"id {_ONE_OF}", "responses": f"id IN ({mine})"}
        beside = ("tool_calls", "tool_results", "tool_responses", "prompt_attachments", "prompt_fragments")
        made |= dict.fromkeys((*beside, "system_fragments"), f"response_id IN ({mine})")
    for held, column, tables in _SHARED:
        parts = [f"SELECT {column} FROM {name} WHERE {made[name]}" for name in tables if name in there and name in made]
        if parts:
            made[held] = f"id IN ({' UNION '.join(parts)})"
    return made


_SHARED: Final = (
    ("attachments", "attachment_id", ("part_attachments", "prompt_attachments")),
    ("fragments", "fragment_id", ("part_fragments", "prompt_fragments", "system_fragments")),
)
"""Tables whose rows several sessions may share: the column that names one, and the tables that have it."""


def _asked(connection: sqlite3.Connection, table: str, wanted: Sequence[str]) -> Iterator[dict[str, Json]]:
    """The rows of `table` with those of the `wanted` columns that it has; none where it has none."""
    has = _columns(connection, table)
    columns = ", ".join(name for name in wanted if name in has)
    if columns:
        yield from (dict(row) for row in connection.execute(f'SELECT {columns} FROM "{table}"'))


def _opencode(connection: sqlite3.Connection) -> Iterator[DatabaseSession]:
    columns = ("id", "parent_id", "directory", "title", "version", "model", "time_created", "time_updated")
    tables = ("session_v2", "session")
    known = {as_str(row.get("id")): row for table in tables for row in _asked(connection, table, columns)}
    held: dict[str, list[dict[str, Json]]] = {id_: [] for id_ in known}
    for table in ("message", "session_message"):
        for row in _asked(connection, table, ("session_id", "time_created", "time_updated")):
            held.setdefault(as_str(row.get("session_id")), []).append(row)
    for id_, messages in held.items():
        row = known.get(id_, {})
        times = [as_time(one.get(key)) or 0.0 for one in messages for key in ("time_created", "time_updated")]
        parent = as_str(row.get("parent_id"))
        yield DatabaseSession(
            id=id_,
            source=OPENCODE,
            title=as_str(row.get("title")),
            cwd=as_str(row.get("directory")),
            parent=parent if parent in held else "",
            created=as_time(row.get("time_created")) or min(times, default=0.0),
            updated=max(as_time(row.get("time_updated")) or 0.0, *times, 0.0),
            model=as_str(get_path(decode_column(row.get("model")), "id")),
            version=as_str(row.get("version")),
            messages=len(messages),
        )


def _goose(connection: sqlite3.Connection) -> Iterator[DatabaseSession]:
    held = Counter(as_str(row.get("session_id")) for row in _asked(connection, "messages", ("session_id",)))
    columns = ("id", "name", "description", "working_dir", "created_at", "updated_at", "model_config_json")
    for row in _asked(connection, "sessions", columns):
        id_ = as_str(row.get("id"))
        yield DatabaseSession(
            id=id_,
            source=GOOSE,
            title=as_str(row.get("name")) or as_str(row.get("description")),
            cwd=as_str(row.get("working_dir")),
            created=as_time(row.get("created_at")) or 0.0,
            updated=as_time(row.get("updated_at")) or 0.0,
            model=as_str(get_path(decode_column(row.get("model_config_json")), "model_name")),
            messages=held[id_],
        )


def _llm(connection: sqlite3.Connection, there: set[str]) -> Iterator[DatabaseSession]:
    known = {}
    for table in ("conversations", "threads"):
        for row in _asked(connection, table, ("id", "name", "forked_from", "datetime_utc")) if table in there else ():
            known[as_str(row.get("id"))] = row
    said: dict[str, dict[str, dict[str, Json]]] = {id_: {} for id_ in known}
    for table, of in (("responses", "conversation_id"), ("turns", "thread_id")):
        columns = ("id", of, "model", "resolved_model", "datetime_utc")
        for row in _asked(connection, table, columns) if table in there else ():
            id_ = as_str(row.get("id"))
            said.setdefault(as_str(row.get(of)) or id_, {})[id_] = row
    for name, turns in said.items():
        times = [as_time(one.get("datetime_utc")) or 0.0 for one in turns.values()]
        last = max(turns.values(), key=lambda one: (as_str(one.get("datetime_utc")), as_str(one.get("id"))), default={})
        row = known.get(name, {})
        parent = as_str(row.get("forked_from"))
        yield DatabaseSession(
            id=name,
            source=LLM,
            title=as_str(row.get("name")),
            parent=parent if parent in said else "",
            created=min(times, default=0.0) or as_time(row.get("datetime_utc")) or 0.0,
            updated=max(times, default=0.0) or as_time(row.get("datetime_utc")) or 0.0,
            model=as_str(last.get("resolved_model")) or as_str(last.get("model")),
            messages=len(turns),
        )


def _with_children(found: Sequence[DatabaseSession]) -> list[DatabaseSession]:
    """`found`, each as new as the newest of those that it began; one of a ring of parents stands for itself."""
    held = {one.id: one for one in found}
    for id_ in list(held):
        seen, at_ = {id_}, held[id_].parent
        while at_ and at_ not in seen:
            seen.add(at_)
            held[at_] = replace(held[at_], updated=max(held[at_].updated, held[id_].updated))
            at_ = held[at_].parent
        if at_:
            held[id_] = replace(held[id_], parent="")
    return list(held.values())
