"""Convert messages and tools from all conventions: GenAI's parts and older events, OpenLLMetry's, OpenInference's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.transcripts.formats.opentelemetry.spans import Attributes, SpanEvent, numbered_entries
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.fields import as_dict, as_dicts, as_list, as_str, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import decode_column

CHOICE: Final = "gen_ai.choice"
_ROLES: Final = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}  # fmt: skip


def genai_messages(value: Json) -> list[Item]:
    """Convert ``gen_ai.input.messages`` and ``gen_ai.output.messages``: JSON text, or the list itself."""
    held = decode_column(value)
    if isinstance(held, str) and held:
        return make_message("user", held)
    messages = [held] if isinstance(held, dict) else as_dicts(held)
    return [item for message in messages for item in _conventional(message)]


def system_items(value: Json) -> list[Item]:
    """Convert ``gen_ai.system_instructions``."""
    held = decode_column(value)
    parts = [held] if isinstance(held, str) and held else [_part(part) for part in as_list(held)]
    made = [blocks.text(part) if isinstance(part, str) else blocks.from_part(part) for part in parts]
    return [Item(block, Place("system")) for block in made]


def tool_items(value: Json) -> list[Item]:
    """Convert tools, as JSON text or a list of definitions, each of which may be JSON text again."""
    found = [decode_column(tool) for tool in as_list(decode_column(value))]
    return [Item(blocks.make(TOOL, tool), Place("tools")) for tool in found if isinstance(tool, dict)]


def _conventional(message: dict[str, Json]) -> list[Item]:
    role = as_str(message.get("role")) or "user"
    if isinstance(message.get("parts"), list):
        return make_message(role, *(_part(part) for part in as_list(message["parts"])))
    return messages.message_items({"role": role, **message})


def _part(part: Json) -> Json:
    held = as_dict(part)
    said = held.get("content", held.get("text"))
    rest = {key: item for key, item in held.items() if key not in ("type", "content", "text")}
    match held.get("type"):
        case "text":
            return {**rest, **messages.text(as_str(said))}
        case "reasoning" | "thinking":
            return {**rest, **messages.thinking(as_str(said), held.get("signature"))}
        case "tool_call":
            given = decode_column(held.get("arguments"))
            return messages.tool_use(held.get("id"), held.get("name"), given if given is not None else {})
        case "tool_call_response":
            answer = held.get("response", held.get("result"))
            return messages.tool_result(held.get("id"), answer if answer is not None else "")
        case "blob":
            mime = as_str(held.get("mime_type")) or "application/octet-stream"
            return _media(mime, {"type": "base64", "media_type": mime, "data": said})
        case "uri":
            return _media(
                as_str(held.get("mime_type")), {"type": "url", "url": held.get("uri")}, as_str(held.get("modality"))
            )
    return part if isinstance(part, dict | str) else {"type": "part", "value": part}


def _media(mime: str, source: dict[str, Json], modality: str = "") -> dict[str, Json]:
    picture = mime.startswith("image/") or modality == "image"
    return {"type": "image" if picture else "document", "source": source}


def event_items(events: Iterable[SpanEvent]) -> tuple[list[Item], list[Item]]:
    """Convert events, one for each message, to the items of the request and of the answer."""
    asked: list[Item] = []
    answered: list[Item] = []
    for event in events:
        held = {**event.attributes, **event.body}
        if event.name == CHOICE:
            message = decode_column(held.get("message"))
            told = message if isinstance(message, dict) else _under(event.attributes, "message.") or held
            answered += _chat({"role": "assistant", **told})
        elif event.name in _ROLES:
            asked += _chat({"role": _ROLES[event.name], **held})
        elif event.name == "gen_ai.content.prompt":
            asked += genai_messages(held.get("gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            answered += genai_messages(held.get("gen_ai.completion"))
    return asked, answered


def _under(attributes: Attributes, start: str) -> Attributes:
    return {name[len(start) :]: value for name, value in attributes.items() if name.startswith(start)}


def _chat(message: dict[str, Json]) -> list[Item]:
    """Convert a message in OpenAI Chat's shape; empty if its content was not captured."""
    calls = decode_column(message.get("tool_calls"))
    held = {key: message[key] for key in ("role", "content", "name") if message.get(key) is not None}
    if isinstance(calls, list) and calls:
        held["tool_calls"] = calls
    if held.keys() <= {"role", "name"}:
        return []
    if message.get("role") == "tool":
        held["tool_call_id"] = message.get("tool_call_id", message.get("id"))
    if not isinstance(held.get("content"), str | list | None):
        held["content"] = canonical.dump_text(held["content"])
    return messages.message_items({"content": None, **held})


