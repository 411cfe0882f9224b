"""Converts parts of Google's API, as clients record them, to Anthropic's spelling."""

from __future__ import annotations

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.transcripts.kit import messages


def convert_parts(content: Json) -> list[Json]:
    """Convert content (a string, a part or a list of parts) to parts in Anthropic's spelling."""
    raw_parts = [content] if isinstance(content, str | dict) else as_list(content)
    return [_convert_part(part) for part in raw_parts]


def _convert_part(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    other_members = {key: item for key, item in part.items() if item is not None}
    text = other_members.pop("text", None)
    if isinstance(text, str):
        thought = other_members.pop("thought", False) is True
        signature = other_members.pop("thoughtSignature", None) if thought else None
        return messages.thinking(text, signature, **other_members) if thought else messages.text(text, **other_members)
    call = as_dict(_pop_first(other_members, "functionCall", "function_call"))
    if call:
        return messages.tool_use(
            call.get("id") or call.get("name"), call.get("name"), call.get("args", {}), **other_members
        )
    answer = as_dict(_pop_first(other_members, "functionResponse", "function_response"))
    if answer:
        id_ = answer.get("id") or answer.get("name")
        return {**messages.tool_result(id_, answer.get("response")), "name": answer.get("name"), **other_members}
    data = as_dict(_pop_first(other_members, "inlineData", "inline_data"))
    if data:
        return _make_media(
            as_str(data.get("mimeType", data.get("mime_type"))), {"data": data.get("data")}, other_members
        )
    file = as_dict(_pop_first(other_members, "fileData", "file_data"))
    if file:
        kind = as_str(file.get("mimeType", file.get("mime_type")))
        return _make_media(kind, {"url": file.get("fileUri", file.get("file_uri"))}, other_members)
    return {"type": next(iter(other_members), "part"), **other_members}


def _pop_first(part_members: dict[str, Json], *keys: str) -> Json:
    values = [part_members.pop(key) for key in keys if key in part_members]
    return values[0] if values else None


def _make_media(kind: str, location: dict[str, Json], other_members: dict[str, Json]) -> Json:
    source = {"type": "base64" if "data" in location else "url", "media_type": kind, **location}
    return {"type": "image" if kind.startswith("image/") else "document", "source": source, **other_members}
