"""OpenCode's exports: one session as JSON, ``{info, messages: [{info, parts}]}``.

Also reads the records of a shared session, ``[{type: session | message | part, data}]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.opencode.database import NAME, session_events
from ctxtui.transcripts.formats.opencode.session_builder import OpenCodeMessage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import as_dicts, get_path
from ctxtui.transcripts.kit.readers import Row, json_reader

_SHARED: Final = frozenset({"session", "message", "part"})


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    if isinstance(first, list):
        kinds = {as_str(row.get("type")) for row in as_dicts(first) if isinstance(row.get("data"), dict)}
        is_opencode = any(as_str(get_path(row, "data", "id")).startswith("ses_") for row in as_dicts(first))
        return 0.95 if is_opencode and kinds & _SHARED else 0.0
    export = as_dict(first)
    if "info" not in export or "trajectory_format" in export:
        return 0.0
    info, messages = as_dict(export["info"]), as_dicts(export.get("messages"))
    if any(
        isinstance(message.get("parts"), list) and as_str(get_path(message, "info", "role"))
        for message in messages[:20]
    ):
        return 0.97
    is_opencode = as_str(info.get("id")).startswith("ses_") or as_str(get_path(messages, 0, "info", "id")).startswith(
        "msg_"
    )
    return 0.96 if is_opencode else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    yield Described(source=NAME)
    export = assemble(value) if isinstance(value, list) else as_dict(value)
    info = as_dict(export.get("info"))
    messages = []
    for n, message in enumerate(as_list(export.get("messages"))):
        if not isinstance(message, dict):
            yield Skipped(1, f"a message that is not an object @ $.messages[{n}]")
            continue
        odd = sum(not isinstance(part, dict) for part in as_list(message.get("parts")))
        if odd:
            yield Skipped(1, f"{odd} part{'s that are not objects' if odd > 1 else ' that is not an object'} "
                             f"@ $.messages[{n}].parts")  # fmt: skip
        messages.append(OpenCodeMessage(as_dict(message.get("info")), as_dicts(message.get("parts"))))
    first = next((message.info for message in messages if message.info.get("sessionID")), {})
    id_ = as_str(info.get("id")) or as_str(first.get("sessionID"))
    # An export's parent is in another file.
    row: Row = {key: info.get(key) for key in ("title", "directory", "version", "metadata")}
    yield from session_events({id_: row}, {id_: messages}, tree)


def messages_in(export: dict[str, Json]) -> list[OpenCodeMessage]:
    return [
        OpenCodeMessage(as_dict(message.get("info")), as_dicts(message.get("parts")))
        for message in as_dicts(export.get("messages"))
    ]


def assemble(records: list[Json]) -> dict[str, Json]:
    """Assemble a session, its messages and their parts from the records of a shared one."""
    by_kind: dict[str, list[dict[str, Json]]] = {}
    for record in as_dicts(records):
        by_kind.setdefault(as_str(record.get("type")), []).append(as_dict(record.get("data")))
    parts: dict[str, list[Json]] = {}
    for part in sorted(by_kind.get("part", []), key=lambda part: as_str(part.get("id"))):
        parts.setdefault(as_str(part.get("messageID")), []).append(part)
    # Ids ascend with time.
    messages = sorted(by_kind.get("message", []), key=lambda message: as_str(message.get("id")))
    return {
        "info": next(iter(by_kind.get("session", [])), {}),
        "messages": [{"info": message, "parts": parts.get(as_str(message.get("id")), [])} for message in messages],
    }


reader = json_reader(read_session)
