"""OpenAI Responses: the tools of a request, those that come as an item included (facts §4, §13.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import (
    ANY,
    ARRAY,
    FLAG,
    MAP,
    ROWS,
    STRING,
    TEXT,
    Fields,
    Path,
    members,
    needed,
    rows,
)
from ctxtui.offline.openai.validate_fields import (
    FUNCTION,
    function_refusals,
    name_refusals,
    object_refusals,
    spelled,
    unknown_choice,
    wrong_value,
)

_CALLED: Final = {"type": needed(STRING), "defer_loading": FLAG, "allowed_callers": ROWS, "async": FLAG}
_FIELDS: Final[dict[str, Fields]] = {
    "function": FUNCTION | _CALLED | {"output_schema": ANY},
    "custom": _CALLED | {"name": needed(STRING), "description": TEXT, "format": MAP},
    "namespace": {
        "type": needed(STRING),
        "name": needed(STRING),
        "description": needed(STRING),
        "tools": needed(ARRAY),
    },
}
_INSIDE: Final = ("function", "custom")
_CHOICES: Final = ("none", "auto", "required")


def tool_refusals(tool: Json, path: Path) -> Iterator[Refusal]:
    """What is wrong with the definition that stands at `path`."""
    kind = members(tool).get("type")
    if not isinstance(kind, str) or kind not in _FIELDS:
        # Tools of the provider's own have fields that we do not judge.
        yield from object_refusals({"type": kind}, {"type": needed(STRING)}, path)
        return
    yield from object_refusals(tool, _FIELDS[kind], path)
    if kind == "function":
        yield from function_refusals(tool, path, spelled((*path, "parameters")))
        return
    yield from name_refusals(tool.get("name"), spelled((*path, "name")))
    for n, inner in enumerate(rows(tool.get("tools"))):
        below = (*path, "tools", n)
        if members(inner).get("type") not in _INSIDE:
            yield wrong_value(str(members(inner).get("type")), _INSIDE, spelled((*below, "type")))
        else:
            yield from tool_refusals(inner, below)


def offered(body: Mapping[str, Json], items: Sequence[Json]) -> list[Json]:
    """All definitions of a request: its own, those of its ``additional_tools`` `items`, those within namespaces."""
    given = [*rows(body.get("tools"))]
    for item in items:
        if members(item).get("type") == "additional_tools":
            given += rows(item.get("tools"))
    return [one for tool in given for one in (tool, *rows(members(tool).get("tools")))]


def choice_refusals(choice: Json, tools: Sequence[Json]) -> Iterator[Refusal]:
    """What is wrong with ``tool_choice`` where `tools` are offered."""
    if choice == "required" and not tools:
        told = "Tool choice 'required' must be specified with 'tools' parameter."
        yield Refusal(told, param="tool_choice", rule="no tools")
    elif isinstance(choice, str) and choice not in _CHOICES:
        told = f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'."
        yield Refusal(told, param="tool_choice", code="invalid_value", rule="invalid value")
    elif isinstance(choice, dict) and choice.get("type") in _INSIDE:
        named = [members(tool).get("name") for tool in tools if members(tool).get("type") == choice["type"]]
        yield from unknown_choice(choice.get("name"), named)
