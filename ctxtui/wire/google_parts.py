"""Parts and tools of Google's API: they have no ``type``, their members tell their kinds.

Google takes every member in camel case and in snake case; blocks keep what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ctxtui.core.block import TOOL, Block, Place
from ctxtui.core.block_content import FUNCTION_CALL, FUNCTION_RESPONSE, MEDIA_MEMBERS, MIME_TYPE
from ctxtui.core.canonical import Json
from ctxtui.wire.parts import Piece, Position, WirePart, json_type_name, kind_of, make_part, text_part, unreadable_part

DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
"""The member of a tool that lists functions of the client."""
SIGNATURES: Final = ("thoughtSignature", "thought_signature")
"""The member of a part with the signature that lets the model continue its thinking."""
_NOT_KINDS: Final = frozenset({*SIGNATURES, "thought", "partMetadata", "videoMetadata", "mediaResolution", "type"})
"""Members of a part that do not tell its kind."""
_MEMBER_KINDS: Final = {
    **dict.fromkeys(FUNCTION_CALL, "function_call"),
    **dict.fromkeys(FUNCTION_RESPONSE, "function_response"),
}
"""The kind of a part that has this member."""


def part_kind(value: Mapping[str, Json]) -> str:
    """The kind of a part: ``text``, ``function_call`` ..., else the name of a member."""
    if isinstance(value.get("text"), str):
        return "thinking" if value.get("thought") is True else "text"
    for key, inner in value.items():
        if key in _MEMBER_KINDS and isinstance(inner, dict):
            return _MEMBER_KINDS[key]
        if key in MEDIA_MEMBERS and isinstance(inner, dict):
            media_type = next((inner[name] for name in MIME_TYPE if name in inner), "")
            return "image" if isinstance(media_type, str) and media_type.startswith("image/") else "document"
    named = next((key for key in value if key not in _NOT_KINDS), "part")
    return kind_of({"type": named or "part"}, "part")


def split_part(value: Json, path: str, place: Place, position: Position) -> WirePart:
    """Make a part's block; plain text makes the same block as in every other dialect."""
    if isinstance(value, str):
        return text_part(value, place, position)
    if not isinstance(value, dict):
        return unreadable_part(path, f"a part is {json_type_name(value)}, not an object", place, position)
    if value.keys() == {"text"} and isinstance(value["text"], str):
        return text_part(value["text"], place, position)
    return make_part(part_kind(value), value, place, position)


def is_signed(block: Block) -> bool:
    """Whether a part carries the signature of the model's thinking before it."""
    return any(block.member(key) for key in SIGNATURES)


def join_part(piece: Piece) -> Json:
    kind, value = piece
    if kind == "text" and isinstance(value, dict) and value.get("type") == "text":
        return {key: item for key, item in value.items() if key != "type"}
    return value


def split_tool(value: Json, path: str) -> list[WirePart]:
    """Split a tool object: a block for each function that it declares, one for the rest.

    A tool whose declarations are not all functions is one block.
    """
    place = Place("tools")
    if not isinstance(value, dict):
        return [unreadable_part(path, f"a tool is {json_type_name(value)}, not an object", place, ())]
    key = next((key for key in DECLARATIONS if key in value), "")
    declared = value.get(key)
    other_members = {name: item for name, item in value.items() if name != key}
    if (
        not isinstance(declared, list)
        or not declared
        or not all(map(is_declaration, declared))
        or "name" in other_members
    ):
        return [make_part(TOOL, value, place, ())]
    parts = [make_part(TOOL, declaration, place, (key, n)) for n, declaration in enumerate(declared)]
    return [*parts, make_part(TOOL, other_members, place, None)] if other_members else parts


def is_declaration(value: Json) -> bool:
    """Whether a tool block declares a function of the client; others are Google's own tools."""
    return isinstance(value, dict) and "name" in value


def join_tool(pieces: Sequence[Piece]) -> Json:
    """Join the tool object that `split_tool` split, possibly after edits."""
    declared = [value for _, value in pieces if is_declaration(value)]
    tool: dict[str, Json] = {DECLARATIONS[0]: declared} if declared else {}
    for _, value in pieces:
        if not isinstance(value, dict):
            return value
        tool |= {} if is_declaration(value) else value
    return tool
