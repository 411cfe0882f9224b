"""One session of OpenCode as its export has it, from whichever of its recordings: an export, a database, files."""

from __future__ import annotations

from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.core.errors import CtxtuiError
from ctxtui.transcripts.formats.opencode.database import messages_of
from ctxtui.transcripts.formats.opencode.export import put_together, said_in
from ctxtui.transcripts.formats.opencode.talk import OpenCodeMessage
from ctxtui.transcripts.kit.fields import obj, word
from ctxtui.transcripts.kit.rows import Tables, decoded

_NAMES: Final = {"project_id": "projectID", "workspace_id": "workspaceID"}
_AS_THEY_ARE: Final = ("id", "slug", "directory", "path", "title", "version", "agent", "cost")
_DECODED: Final = ("model", "permission", "metadata")


def source_of(source: bytes, session: str) -> tuple[dict[str, Any], list[OpenCodeMessage]]:
    """What the `session` (its id) in `source` says of itself, and its messages. Raises `CtxtuiError` where it is not
    there."""
    try:
        whole = canonical.loads(source)
    except ValueError:
        whole = None
    if isinstance(whole, list):
        whole = put_together(whole)
    if isinstance(whole, dict) and "messages" in whole:
        return obj(whole.get("info")), said_in(whole)
    tables: Tables = {}
    for line in source.splitlines():
        record = obj(canonical.loads(line))
        if isinstance(record.get("row"), dict):
            tables.setdefault(word(record.get("table")), []).append(obj(record["row"]))
    rows = {word(row.get("id")): row for row in tables.get("session", [])}
    messages = messages_of(tables)
    if session not in messages:
        raise CtxtuiError("the session's messages are not in the recording", place=session)
    return _info(rows.get(session, {})), messages[session]


def _info(row: dict[str, Any]) -> dict[str, Any]:
    """What a row of the database says, as an export spells it. A file of the older storage is an export's `info`."""
    if "time" in row:
        return row
    made = {key: row[key] for key in _AS_THEY_ARE if row.get(key) is not None}
    made |= {name: row[key] for key, name in _NAMES.items() if row.get(key) is not None}
    made |= {key: decoded(row[key]) for key in _DECODED if row.get(key) is not None}
    return made | {"time": {"created": row.get("time_created"), "updated": row.get("time_updated")}}
