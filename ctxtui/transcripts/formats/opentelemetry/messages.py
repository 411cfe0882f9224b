"""Converts messages and tools of OpenTelemetry's conventions to items.

Supported are the GenAI conventions (parts, and older events), and the attributes of OpenLLMetry and OpenInference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.transcripts.formats.opentelemetry.spans import Attributes, SpanEvent, numbered_entries
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.fields import as_dicts, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import decode_column

_CHOICE: Final = "gen_ai.choice"
_ROLES: Final = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}  # fmt: skip


def genai_messages(value: Json, role: str) -> list[Item]:
    """Convert ``gen_ai.input.messages`` and ``gen_ai.output.messages``, as JSON text or a list.

    Text that is no JSON becomes one message of `role`, which a message may also lack.
    """
    content = decode_column(value)
    if isinstance(content, str) and content:
        return make_message(role, content)
    content_messages = [content] if isinstance(content, dict) else as_dicts(content)
    return [item for message in content_messages for item in _convert_genai_message(message, role)]


def system_items(value: Json) -> list[Item]:
    content = decode_column(value)
    parts = [content] if isinstance(content, str) and content else [_convert_part(part) for part in as_list(content)]
    system_blocks = [blocks.text(part) if isinstance(part, str) else blocks.from_part(part) for part in parts]
    return [Item(block, Place("system")) for block in system_blocks]


def tool_items(value: Json) -> list[Item]:
    """Convert tools: a list of definitions, all of it or each of them perhaps as JSON text."""
    definitions = [decode_column(tool) for tool in as_list(decode_column(value))]
    return [Item(blocks.make(TOOL, tool), Place("tools")) for tool in definitions if isinstance(tool, dict)]


def _convert_genai_message(message: dict[str, Json], role: str) -> list[Item]:
    role = as_str(message.get("role")) or role
    if isinstance(message.get("parts"), list):
        return make_message(role, *(_convert_part(part) for part in as_list(message["parts"])))
    return messages.message_items({"role": role, **message})


def _convert_part(part: Json) -> Json:
    fields = as_dict(part)
    content = fields.get("content", fields.get("text"))
    other_members = {key: item for key, item in fields.items() if key not in ("type", "content", "text")}
    match fields.get("type"):
        case "text":
            return {**other_members, **messages.text(as_str(content))}
        case "reasoning" | "thinking":
            return {**other_members, **messages.thinking(as_str(content), fields.get("signature"))}
        case "tool_call":
            arguments = decode_column(fields.get("arguments"))
            return messages.tool_use(fields.get("id"), fields.get("name"), arguments if arguments is not None else {})
        case "tool_call_response":
            answer = fields.get("response", fields.get("result"))
            return messages.tool_result(fields.get("id"), answer if answer is not None else "")
        case "blob":
            mime = as_str(fields.get("mime_type")) or "application/octet-stream"
            return _make_media(mime, {"type": "base64", "media_type": mime, "data": content})
        case "uri":
            return _make_media(
                as_str(fields.get("mime_type")),
                {"type": "url", "url": fields.get("uri")},
                as_str(fields.get("modality")),
            )
    return part if isinstance(part, dict | str) else {"type": "part", "value": part}


def _make_media(mime: str, source: dict[str, Json], modality: str = "") -> dict[str, Json]:
    picture = mime.startswith("image/") or modality == "image"
    return {"type": "image" if picture else "document", "source": source}


def event_items(events: Iterable[SpanEvent]) -> tuple[list[Item], list[Item]]:
    """Convert events, one for each message, to the items of the request and of the answer."""
    request_items: list[Item] = []
    answer_items: list[Item] = []
    for event in events:
        fields = {**event.attributes, **event.body}
        if event.name == _CHOICE:
            message = decode_column(fields.get("message"))
            start = "message."
            members = {name[len(start) :]: v for name, v in event.attributes.items() if name.startswith(start)}
            event_message = message if isinstance(message, dict) else members or fields
            answer_items += _convert_chat_message({"role": "assistant", **event_message})
        elif event.name in _ROLES:
            request_items += _convert_chat_message({"role": _ROLES[event.name], **fields})
        elif event.name == "gen_ai.content.prompt":
            request_items += genai_messages(fields.get("gen_ai.prompt"), "user")
        elif event.name == "gen_ai.content.completion":
            answer_items += genai_messages(fields.get("gen_ai.completion"), "assistant")
    return request_items, answer_items


def _convert_chat_message(message: dict[str, Json]) -> list[Item]:
    """Convert a message in OpenAI Chat's shape; empty if its content was not captured."""
    calls = decode_column(message.get("tool_calls"))
    fields = {key: message[key] for key in ("role", "content", "name") if message.get(key) is not None}
    if isinstance(calls, list) and calls:
        fields["tool_calls"] = calls
    if fields.keys() <= {"role", "name"}:
        return []
    if message.get("role") == "tool":
        fields["tool_call_id"] = message.get("tool_call_id", message.get("id"))
    if not isinstance(fields.get("content"), str | list | None):
        fields["content"] = canonical.dump_text(fields["content"])
    return messages.message_items({"content": None, **fields})