def openllmetry_messages(attributes: Attributes, name: str) -> list[Item]:
    """Convert OpenLLMetry's ``gen_ai.prompt.N.*`` and ``gen_ai.completion.N.*``."""
    found: list[Item] = []
    for told in numbered_entries(attributes, name):
        role = as_str(told.get("role")) or ("assistant" if "completion" in name else "user")
        parts: list[Json] = []
        content = told.get("content")
        inner = decode_column(content) if isinstance(content, str) and content.startswith("[{") else content
        if isinstance(inner, list) and all(as_str(part.get("type")) for part in as_dicts(inner)):
            parts += [_part(part) if part.get("type") == "tool_call" else part for part in as_dicts(inner)]
        elif isinstance(content, str) and content and role != "tool":
            parts.append(content)
        if role == "tool":
            answer = inner if isinstance(inner, list) else content
            parts = [messages.tool_result(told.get("tool_call_id"), answer if answer is not None else "")]
        if told.get("reasoning"):
            parts.insert(0, messages.thinking(as_str(told["reasoning"])))
        for call in numbered_entries(told, "tool_calls"):
            given = decode_column(call.get("arguments"))
            parts.append(messages.tool_use(call.get("id"), call.get("name"), given if given is not None else {}))
        found += make_message(role, *parts) if parts else []
    return found


def openllmetry_tools(attributes: Attributes) -> list[Item]:
    """Convert OpenLLMetry's ``llm.request.functions.N.*``."""
    found: list[Json] = []
    for told in numbered_entries(attributes, "llm.request.functions"):
        schema = decode_column(told.get("parameters", told.get("input_schema")))
        found.append({"name": told.get("name"), "description": told.get("description"), "input_schema": schema})
    return tool_items(found)


def openinference_messages(attributes: Attributes, name: str) -> list[Item]:
    """Convert OpenInference's ``llm.input_messages.N.message.*`` and ``llm.output_messages.N.message.*``."""
    found: list[Item] = []
    for told in numbered_entries(attributes, name):
        role = as_str(told.get("message.role")) or ("assistant" if "output" in name else "user")
        contents = [_content(part) for part in numbered_entries(told, "message.contents")]
        parts: list[Json] = [part for part in contents if part is not None]
        said = told.get("message.content")
        if isinstance(said, str) and said and not parts:
            parts.append(said)
        called = {as_str(get_path(part, "id")) for part in parts if get_path(part, "type") == "tool_use"}
        calls = [_call(call) for call in numbered_entries(told, "message.tool_calls")]
        parts += [call for call in calls if as_str(call.get("id")) not in called or not called]
        if role == "tool":
            answer: Json = said if said is not None else parts
            parts = [messages.tool_result(told.get("message.tool_call_id"), answer)]
        found += make_message(role, *parts) if parts else []
    return found


def openinference_tools(attributes: Attributes) -> list[Item]:
    """Convert OpenInference's ``llm.tools.N.tool.json_schema``."""
    return tool_items([told.get("tool.json_schema") for told in numbered_entries(attributes, "llm.tools")])


def _content(part: Attributes) -> Json:
    kind, said = as_str(part.get("message_content.type")), as_str(part.get("message_content.text"))
    match kind:
        case "text" | "input_text" | "output_text":
            return messages.text(said)
        case "reasoning" | "thinking":
            kept = {"encrypted_content": part["message_content.encrypted_content"]} if (
                part.get("message_content.encrypted_content")) else {}  # fmt: skip
            return messages.thinking(said, part.get("message_content.signature"), **kept)
        case "tool_use":
            return _call(part)
        case "tool_result":
            return messages.tool_result(part.get("message_content.tool_use_id"), said)
        case "image":
            link = part.get("message_content.image.image.url", part.get("message_content.image.url"))
            return _media("image/", {"type": "url", "url": link})
    return {"type": kind or "part", **part} if part else None


def _call(part: Attributes) -> dict[str, Json]:
    given = decode_column(part.get("tool_call.function.arguments"))
    name = part.get("tool_call.function.name")
    return messages.tool_use(part.get("tool_call.id"), name, given if given is not None else {})
