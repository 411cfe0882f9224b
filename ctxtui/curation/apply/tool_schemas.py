"""Smaller tool definitions: descriptions cut, those of properties left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core.block_content import tool_inside
from ctxtui.core.canonical import Json

_SCHEMAS: Final = ("input_schema", "parameters", "inputSchema")
_TEXTS: Final = frozenset({"description", "title", "examples", "$comment"})
_DATA: Final = frozenset({"enum", "const", "default", "required"})


def minimised(tool: Json, given: Mapping[str, Json]) -> Json:
    """`tool` with its description cut to ``description`` characters (default 100) and, unless ``properties`` is true,
    the words of its schema's properties left out. Names, types and what is required stay."""
    if not isinstance(tool, dict):
        return tool
    inner = tool.get("function")
    if isinstance(inner, dict):
        return {**tool, "function": minimised(inner, given)}
    if tool_inside(tool) is not tool:
        return {**tool, "tools": [minimised(tool_inside(tool), given)]}
    limit = given.get("description", 100)
    made = dict(tool)
    words = tool.get("description")
    if isinstance(words, str) and isinstance(limit, int) and len(words) > limit:
        made["description"] = _first(words, limit)
    if given.get("properties") is not True:
        for key in _SCHEMAS:
            if isinstance(tool.get(key), dict):
                made[key] = _bare(tool[key], False)
    return made


def _first(words: str, limit: int) -> str:
    if limit <= 1:
        return ""
    return words[: limit - 1].rstrip() + "…"


def _bare(schema: Json, names: bool) -> Json:
    """A schema without words; `names` says that the keys are the properties' own names and not the schema's."""
    if isinstance(schema, list):
        return [_bare(item, False) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _part(key, value, names) for key, value in schema.items() if names or key not in _TEXTS}


def _part(key: str, value: Json, names: bool) -> Json:
    return value if key in _DATA and not names else _bare(value, _names(key, names))


def _names(key: str, names: bool) -> bool:
    return not names and key in ("properties", "$defs", "definitions", "patternProperties")