def openllmetry_messages(attributes: Attributes, name: str) -> list[Item]:
    """Convert OpenLLMetry's ``gen_ai.prompt.N.*`` and ``gen_ai.completion.N.*``."""
    items: list[Item] = []
    for fields in numbered_entries(attributes, name):
        role = as_str(fields.get("role")) or ("assistant" if "completion" in name else "user")
        parts: list[Json] = []
        content = fields.get("content")
        inner = decode_column(content) if isinstance(content, str) and content.startswith("[{") else content
        if isinstance(inner, list) and all(as_str(part.get("type")) for part in as_dicts(inner)):
            parts += [_convert_part(part) if part.get("type") == "tool_call" else part for part in as_dicts(inner)]
        elif isinstance(content, str) and content and role != "tool":
            parts.append(content)
        if role == "tool":
            answer = inner if isinstance(inner, list) else content
            parts = [messages.tool_result(fields.get("tool_call_id"), answer if answer is not None else "")]
        if fields.get("reasoning"):
            parts.insert(0, messages.thinking(as_str(fields["reasoning"])))
        for call in numbered_entries(fields, "tool_calls"):
            arguments = decode_column(call.get("arguments"))
            parts.append(
                messages.tool_use(call.get("id"), call.get("name"), arguments if arguments is not None else {})
            )
        items += make_message(role, *parts) if parts else []
    return items


def openllmetry_tools(attributes: Attributes) -> list[Item]:
    """Convert OpenLLMetry's ``llm.request.functions.N.*``."""
    definitions: list[Json] = []
    for fields in numbered_entries(attributes, "llm.request.functions"):
        schema = decode_column(fields.get("parameters", fields.get("input_schema")))
        definitions.append(
            {"name": fields.get("name"), "description": fields.get("description"), "input_schema": schema}
        )
    return tool_items(definitions)


def openinference_messages(attributes: Attributes, name: str) -> list[Item]:
    """Convert OpenInference's ``llm.input_messages.N.message.*`` or ``llm.output_messages...``."""
    items: list[Item] = []
    for fields in numbered_entries(attributes, name):
        role = as_str(fields.get("message.role")) or ("assistant" if "output" in name else "user")
        contents = [_convert_content(part) for part in numbered_entries(fields, "message.contents")]
        parts: list[Json] = [part for part in contents if part is not None]
        content = fields.get("message.content")
        if isinstance(content, str) and content and not parts:
            parts.append(content)
        called = {as_str(get_path(part, "id")) for part in parts if get_path(part, "type") == "tool_use"}
        calls = [_convert_call(call) for call in numbered_entries(fields, "message.tool_calls")]
        parts += [call for call in calls if as_str(call.get("id")) not in called]
        if role == "tool":
            answer: Json = content if content is not None else parts
            parts = [messages.tool_result(fields.get("message.tool_call_id"), answer)]
        items += make_message(role, *parts) if parts else []
    return items


def openinference_tools(attributes: Attributes) -> list[Item]:
    """Convert OpenInference's ``llm.tools.N.tool.json_schema``."""
    return tool_items([entry.get("tool.json_schema") for entry in numbered_entries(attributes, "llm.tools")])


def _convert_content(part: Attributes) -> Json:
    kind, content = as_str(part.get("message_content.type")), as_str(part.get("message_content.text"))
    match kind:
        case "text" | "input_text" | "output_text":
            return messages.text(content)
        case "reasoning" | "thinking":
            cipher_member = {"encrypted_content": part["message_content.encrypted_content"]} if (
                part.get("message_content.encrypted_content")) else {}  # fmt: skip
            return messages.thinking(content, part.get("message_content.signature"), **cipher_member)
        case "tool_use":
            return _convert_call(part)
        case "tool_result":
            return messages.tool_result(part.get("message_content.tool_use_id"), content)
        case "image":
            link = part.get("message_content.image.image.url", part.get("message_content.image.url"))
            return _make_media("image/", {"type": "url", "url": link})
    return {"type": kind or "part", **part} if part else None


def _convert_call(part: Attributes) -> dict[str, Json]:
    arguments = decode_column(part.get("tool_call.function.arguments"))
    name = part.get("tool_call.function.name")
    return messages.tool_use(part.get("tool_call.id"), name, arguments if arguments is not None else {})
