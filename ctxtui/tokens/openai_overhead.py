"""OpenAI's published formula for the tokens of a tool definition.

Source: OpenAI cookbook, "How to count tokens with tiktoken" (facts §6). It is published for flat parameters and models
up to gpt-4o. For nested schemas and newer models the result is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ctxtui.core.block_content import unwrap_tool

Count = Callable[[str], int]
"""Counts the tokens of a text."""

_PER_OBJECT: Final = 3
"""Tokens for an object's properties."""
_PER_PROPERTY: Final = 3
_ENUM: Final = -3
"""Correction for each property with choices, which the formula subtracts."""
_PER_ENUM_ITEM: Final = 3


def tool_tokens(tool: Mapping[str, Any], count: Count, encoding: str) -> int | None:
    """Count the tokens of one function definition.

    The 12 tokens that each request with tools has are not included. None if `tool` defines no function, or is nested
    too deeply.
    """
    tool = unwrap_tool(tool)
    inner = tool.get("function", tool)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        return None
    total = 10 if encoding == "cl100k_base" else 7
    total += count(f"{inner['name']}:{_without_period(inner.get('description'))}")
    form = inner.get("format")
    if isinstance(form, Mapping) and isinstance(form.get("definition"), str):
        # A tool that takes free text: its grammar is counted; its framing is not published.
        total += count(form["definition"])
    try:
        return total + _count_object(inner.get("parameters") or inner.get("input_schema"), count)
    except RecursionError:
        return None


def _without_period(description: object) -> str:
    return description.removesuffix(".") if isinstance(description, str) else ""


def _count_object(schema: object, count: Count) -> int:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        return 0
    return _PER_OBJECT + sum(_count_property(key, value, count) for key, value in properties.items())


def _count_property(key: str, schema: object, count: Count) -> int:
    if not isinstance(schema, Mapping):
        return _PER_PROPERTY + count(str(key))
    total = _PER_PROPERTY
    total += count(f"{key}:{schema.get('type', '')}:{_without_period(schema.get('description'))}")
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        total += _ENUM + sum(_PER_ENUM_ITEM + count(str(choice)) for choice in choices)
    # Beyond the published formula: an object inside is counted as the outer one is.
    return total + _count_object(schema, count) + _count_object(schema.get("items"), count)
