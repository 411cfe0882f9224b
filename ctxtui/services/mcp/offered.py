"""What an MCP server offers, in the words of ctxtui: tools as definitions, results as text and images."""

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
from ctxtui.project.file_block import IMAGE, file_block, image_trouble
from ctxtui.wire.speech import ResultImage

if TYPE_CHECKING:
    from mcp.types import CallToolResult, Prompt, Resource, Tool

LONGEST: Final = 64
"""Characters of a tool's name that every provider takes (facts §8)."""
_ODD: Final = re.compile(r"[^a-zA-Z0-9_-]")


class OfferedTool(Struct, frozen=True):
    """A tool of `server`: its `own` name there, the model's `name` for it, its `definition` (Anthropic's form)."""

    server: str
    own: str
    name: str
    definition: Json


class OfferedText(Struct, frozen=True):
    """A resource or a prompt of a server: what it is called, what it says of itself, and the `arguments` it needs."""

    name: str
    about: str
    arguments: tuple[str, ...] = ()


def model_name(server: str, tool: str) -> str:
    """The name by which a model knows a tool (``mcp__server__tool``), as every provider takes it."""
    full = f"mcp__{_ODD.sub('_', server)}__{_ODD.sub('_', tool)}"
    if len(full) <= LONGEST:
        return full
    return f"{full[: LONGEST - 7]}_{hashlib.sha256(f'{server} {tool}'.encode()).hexdigest()[:6]}"


def tools_of(server: str, listed: Sequence[Tool]) -> tuple[OfferedTool, ...]:
    """The tools that `server` lists. Of two with one name the model gets the first."""
    found: dict[str, OfferedTool] = {}
    for tool in listed:
        name = model_name(server, tool.name)
        said = {"name": name, "description": tool.description or tool.title or "", "input_schema": tool.input_schema}
        found.setdefault(name, OfferedTool(server, tool.name, name, said))
    return tuple(found.values())


def resources_of(listed: Sequence[Resource]) -> tuple[OfferedText, ...]:
    """The resources that a server lists, by their addresses."""
    return tuple(OfferedText(str(one.uri), one.description or one.title or one.name) for one in listed)


def prompts_of(listed: Sequence[Prompt]) -> tuple[OfferedText, ...]:
    """The prompts that a server lists."""
    return tuple(
        OfferedText(one.name, one.description or one.title or "", tuple(a.name for a in one.arguments or ()))
        for one in listed
    )


def content_of(result: CallToolResult, *, sees: bool) -> tuple[str, tuple[ResultImage, ...]]:
    """What the model reads of a result, and the images in it if the model `sees`. What it does not get is named with
    its size and the reason."""
    parts: list[str] = []
    images: list[ResultImage] = []
    for part in result.content:
        if getattr(part, "type", "") != "image":
            parts.append(_part(part))
            continue
        image, told = _image(str(getattr(part, "data", "")), sees=sees)
        images += [image] if image is not None else []
        parts.append(f"[image {len(images)}: {told}]" if image is not None else f"[image, {told}]")
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return shorten("\n".join(parts) or "(nothing)", "ask for a smaller part of it"), tuple(images)


def _image(data: str, *, sees: bool) -> tuple[ResultImage | None, str]:
    """An image as a model takes it, and what it is in words; None where it does not."""
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return None, "not passed on to the model: it is no base64"
    found = file_block(raw)
    size = f"{len(raw):,} bytes"
    if found.kind != IMAGE or found.size is None:
        return None, f"{size}: not passed on to the model: no image that models read"
    told = f"image/{found.size.format}, {found.size.width} x {found.size.height}, {size}"
    trouble = image_trouble(found) if sees else "whether this model sees is not known (the setting mcp_images)"
    if trouble:
        return None, f"{told}: not passed on to the model: {trouble}"
    return ResultImage(f"image/{found.size.format}", data), told


def _part(part: object) -> str:
    kind = getattr(part, "type", "")
    if kind == "text":
        return str(getattr(part, "text", ""))
    if kind == "resource":
        return contents_of([getattr(part, "resource", None)])
    if kind == "resource_link":
        return f"[{getattr(part, 'uri', '')}: {getattr(part, 'description', None) or getattr(part, 'name', '')}]"
    data, mime = str(getattr(part, "data", "")), getattr(part, "mime_type", kind)
    return f"[{mime}, {len(data) * 3 // 4:,} bytes: not passed on to the model]"


def contents_of(contents: Sequence[object]) -> str:
    """The texts of a resource."""
    found = []
    for one in contents:
        text = getattr(one, "text", None)
        if text is None:
            size = len(str(getattr(one, "blob", ""))) * 3 // 4
            text = f"[{getattr(one, 'mime_type', None) or 'binary'}, {size:,} bytes: not passed on to the model]"
        found.append(str(text))
    return "\n".join(found)
