"""Anthropic: tool definitions and the choice among them (facts §1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.field_errors import listed, mark_refusals, worded
from ctxtui.offline.anthropic.models import Claude
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import FLAG, MAP, ROWS, STRING, TEXT, faults, members, needed, rows

NAME: Final = r"^[a-zA-Z0-9_-]{1,128}$"
_CUSTOM: Final = {
    "name": needed(STRING),
    "input_schema": needed("object"),
    "type": TEXT,
    "description": TEXT,
    "cache_control": MAP,
    "defer_loading": FLAG,
    "strict": FLAG,
    "input_examples": ROWS,
    "eager_input_streaming": FLAG,
    "allowed_callers": ROWS,
}
_TYPED: Final = re.compile(
    r"(bash|text_editor|memory|web_search|web_fetch|code_execution|computer|advisor|tool_search_tool_(regex|bm25))"
    r"_20\d{6}$|(computer|browser)_toolset_20\d{6}$|mcp_toolset$"
)
_SEARCH: Final = "tool_search_tool_"
_CHOICES: Final = ("auto", "any", "tool", "none")


def tool_refusals(body: Mapping[str, Json], model: Claude) -> Iterator[Refusal]:
    """What is wrong with ``tools`` and ``tool_choice``."""
    tools = rows(body.get("tools"))
    for n, tool in enumerate(tools):
        yield from _tool(tool, n)
    named = [str(members(tool)["name"]) for tool in tools if "name" in members(tool)]
    if len(set(named)) < len(named):
        yield Refusal("tools: Tool names must be unique.", rule="tool names unique")
    if tools and all(members(tool).get("defer_loading") for tool in tools):
        yield Refusal("tools: at least one tool must not have `defer_loading` set", rule="all tools deferred")
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        yield from _choice(choice, named, bool(tools), members(body.get("thinking")), model)


def _tool(tool: Json, n: int) -> Iterator[Refusal]:
    if not isinstance(tool, dict):
        yield Refusal(f"tools.{n}: Input should be a valid dictionary", rule="wrong type")
        return
    kind = tool.get("type")
    if kind not in (None, "custom"):
        if not isinstance(kind, str) or not _TYPED.match(kind):
            told = f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            yield Refusal(f"tools.{n}: {told}", rule="unknown tool type")
        elif kind.startswith(_SEARCH) and tool.get("defer_loading"):
            yield Refusal(f"tools.{n}: the tool search tool cannot be deferred", rule="search deferred")
        yield from mark_refusals(tool.get("cache_control"), ("tools", n, "cache_control"))
        return
    path = ("tools", n, "custom")
    yield from (worded(fault) for fault in faults(tool, _CUSTOM, path))
    name, schema = tool.get("name"), tool.get("input_schema")
    if isinstance(name, str) and not re.match(NAME, name):
        yield Refusal(f"tools.{n}.custom.name: String should match pattern '{NAME}'", rule="tool name")
    if isinstance(schema, dict) and schema.get("type") != "object":
        told = "Field required" if "type" not in schema else "Input should be 'object'"
        yield Refusal(f"tools.{n}.custom.input_schema.type: {told}", rule="input schema")
    yield from mark_refusals(tool.get("cache_control"), (*path, "cache_control"))


def _choice(
    choice: Mapping[str, Json], named: list[str], tools: bool, thinking: Mapping[str, Json], model: Claude
) -> Iterator[Refusal]:
    kind = choice.get("type")
    if kind not in _CHOICES:
        yield Refusal(f"tool_choice.type: Input should be {listed(_CHOICES)}", rule="wrong value")
        return
    fields = {"type": needed(STRING)} | ({} if kind == "none" else {"disable_parallel_tool_use": FLAG})
    fields |= {"name": needed(STRING)} if kind == "tool" else {}
    yield from (worded(fault) for fault in faults(choice, fields, ("tool_choice", str(kind))))
    if not tools:
        if kind != "none":
            yield Refusal("tool_choice: tool_choice may only be specified while providing tools", rule="no tools")
    elif kind == "tool" and choice.get("name") not in named:
        told = f"Tool '{choice.get('name')}' not found in provided tools"
        yield Refusal(f"tool_choice: {told}", rule="unknown tool")
    if kind in ("any", "tool"):
        if thinking.get("type") == "enabled":
            told = "Thinking may not be enabled when tool_choice forces tool use."
            yield Refusal(told, rule="forced call while thinking")
        elif not model.forced_calls:
            yield Refusal(f"tool_choice: '{kind}' is not supported on this model", rule="forced call")
