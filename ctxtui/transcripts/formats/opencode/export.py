"""OpenCode's exports (``opencode export``): one session as JSON, ``{info, messages: [{info, parts}]}``.

Also reads the records of a shared session, ``[{type: session | message | part, data}]``, from which it is assembled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.opencode.database import NAME, told
from ctxtui.transcripts.formats.opencode.talk import OpenCodeMessage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import at, listed, obj, objects, word
from ctxtui.transcripts.kit.readers import Row, json_reader

_SHARED: Final = frozenset({"session", "message", "part"})


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins an export."""
    first = next(iter(file_head.values(head)), None)
    if isinstance(first, list):
        kinds = {word(one.get("type")) for one in objects(first) if isinstance(one.get("data"), dict)}
        ours = any(word(at(one, "data", "id")).startswith("ses_") for one in objects(first))
        return 0.95 if ours and kinds & _SHARED else 0.0
    whole = obj(first)
    if "info" not in whole or "trajectory_format" in whole:
        return 0.0
    info, messages = obj(whole["info"]), objects(whole.get("messages"))
    if any(isinstance(one.get("parts"), list) and word(at(one, "info", "role")) for one in messages[:20]):
        return 0.97
    ours = word(info.get("id")).startswith("ses_") or word(at(messages, 0, "info", "id")).startswith("msg_")
    return 0.96 if ours else 0.0


def take(value: Json, tree: Tree) -> Iterator[Event]:
    """Yield the events of an export."""
    yield Described(source=NAME)
    whole = put_together(value) if isinstance(value, list) else obj(value)
    info = obj(whole.get("info"))
    messages = []
    for n, message in enumerate(listed(whole.get("messages"))):
        if not isinstance(message, dict):
            yield Skipped(1, f"a message that is no object @ $.messages[{n}]")
            continue
        odd = sum(not isinstance(part, dict) for part in listed(message.get("parts")))
        if odd:
            yield Skipped(1, f"{odd} part{'s that are no objects' if odd > 1 else ' that is no object'} "
                             f"@ $.messages[{n}].parts")  # fmt: skip
        messages.append(OpenCodeMessage(obj(message.get("info")), objects(message.get("parts"))))
    first = next((one.info for one in messages if one.info.get("sessionID")), {})
    id_ = word(info.get("id")) or word(first.get("sessionID"))
    # An export's parent is in another file.
    row: Row = {key: info.get(key) for key in ("title", "directory", "version", "metadata")}
    yield from told({id_: row}, {id_: messages}, tree)


def said_in(whole: dict[str, Json]) -> list[OpenCodeMessage]:
    """List the messages of an export, in its order."""
    return [OpenCodeMessage(obj(one.get("info")), objects(one.get("parts"))) for one in objects(whole.get("messages"))]


def put_together(records: list[Json]) -> dict[str, Json]:
    """Assemble a session, its messages and their parts from the records of a shared one."""
    held: dict[str, list[dict[str, Json]]] = {}
    for record in objects(records):
        held.setdefault(word(record.get("type")), []).append(obj(record.get("data")))
    parts: dict[str, list[Json]] = {}
    for part in sorted(held.get("part", []), key=lambda part: word(part.get("id"))):
        parts.setdefault(word(part.get("messageID")), []).append(part)
    # Ids ascend with time.
    said = sorted(held.get("message", []), key=lambda message: word(message.get("id")))
    return {
        "info": next(iter(held.get("session", [])), {}),
        "messages": [{"info": one, "parts": parts.get(word(one.get("id")), [])} for one in said],
    }


reader = json_reader(take)
