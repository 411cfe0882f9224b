"""OpenCode's database, or its files as rows: sessions, messages, and their parts.

The last updated session whose parent is not in the recording is the main thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.call import MAKER
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import MAIN, Described, Event, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.opencode.parts import Part
from ctxtui.transcripts.formats.opencode.session_builder import CLIENT, OpenCodeMessage, SessionBuilder
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path
from ctxtui.transcripts.kit.readers import Row, Tables, decode_column, rows_reader, tables_in

_SESSIONS: Final = "session_v2"
_MESSAGES: Final = "session_message"


def _convert_message(row: Row) -> OpenCodeMessage | None:
    """Convert a row of `_MESSAGES`; None if no model reads it (a switch of agent or model)."""
    data, kind = as_dict(decode_column(row.get("data"))), as_str(row.get("type"))
    info: dict[str, Json] = {"id": row.get("id"), "time": data.get("time"), "role": "user"}
    match kind:
        case "user" | "synthetic":
            files: list[Part] = [
                {
                    "type": "file",
                    "mime": file.get("mime"),
                    "url": file.get("uri") or file.get("url"),
                    "filename": file.get("name"),
                }
                for file in as_dicts(data.get("files"))
            ]
            return OpenCodeMessage(info, [_text_part(data.get("text")), *files])
        case "shell":
            return OpenCodeMessage(info, [_text_part(f"$ {as_str(data.get('command'))}\n{as_str(data.get('output'))}")])
        case "compaction":
            ended: dict[str, Json] = {"role": "assistant", "summary": True, "finish": "stop"}
            return OpenCodeMessage(info | ended, [_text_part(data.get("summary"))])
        case "assistant":
            fields = {key: data[key] for key in ("agent", "finish", "cost", "tokens") if key in data}
            model: dict[str, Json] = {
                "role": "assistant",
                "modelID": get_path(data, "model", "id"),
                "providerID": get_path(data, "model", "providerID"),
                "variant": get_path(data, "model", "variant"),
            }
            error: dict[str, Json] = {"error": _convert_error(as_dict(data["error"]))} if data.get("error") else {}
            return OpenCodeMessage(
                info | model | fields | error, [_convert_part(part) for part in as_dicts(data.get("content"))]
            )
    return None


def _text_part(text: Json) -> Part:
    return {"type": "text", "text": text}


def _convert_error(error: dict[str, Json]) -> dict[str, Json]:
    return {"name": error.get("type") or error.get("name"), "data": {"message": error.get("message")}}


def _convert_part(part: dict[str, Json]) -> Part:
    if part.get("type") != "tool":
        return part
    state = as_dict(part.get("state"))
    content = as_dicts(state.get("content"))
    output = "\n".join(as_str(part.get("text")) for part in content if part.get("type") == "text")
    files: list[Json] = [
        {
            "type": "file",
            "mime": part.get("mime"),
            "url": part.get("uri") or part.get("url"),
            "filename": part.get("name"),
        }
        for part in content
        if part.get("type") == "file"
    ]
    result: dict[str, Json] = {"output": output, "error": get_path(state, "error", "message"), "attachments": files}
    return {"type": "tool", "callID": part.get("id"), "tool": part.get("name"), "state": {**state, **result}}


NAME: Final = "opencode"
_TABLES: Final = (frozenset({"session", "message", "part"}), frozenset({_SESSIONS, _MESSAGES}))
"""The tables of version 1 and of version 2; a database may have both."""


def sniff(head: bytes, name: str) -> float:
    if any(tables_in(head) >= tables for tables in _TABLES):
        return 0.95
    first = as_dict(next(iter(file_head.parse_values(head)), None))
    is_opencode = (
        as_str(first.get("id")).startswith("ses_") and "time" in first and {"directory", "projectID"} & first.keys()
    )
    return 0.9 if is_opencode else 0.0


def sessions_of(tables: Tables) -> dict[str, Row]:
    """Collect the rows of the sessions by id; those of version 1 of the tables take precedence."""
    rows = [*tables.get(_SESSIONS, []), *tables.get("session", [])]
    return {as_str(row.get("id")): row for row in rows}


def messages_of(tables: Tables) -> dict[str, list[OpenCodeMessage]]:
    """Collect the messages of each session in order; those of version 1 take precedence."""
    parts = _group_rows(tables.get("part", []), "message_id", timed=False)
    rows = sorted(tables.get(_MESSAGES, []), key=lambda row: as_count(row.get("seq")))
    newer: dict[str, list[OpenCodeMessage]] = {}
    for row in rows:
        message = _convert_message(row)
        if message is not None:
            newer.setdefault(as_str(row.get("session_id")), []).append(message)
    return newer | {
        id_: [
            OpenCodeMessage({"id": as_str(row.get("id")), **as_dict(decode_column(row.get("data")))},
                 [as_dict(decode_column(part.get("data"))) for part in parts.get(as_str(row.get("id")), [])])
            for row in rows
        ]
        for id_, rows in _group_rows(tables.get("message", []), "session_id").items()
    }  # fmt: skip


def session_events(
    sessions: Mapping[str, Row], messages: Mapping[str, Sequence[OpenCodeMessage]], tree: Tree
) -> Iterator[Event]:
    """Yield the events of sessions, rows by their ids, with the messages of each in order."""
    roots = [id_ for id_ in messages if as_str(sessions.get(id_, {}).get("parent_id")) not in sessions] or list(
        messages
    )
    newest = max(roots, key=lambda id_: _read_time(sessions.get(id_, {}), "time_updated"), default="")
    ids = Ids()
    names = {id_: MAIN if id_ == newest else id_ for id_ in {**sessions, **messages}}
    row = sessions.get(newest, {})
    directory, version = as_str(row.get("directory")), as_str(row.get("version"))
    yield Described(newest, as_str(row.get("title")), NAME, cwd=directory, client=CLIENT, version=version)
    for id_ in sorted(messages, key=lambda id_: (id_ != newest, id_)):
        session = sessions.get(id_, {})
        parent = names.get(as_str(session.get("parent_id")), "")
        yield ThreadSeen(names[id_], as_str(session.get("title")), parent if parent != names[id_] else "")
        own_notes = as_dict(get_path(decode_column(session.get("metadata")), MAKER))
        estimated, copied = (frozenset(map(as_str, as_list(own_notes.get(name)))) for name in ("estimated", "copied"))
        yield from SessionBuilder(Dialogue(tree, names[id_], ids), estimated, copied).add_messages(messages[id_])


def _group_rows(rows: list[Row], key: str, timed: bool = True) -> dict[str, list[Row]]:
    """Group rows by a column, in OpenCode's order: messages by time and id, parts by id."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (_read_time(row, "time_created") if timed else 0.0, as_str(row.get("id")))):
        groups.setdefault(as_str(row.get(key)), []).append(row)
    return groups


def _read_time(row: Row, key: str) -> float:
    return as_time(row.get(key)) or 0.0


reader = rows_reader(lambda tables, tree: session_events(sessions_of(tables), messages_of(tables), tree))
