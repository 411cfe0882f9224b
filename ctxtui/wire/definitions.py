"""Convert tool definitions between dialects (the JSON of different APIs)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ctxtui.core.block_content import SCHEMA_MEMBERS, unwrap_tool
from ctxtui.core.canonical import Json
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES
from ctxtui.wire.translate.turns import Losses, tool_dialect

_ANY_OBJECT: Final = {"type": "object", "properties": {}}
"""The schema of a tool that names none."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A client's tool; `schema`: the JSON schema of its input.

    `strict`: whether the provider must enforce the schema; None if not said.
    """

    name: str
    description: str
    schema: Json
    strict: bool | None = None


def parse_definition(value: Json) -> Definition | None:
    """Read a client's tool; None for a provider's own tool and for one without a name."""
    inner = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        return None
    schema = next((inner[key] for key in SCHEMA_MEMBERS if isinstance(inner.get(key), dict)), None)
    if schema is None and value.get("type") not in (None, "function"):
        return None
    if "type" not in value and isinstance(schema, dict) and str(schema.get("type")).isupper():
        schema = lower_types(schema)
    description = inner.get("description")
    strict = inner.get("strict")
    return Definition(
        inner["name"],
        description if isinstance(description, str) else "",
        schema if schema is not None else _ANY_OBJECT,
        strict if isinstance(strict, bool) else None,
    )


def lower_types(schema: Json) -> Json:
    """Rewrite a schema of Google's, which spells types in capitals, as JSON schema."""
    if isinstance(schema, list):
        return [lower_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else lower_types(value)
        for key, value in schema.items()
    }


def _note_members(value: dict[str, Json], losses: Losses) -> None:
    """Note the members of a tool that no `Definition` has, such as examples of its input."""
    inner = value.get("function", value)
    schemas = [key for key in SCHEMA_MEMBERS if isinstance(inner.get(key), dict)]
    written = {"name", "description", "type", "strict", *SCHEMA_MEMBERS} - set(schemas[1:])
    outside = {key: value[key] for key in value.keys() - {"function"}} if inner is not value else {}
    for key, member in {**outside, **inner}.items():
        if key not in written and member is not None:
            losses.note(f"the member {key} of tools")


def convert_tool(value: Json, target: str, losses: Losses) -> Json | None:
    """Convert a tool to dialect `target`; None, and a note in `losses`, if that is impossible."""
    target = CHAT if target == OLLAMA else target
    value = value if target == RESPONSES else unwrap_tool(value)
    if tool_dialect(value) == target and (target != RESPONSES or "type" in value):
        return value
    definition = parse_definition(value)
    if definition is None:
        losses.note("tools of one provider only")
        return None
    inner = value.get("function", value)
    if any(inner.get(key) and not isinstance(inner[key], dict) for key in SCHEMA_MEMBERS):
        losses.note("input schemas of tools that are no object")
    if inner.get("description") and not definition.description:
        losses.note("descriptions of tools that are no text")
    _note_members(value, losses)
    if definition.strict and target in (ANTHROPIC, GOOGLE):
        losses.note("the member strict of tools")
    description = {"description": definition.description} if definition.description else {}
    strict = {} if definition.strict is None else {"strict": definition.strict}
    if target == ANTHROPIC:
        return {"name": definition.name, **description, "input_schema": definition.schema}
    if target == GOOGLE:
        return {"name": definition.name, **description, "parametersJsonSchema": definition.schema}
    if target == CHAT:
        return {
            "type": "function",
            "function": {"name": definition.name, **description, "parameters": definition.schema, **strict},
        }
    return {"type": "function", "name": definition.name, **description, "parameters": definition.schema, **strict}
