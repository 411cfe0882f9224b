"""Content of a block independent of its dialect, to find equal blocks in two sessions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ctxtui.core import canonical
from ctxtui.core.block_content import SCHEMA_MEMBERS, arguments_value, read_value
from ctxtui.core.canonical import Json
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import Node


def neutral_key(node: Node) -> Hashable:
    """Category and content of a block, independent of its dialect.

    Ids, signatures and the role's name are left out.
    """
    block, category = node.block, CATEGORIES[node.category]
    value = block.value()
    if category == "tools":
        return category, _definition_key(value)
    content = read_value(block.kind, value)
    arguments = _sorted_json(arguments_value(content)) if content.arguments else ""
    media = tuple(item.data or item.url for item in content.media)
    name = content.name if category == "tool_call" else ""
    return category, content.text, name, arguments, media, content.hidden if not content.text else 0


def _definition_key(value: Json) -> str:
    if canonical.is_deep(value):
        return canonical.dump_text(value)
    inner = value.get("function", value) if isinstance(value, Mapping) else value
    if not isinstance(inner, Mapping):
        return _sorted_json(value)
    schema = next((inner[key] for key in SCHEMA_MEMBERS if key in inner), None)
    return _sorted_json({"name": inner.get("name"), "description": inner.get("description"), "schema": schema})


def _sorted_json(value: Json) -> str:
    return canonical.dump_text(sort_members(value))


def sort_members(value: Json) -> Json:
    """Sort the members of objects by name; `value` must not be deep (`canonical.is_deep`)."""
    if isinstance(value, Mapping):
        return {key: sort_members(value[key]) for key in sorted(value)}
    return [sort_members(item) for item in value] if isinstance(value, list) else value


def diff_text(node: Node) -> str:
    """Text of a block for a word diff: text and media, a call's input, or a tool's definition.

    Its JSON if it has none of these.
    """
    value = node.block.value()
    category = CATEGORIES[node.category]
    if category == "tools" and not canonical.is_deep(value):
        return "\n".join(_json_lines(value))
    content = read_value(node.block.kind, value)
    if category == "tool_call":
        return "\n".join([content.name, *_json_lines(arguments_value(content))])
    media = "\n".join(f"{item.media_type} {item.url or len(item.data)}" for item in content.media)
    return "\n".join(part for part in (content.text, media) if part) or node.block.body.decode("utf-8", "replace")


def _json_lines(value: Json, name: str = "") -> list[str]:
    """Render JSON as lines ``a.b: text``; long texts keep their own lines."""
    if isinstance(value, Mapping):
        return [
            line for key, item in value.items() for line in _json_lines(item, f"{name}.{key}" if name else str(key))
        ]
    if isinstance(value, list):
        return [line for index, item in enumerate(value) for line in _json_lines(item, f"{name}[{index}]")]
    text = value if isinstance(value, str) else canonical.dump_text(value)
    if not name:
        return [text]
    return [f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"]
