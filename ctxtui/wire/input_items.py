"""Items of a Responses input that hold several blocks (facts §4, §13).

Each tool of an ``additional_tools`` item is a block of its own. A tool inside a namespace keeps its namespace, so that
it can be removed alone; neighbours of one namespace are merged again when the item is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.wire.message import LIST
from ctxtui.wire.parts import Piece, WirePart, content_part, make_part, strip_markers

TOOLS_ITEM: Final = "additional_tools"
AGENT_ITEM: Final = "agent_message"
NAMESPACE: Final = "namespace"


def split_tools(value: dict[str, Json], path: str) -> list[WirePart] | None:
    """Split an ``additional_tools`` item; None if its tools are not a list of objects."""
    tools = value.get("tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return None
    role = value.get("role")
    place = Place("messages", role if isinstance(role, str) and role else "developer")
    parts = [_header_part({**value, "tools": LIST}, place)]
    for n, tool in enumerate(tools):
        parts += [make_part(TOOL, definition, place, ("tools", n)) for definition in _split_namespace(tool)]
    return parts


def _split_namespace(tool: dict[str, Json]) -> list[dict[str, Json]]:
    inner = tool.get("tools")
    if tool.get("type") != NAMESPACE or not isinstance(inner, list) or not inner:
        return [tool]
    return [{**tool, "tools": [inner_tool]} for inner_tool in inner]


def join_tools(pieces: Sequence[Piece]) -> Json:
    """Join an ``additional_tools`` item, the inverse of `split_tools`."""
    tools: list[Json] = []
    for _, value in pieces[1:]:
        last = tools[-1] if tools else None
        if last is not None and _have_same_namespace(last, value):
            tools[-1] = {**last, "tools": [*last["tools"], *value["tools"]]}
        else:
            tools.append(value)
    return {**pieces[0][1], "tools": tools}


def _have_same_namespace(first: Json, second: Json) -> bool:
    lists = all(isinstance(it, dict) and it.get("type") == NAMESPACE and it.get("tools") for it in (first, second))
    return lists and {**first, "tools": None} == {**second, "tools": None} and list(first) == list(second)


def split_agent_message(value: dict[str, Json], path: str) -> list[WirePart] | None:
    """Split a message from another agent; None if its content is not a list.

    Its role is user: it addresses the agent that receives it.
    """
    content = value.get("content")
    if not isinstance(content, list):
        return None
    place = Place("messages", "user")
    inner = [content_part(entry, f"{path}.content[{n}]", place, ("content", n)) for n, entry in enumerate(content)]
    return [_header_part({**value, "content": LIST}, place), *inner]


def _header_part(head: dict[str, Json], place: Place) -> WirePart:
    plain, markers = strip_markers(head)
    return WirePart(Item(blocks.make(HEADER, plain), place), None, plain, markers)
