"""Checks names of tools, and choices among them (facts §1, §4).

`anthropic`, `chat` and `responses` check the request bodies of the dialect that they are named after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list
from ctxtui.curation.legality.violation import REFERENCE, TOOL, Violation

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+\Z")
_ANTHROPIC, _OPENAI = 128, 64
"""Maximum characters of a tool's name."""

_Named = tuple[str, Json]


def anthropic(body: dict[str, Json]) -> Iterator[Violation]:
    tools = as_list(body.get("tools"))
    named = [(f"$.tools[{n}].name", tool.get("name")) for n, tool in enumerate(tools) if _is_client_tool(tool)]
    yield from _check_names(named, _ANTHROPIC)
    if tools and all(isinstance(tool, dict) and tool.get("defer_loading") is True for tool in tools):
        yield Violation("$.tools", "at least one tool must not be deferred")
    yield from _check_choice(body, [name for _, name in named], bool(tools))
    yield from _check_references(body, {str(tool.get("name")) for tool in tools if isinstance(tool, dict)})


def chat(body: dict[str, Json]) -> Iterator[Violation]:
    tools = as_list(body.get("tools"))
    inner = [(f"$.tools[{n}]", _function_of(tool)) for n, tool in enumerate(tools)]
    named = [(f"{path}.function.name", function.get("name")) for path, function in inner if function]
    yield from _check_names(named, _OPENAI)
    yield from _check_choice(body, [name for _, name in named], bool(tools))


def responses(body: dict[str, Json]) -> Iterator[Violation]:
    tools = as_list(body.get("tools"))
    functions = [(n, tool) for n, tool in enumerate(tools) if isinstance(tool, dict) and tool.get("type") == "function"]
    named = [(f"$.tools[{n}].name", tool.get("name")) for n, tool in functions]
    yield from _check_names(named, _OPENAI)
    yield from _check_choice(body, [name for _, name in named], bool(tools), ("function",))


def _is_client_tool(tool: Json) -> bool:
    return isinstance(tool, dict) and tool.get("type") in (None, "custom")


def _function_of(tool: Json) -> dict[str, Json]:
    inner = tool.get("function") if isinstance(tool, dict) else None
    return inner if isinstance(inner, dict) else {}


def _check_names(named: Sequence[_Named], max_chars: int) -> Iterator[Violation]:
    names: set[str] = set()
    for path, name in named:
        if not isinstance(name, str) or not _NAME.match(name) or len(name) > max_chars:
            why = f"at most {max_chars} letters, digits, _ and -"
            yield Violation(path, f"{name!r} is not a valid tool name: {why}", TOOL)
        elif name in names:
            yield Violation(path, f"two tools are named {name!r}", TOOL)
        else:
            names.add(name)


def _check_choice(
    body: dict[str, Json], names: Sequence[Json], any_: bool, kinds: Sequence[str] = ("tool", "function")
) -> Iterator[Violation]:
    choice = body.get("tool_choice")
    if choice is not None and not any_:
        yield Violation("$.tool_choice", "there is no tool to choose")
        return
    if not isinstance(choice, dict) or choice.get("type") not in kinds:
        return
    inner = choice.get("function", choice)
    name = inner.get("name") if isinstance(inner, dict) else None
    if name not in names:
        yield Violation("$.tool_choice", f"there is no tool {name!r}")


def _check_references(body: dict[str, Json], names: set[str]) -> Iterator[Violation]:
    """Find references to missing tools.

    If no tools are recorded, those with a call that did not fail count as present.
    """
    parts = [
        (f"$.messages[{n}].content[{m}]", part)
        for n, message in enumerate(as_list(body.get("messages")))
        for m, part in enumerate(as_list(message.get("content") if isinstance(message, dict) else None))
        if isinstance(part, dict)
    ]
    prefix = "there is no tool" if names else "nothing shows that there is a tool"
    if not names:
        failed = {str(part.get("tool_use_id")) for _, part in parts if part.get("is_error") is True}
        calls = [part for _, part in parts if part.get("type") == "tool_use" and str(part.get("id")) not in failed]
        names = {str(call.get("name")) for call in calls}
    for path, part in parts:
        for place, name in tool_references(part, path):
            if name not in names:
                yield Violation(place, f"{prefix} {name!r}", REFERENCE)


def tool_references(value: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """The references to tools in a block at `path`: each with its path and the tool's name."""
    if not isinstance(value, dict):
        return
    if value.get("type") == "tool_reference":
        yield path, str(value.get("tool_name"))
    key, content = "content", value.get("content")
    if isinstance(content, dict):
        key, content = "content.tool_references", content.get("tool_references")
    for n, item in enumerate(as_list(content)):
        yield from tool_references(item, f"{path}.{key}[{n}]")
