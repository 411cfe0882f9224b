"""Convert messages and tools from all conventions: GenAI's parts and older events, OpenLLMetry's, OpenInference's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.transcripts.formats.opentelemetry.spans import Attributes, SpanEvent, numbered
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.fields import at, listed, obj, objects, word
from ctxtui.transcripts.kit.messages import spoken
from ctxtui.transcripts.kit.readers import decoded

CHOICE: Final = "gen_ai.choice"
_ROLES: Final = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}  # fmt: skip


def conventional(value: Json) -> list[Item]:
    """Convert ``gen_ai.input.messages`` and ``gen_ai.output.messages``: JSON text, or the list itself."""
    held = decoded(value)
    if isinstance(held, str) and held:
        return spoken("user", held)
    messages = [held] if isinstance(held, dict) else objects(held)
    return [item for message in messages for item in _conventional(message)]


def instructions(value: Json) -> list[Item]:
    """Convert ``gen_ai.system_instructions``."""
    held = decoded(value)
    parts = [held] if isinstance(held, str) and held else [_part(part) for part in listed(held)]
    made = [blocks.text(part) if isinstance(part, str) else blocks.from_part(part) for part in parts]
    return [Item(block, Place("system")) for block in made]


def offered(value: Json) -> list[Item]:
    """Convert tools, as JSON text or a list of definitions, each of which may be JSON text again."""
    found = [decoded(tool) for tool in listed(decoded(value))]
    return [Item(blocks.make(TOOL, tool), Place("tools")) for tool in found if isinstance(tool, dict)]


def _conventional(message: dict[str, Json]) -> list[Item]:
    role = word(message.get("role")) or "user"
    if isinstance(message.get("parts"), list):
        return spoken(role, *(_part(part) for part in listed(message["parts"])))
    return messages.items({"role": role, **message})


def _part(part: Json) -> Json:
    held = obj(part)
    said = held.get("content", held.get("text"))
    rest = {key: item for key, item in held.items() if key not in ("type", "content", "text")}
    match held.get("type"):
        case "text":
            return {**rest, **messages.text(word(said))}
        case "reasoning" | "thinking":
            return {**rest, **messages.thinking(word(said), held.get("signature"))}
        case "tool_call":
            given = decoded(held.get("arguments"))
            return messages.tool_use(held.get("id"), held.get("name"), given if given is not None else {})
        case "tool_call_response":
            answer = held.get("response", held.get("result"))
            return messages.tool_result(held.get("id"), answer if answer is not None else "")
        case "blob":
            mime = word(held.get("mime_type")) or "application/octet-stream"
            return _media(mime, {"type": "base64", "media_type": mime, "data": said})
        case "uri":
            return _media(
                word(held.get("mime_type")), {"type": "url", "url": held.get("uri")}, word(held.get("modality"))
            )
    return part if isinstance(part, dict | str) else {"type": "part", "value": part}


def _media(mime: str, source: dict[str, Json], modality: str = "") -> dict[str, Json]:
    picture = mime.startswith("image/") or modality == "image"
    return {"type": "image" if picture else "document", "source": source}


def of_events(events: Iterable[SpanEvent]) -> tuple[list[Item], list[Item]]:
    """Convert events, one for each message, to the items of the request and of the answer."""
    asked: list[Item] = []
    answered: list[Item] = []
    for event in events:
        held = {**event.attributes, **event.body}
        if event.name == CHOICE:
            message = decoded(held.get("message"))
            told = message if isinstance(message, dict) else _under(event.attributes, "message.") or held
            answered += _chat({"role": "assistant", **told})
        elif event.name in _ROLES:
            asked += _chat({"role": _ROLES[event.name], **held})
        elif event.name == "gen_ai.content.prompt":
            asked += conventional(held.get("gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            answered += conventional(held.get("gen_ai.completion"))
    return asked, answered


def _under(attributes: Attributes, start: str) -> Attributes:
    return {name[len(start) :]: value for name, value in attributes.items() if name.startswith(start)}


def _chat(message: dict[str, Json]) -> list[Item]:
    """Convert a message in OpenAI Chat's shape; empty if its content was not captured."""
    calls = decoded(message.get("tool_calls"))
    held = {key: message[key] for key in ("role", "content", "name") if message.get(key) is not None}
    if isinstance(calls, list) and calls:
        held["tool_calls"] = calls
    if held.keys() <= {"role", "name"}:
        return []
    if message.get("role") == "tool":
        held["tool_call_id"] = message.get("tool_call_id", message.get("id"))
    if not isinstance(held.get("content"), str | list | None):
        held["content"] = canonical.dump_text(held["content"])
    return messages.items({"content": None, **held})


