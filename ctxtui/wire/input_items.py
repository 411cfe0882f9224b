"""Items of a Responses input that hold more than one block: the tools that it brings along, what agents say to each
other (facts §4, §13).

A tool of an ``additional_tools`` item is a block of its own wherever the item stands. One inside a namespace keeps the
namespace round it, so that each says whose it is and one of them can go; neighbours of one namespace are one again when
the item is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.wire.message import LIST
from ctxtui.wire.parts import Piece, WirePart, bare, content_part, part

TOOLS_ITEM: Final = "additional_tools"
AGENT_ITEM: Final = "agent_message"
NAMESPACE: Final = "namespace"


def split_tools(value: dict[str, Json], path: str) -> list[WirePart] | None:
    """The header and the tools of an ``additional_tools`` item; None where its tools are no list of objects."""
    tools = value.get("tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return None
    role = value.get("role")
    place = Place("messages", role if isinstance(role, str) and role else "developer")
    parts = [_header({**value, "tools": LIST}, place)]
    for n, tool in enumerate(tools):
        parts += [part(TOOL, one, place, ("tools", n)) for one in _each(tool)]
    return parts


def _each(tool: dict[str, Json]) -> list[dict[str, Json]]:
    inner = tool.get("tools")
    if tool.get("type") != NAMESPACE or not isinstance(inner, list) or not inner:
        return [tool]
    return [{**tool, "tools": [one]} for one in inner]


def join_tools(pieces: Sequence[Piece]) -> Json:
    """The item that `split_tools` took apart, or what edits left of it."""
    tools: list[Json] = []
    for _, value in pieces[1:]:
        last = tools[-1] if tools else None
        if last is not None and _same_namespace(last, value):
            tools[-1] = {**last, "tools": [*last["tools"], *value["tools"]]}
        else:
            tools.append(value)
    return {**pieces[0][1], "tools": tools}


def _same_namespace(one: Json, other: Json) -> bool:
    lists = all(isinstance(it, dict) and it.get("type") == NAMESPACE and it.get("tools") for it in (one, other))
    return lists and {**one, "tools": None} == {**other, "tools": None} and list(one) == list(other)


def split_agent_message(value: dict[str, Json], path: str) -> list[WirePart] | None:
    """The header and the parts of what another agent said; None where its content is no list. Who reads it was
    spoken to, as by a user."""
    content = value.get("content")
    if not isinstance(content, list):
        return None
    place = Place("messages", "user")
    inner = [content_part(one, f"{path}.content[{n}]", place, ("content", n)) for n, one in enumerate(content)]
    return [_header({**value, "content": LIST}, place), *inner]


def _header(head: dict[str, Json], place: Place) -> WirePart:
    plain, marks = bare(head)
    return WirePart(Item(blocks.make(HEADER, plain), place), None, plain, marks)
