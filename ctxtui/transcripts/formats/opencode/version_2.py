"""Messages of OpenCode 2's tables (`session_v2`, `session_message`) in the spelling of version 1."""

from __future__ import annotations

from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.transcripts.formats.opencode.parts import Part
from ctxtui.transcripts.formats.opencode.talk import OpenCodeMessage
from ctxtui.transcripts.kit.fields import at, obj, objects, word
from ctxtui.transcripts.kit.rows import Row, decoded

SESSIONS: Final = "session_v2"
MESSAGES: Final = "session_message"


def message_of(row: Row) -> OpenCodeMessage | None:
    """The message of a row of `MESSAGES`; None for one that no model reads (a switch of agent or model)."""
    data, kind = obj(decoded(row.get("data"))), word(row.get("type"))
    info: dict[str, Json] = {"id": row.get("id"), "time": data.get("time"), "role": "user"}
    match kind:
        case "user" | "synthetic":
            files: list[Part] = [
                {
                    "type": "file",
                    "mime": one.get("mime"),
                    "url": one.get("uri") or one.get("url"),
                    "filename": one.get("name"),
                }
                for one in objects(data.get("files"))
            ]
            return OpenCodeMessage(info, [_text(data.get("text")), *files])
        case "shell":
            return OpenCodeMessage(info, [_text(f"$ {word(data.get('command'))}\n{word(data.get('output'))}")])
        case "compaction":
            ended: dict[str, Json] = {"role": "assistant", "summary": True, "finish": "stop"}
            return OpenCodeMessage(info | ended, [_text(data.get("summary"))])
        case "assistant":
            kept = {key: data[key] for key in ("agent", "finish", "cost", "tokens") if key in data}
            model: dict[str, Json] = {
                "role": "assistant",
                "modelID": at(data, "model", "id"),
                "providerID": at(data, "model", "providerID"),
                "variant": at(data, "model", "variant"),
            }
            error: dict[str, Json] = {"error": _error(obj(data["error"]))} if data.get("error") else {}
            return OpenCodeMessage(info | model | kept | error, [_part(one) for one in objects(data.get("content"))])
    return None


def _text(words: Json) -> Part:
    return {"type": "text", "text": words}


def _error(error: dict[str, Json]) -> dict[str, Json]:
    return {"name": error.get("type") or error.get("name"), "data": {"message": error.get("message")}}


def _part(part: dict[str, Json]) -> Part:
    if part.get("type") != "tool":
        return part
    state = obj(part.get("state"))
    given = objects(state.get("content"))
    output = "\n".join(word(one.get("text")) for one in given if one.get("type") == "text")
    files: list[Json] = [
        {"type": "file", "mime": one.get("mime"), "url": one.get("uri") or one.get("url"), "filename": one.get("name")}
        for one in given
        if one.get("type") == "file"
    ]
    told: dict[str, Json] = {"output": output, "error": at(state, "error", "message"), "attachments": files}
    return {"type": "tool", "callID": part.get("id"), "tool": part.get("name"), "state": {**state, **told}}