def of_numbers(attributes: Attributes, name: str) -> list[Item]:
    """Convert OpenLLMetry's ``gen_ai.prompt.N.*`` and ``gen_ai.completion.N.*``."""
    found: list[Item] = []
    for told in numbered(attributes, name):
        role = word(told.get("role")) or ("assistant" if "completion" in name else "user")
        parts: list[Json] = []
        content = told.get("content")
        inner = decoded(content) if isinstance(content, str) and content.startswith("[{") else content
        if isinstance(inner, list) and all(word(part.get("type")) for part in objects(inner)):
            parts += [_part(part) if part.get("type") == "tool_call" else part for part in objects(inner)]
        elif isinstance(content, str) and content and role != "tool":
            parts.append(content)
        if role == "tool":
            answer = inner if isinstance(inner, list) else content
            parts = [messages.tool_result(told.get("tool_call_id"), answer if answer is not None else "")]
        if told.get("reasoning"):
            parts.insert(0, messages.thinking(word(told["reasoning"])))
        for call in numbered(told, "tool_calls"):
            given = decoded(call.get("arguments"))
            parts.append(messages.tool_use(call.get("id"), call.get("name"), given if given is not None else {}))
        found += spoken(role, *parts) if parts else []
    return found


def functions(attributes: Attributes) -> list[Item]:
    """Convert OpenLLMetry's ``llm.request.functions.N.*``."""
    found: list[Json] = []
    for told in numbered(attributes, "llm.request.functions"):
        schema = decoded(told.get("parameters", told.get("input_schema")))
        found.append({"name": told.get("name"), "description": told.get("description"), "input_schema": schema})
    return offered(found)


def of_openinference(attributes: Attributes, name: str) -> list[Item]:
    """Convert OpenInference's ``llm.input_messages.N.message.*`` and ``llm.output_messages.N.message.*``."""
    found: list[Item] = []
    for told in numbered(attributes, name):
        role = word(told.get("message.role")) or ("assistant" if "output" in name else "user")
        contents = [_content(part) for part in numbered(told, "message.contents")]
        parts: list[Json] = [part for part in contents if part is not None]
        said = told.get("message.content")
        if isinstance(said, str) and said and not parts:
            parts.append(said)
        called = {word(at(part, "id")) for part in parts if at(part, "type") == "tool_use"}
        calls = [_call(call) for call in numbered(told, "message.tool_calls")]
        parts += [call for call in calls if word(call.get("id")) not in called or not called]
        if role == "tool":
            answer: Json = said if said is not None else parts
            parts = [messages.tool_result(told.get("message.tool_call_id"), answer)]
        found += spoken(role, *parts) if parts else []
    return found


def schemas(attributes: Attributes) -> list[Item]:
    """Convert OpenInference's ``llm.tools.N.tool.json_schema``."""
    return offered([told.get("tool.json_schema") for told in numbered(attributes, "llm.tools")])


def _content(part: Attributes) -> Json:
    kind, said = word(part.get("message_content.type")), word(part.get("message_content.text"))
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
    given = decoded(part.get("tool_call.function.arguments"))
    name = part.get("tool_call.function.name")
    return messages.tool_use(part.get("tool_call.id"), name, given if given is not None else {})
