"""Convert MCP tools, resources, prompts and results to ctxtui's types."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ctxtui.agent.tools.tool import shorten
from ctxtui.core.canonical import Json
from ctxtui.project.file_block import IMAGE, image_fault, make_file_block
from ctxtui.wire.speech import ResultImage

if TYPE_CHECKING:
    from mcp.types import CallToolResult, Prompt, Resource, Tool

MAX_TOOL_NAME: Final = 64
"""Maximum length of a tool's name that every provider accepts (facts §8)."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that some provider does not accept in a tool's name."""


class OfferedTool(Struct, frozen=True):
    """A tool of an MCP server.

    `own` is its name there, `name` that for the model; `definition` is in Anthropic's form.
    """

    server: str
    own: str
    name: str
    definition: Json


class OfferedText(Struct, frozen=True):
    """A resource or a prompt of a server.

    `about` is its description, `arguments` are the names of a prompt's arguments.
    """

    name: str
    about: str
    arguments: tuple[str, ...] = ()


def make_tool_name(server: str, tool: str) -> str:
    """Make a tool's name for the model: ``mcp__server__tool``.

    If that is ambiguous, too long, or has characters that a provider refuses, six digits of a digest follow.
    """
    full = f"mcp__{server}__{tool}"
    name = _NOT_IN_NAMES.sub("_", full)
    if name == full and "__" not in f"{server}_" and len(name) <= MAX_TOOL_NAME:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()
    return f"{name[: MAX_TOOL_NAME - 7]}_{digest[:6]}"


def convert_tools(server: str, listed: Sequence[Tool]) -> tuple[OfferedTool, ...]:
    """Convert the tools that `server` lists. The first of two with the same name wins."""
    tools: dict[str, OfferedTool] = {}
    for tool in listed:
        name = make_tool_name(server, tool.name)
        definition = {
            "name": name,
            "description": tool.description or tool.title or "",
            "input_schema": tool.input_schema,
        }
        tools.setdefault(name, OfferedTool(server, tool.name, name, definition))
    return tuple(tools.values())


def convert_resources(listed: Sequence[Resource]) -> tuple[OfferedText, ...]:
    """Convert the resources that a server lists; their names are their URIs."""
    return tuple(
        OfferedText(str(resource.uri), resource.description or resource.title or resource.name) for resource in listed
    )


def convert_prompts(listed: Sequence[Prompt]) -> tuple[OfferedText, ...]:
    return tuple(
        OfferedText(
            prompt.name, prompt.description or prompt.title or "", tuple(a.name for a in prompt.arguments or ())
        )
        for prompt in listed
    )


def convert_result(result: CallToolResult, *, sees: bool) -> tuple[str, tuple[ResultImage, ...]]:
    """Convert a tool result to text, and to images if they are sent to the model (`sees`).

    Parts that are left out are named in the text. Structured content is used only if there is nothing else.
    """
    parts: list[str] = []
    images: list[ResultImage] = []
    for part in result.content:
        if getattr(part, "type", "") != "image":
            parts.append(convert_part(part))
            continue
        image, description = _convert_image(str(getattr(part, "data", "")), sees=sees)
        images += [image] if image is not None else []
        parts.append(f"[image, {description}]" if image is None else f"[image {len(images)}: {description}]")
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return shorten("\n".join(parts) or "(nothing)", "ask for a smaller part of it"), tuple(images)


def _convert_image(data: str, *, sees: bool) -> tuple[ResultImage | None, str]:
    """The image for the model, and a description; None and the reason if it is not sent."""
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return None, "not passed on to the model: not base64"
    file = make_file_block(raw)
    size = f"{len(raw):,} bytes"
    if file.kind != IMAGE or file.size is None:
        return None, f"{size}, not passed on to the model: not an image format that models read"
    description = f"image/{file.size.format}, {file.size.width} x {file.size.height}, {size}"
    trouble = image_fault(file) if sees else "the setting mcp_images is off, or auto with a local model"
    if trouble:
        return None, f"{description}, not passed on to the model: {trouble}"
    return ResultImage(f"image/{file.size.format}", data), description


def convert_part(part: object) -> str:
    """The text of one part of a result or prompt; a description if it has no text."""
    kind = getattr(part, "type", "")
    if kind == "text":
        return str(getattr(part, "text", ""))
    if kind == "resource":
        return resource_text([getattr(part, "resource", None)])
    if kind == "resource_link":
        return f"[{getattr(part, 'uri', '')}: {getattr(part, 'description', None) or getattr(part, 'name', '')}]"
    data, mime = str(getattr(part, "data", "")), getattr(part, "mime_type", kind)
    return f"[{mime}, {len(data) * 3 // 4:,} bytes, not passed on to the model]"


def resource_text(contents: Sequence[object]) -> str:
    texts = []
    for part in contents:
        text = getattr(part, "text", None)
        if text is None:
            size = len(str(getattr(part, "blob", ""))) * 3 // 4
            text = f"[{getattr(part, 'mime_type', None) or 'binary'}, {size:,} bytes, not passed on to the model]"
        texts.append(str(text))
    return "\n".join(texts)
