"""What a block says, apart from how a dialect spells it: the key by which blocks of two sessions are the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ctxtui.core import canonical
from ctxtui.core.block_content import arguments_value, read_value
from ctxtui.core.canonical import Json
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import Node


def neutral(node: Node) -> Hashable:
    """The category of a block and what it says: text, a call's tool and input, a tool's name, description and schema.
    Ids, signatures and the role's name are left out, so that two clients' records of one conversation agree."""
    block, category = node.block, CATEGORIES[node.category]
    value = block.value()
    if category == "tools":
        return category, _definition(value)
    got = read_value(block.kind, value)
    given = _sorted(arguments_value(got)) if got.arguments else ""
    media = tuple((one.media_type, one.data or one.url) for one in got.media)
    name = got.name if category == "tool_call" else ""
    return category, got.text, name, given, media, got.hidden if not got.text else 0


def _definition(value: Json) -> str:
    inner = value.get("function", value) if isinstance(value, Mapping) else value
    if not isinstance(inner, Mapping):
        return _sorted(value)
    schema = inner.get("input_schema", inner.get("parameters"))
    return _sorted({"name": inner.get("name"), "description": inner.get("description"), "schema": schema})


def _sorted(value: Json) -> str:
    """JSON text in which the order of keys does not matter."""
    return canonical.dump_text(_ordered(value))


def _ordered(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def words_of(node: Node) -> str:
    """The block as text, for a word diff: what it says, a call's input, a tool's definition, one item per line."""
    value = node.block.value()
    category = CATEGORIES[node.category]
    if category == "tools":
        return "\n".join(_lines(value))
    got = read_value(node.block.kind, value)
    if category == "tool_call":
        return "\n".join([got.name, *_lines(arguments_value(got))])
    media = "\n".join(f"{one.media_type} {one.url or len(one.data)}" for one in got.media)
    return "\n".join(part for part in (got.text, media) if part) or node.block.body.decode("utf-8", "replace")


def _lines(value: Json, name: str = "") -> list[str]:
    """JSON as lines ``a.b: text``; long texts keep their own lines."""
    if isinstance(value, Mapping):
        return [line for key, item in value.items() for line in _lines(item, f"{name}.{key}" if name else str(key))]
    if isinstance(value, list):
        return [line for at, item in enumerate(value) for line in _lines(item, f"{name}[{at}]")]
    text = value if isinstance(value, str) else canonical.dump_text(value)
    if not name:
        return [text]
    return [f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"]
