"""Parts (blocks) of one element of a request, with cache breakpoints apart from the blocks.

An element is a message, a tool or a text of the system prompt.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, MARKER_KEYS, NOT_RECORDED, TOOL, UNREADABLE, Item, Place
from ctxtui.core.canonical import Json

Position = tuple[str | int, ...]
"""Position of a part inside its element: ``("content", 2)``; ``()`` is the whole element."""


class WireMarker(NamedTuple):
    """A cache breakpoint: member `at` (0-based) of a block or of an item of its content.

    `inner` is the item's index, or -1 for the block.
    """

    inner: int
    key: str
    at: int
    value: Json


class WirePart(NamedTuple):
    """A part of an element: a block with its JSON `value`, without cache breakpoints.

    `position`: None for a header; `marks`: its cache breakpoints.
    """

    item: Item
    position: Position | None
    value: Json
    marks: tuple[WireMarker, ...] = ()


Piece = tuple[str, Json]
"""A block's kind and its JSON value with cache breakpoints restored. Elements are joined from pieces."""

_ON_BLOCK: Final = -1
_OURS: Final = frozenset({HEADER, NOT_RECORDED, TOOL, UNREADABLE})


def make_part(kind: str, value: Json, place: Place, position: Position | None) -> WirePart:
    """`value` may carry cache breakpoints."""
    value, marks = strip_markers(value)
    return WirePart(Item(blocks.make(kind, value), place), position, value, marks)


def text_part(text: str, place: Place, position: Position) -> WirePart:
    block = blocks.text(text)
    return WirePart(Item(block, place), position, {"type": "text", "text": text})


def unreadable_part(path: str, reason: str, place: Place, position: Position) -> WirePart:
    """A part for a value of the wrong shape at JSON `path`; the skeleton keeps its text."""
    block = blocks.unreadable(path, reason)
    return WirePart(Item(block, place), position, block.value())


def content_part(value: Json, path: str, place: Place, position: Position) -> WirePart:
    """A part from one entry of a content list: an object, or a plain string."""
    if isinstance(value, str):
        return text_part(value, place, position)
    if not isinstance(value, dict):
        return unreadable_part(path, f"a content part is {json_type_name(value)}, not an object", place, position)
    return make_part(kind_of(value, "text"), value, place, position)


def value_of(piece: Piece) -> Json:
    return piece[1]


def kind_of(value: dict[str, Json], default: str) -> str:
    """The provider's kind of a part or item; ctxtui's own kinds get the suffix ``_part``."""
    kind = value.get("type", default)
    if not isinstance(kind, str) or not kind:
        return default
    return f"{kind}_part" if kind in _OURS else kind


def json_type_name(value: Json) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def strip_markers(value: Json) -> tuple[Json, tuple[WireMarker, ...]]:
    """Split `value` from its cache breakpoints, also those in a tool result's content."""
    stripped = blocks.without_markers(value)
    if stripped is value or not isinstance(value, dict):
        return value, ()
    markers = [*_find_markers(value, _ON_BLOCK)]
    if value.get("type") == "tool_result" and isinstance(value.get("content"), list):
        for inner, item in enumerate(value["content"]):
            markers += _find_markers(item, inner)
    return stripped, tuple(markers)


def _find_markers(value: Json, inner: int) -> list[WireMarker]:
    if not isinstance(value, dict):
        return []
    return [WireMarker(inner, key, at, value[key]) for at, key in enumerate(value) if key in MARKER_KEYS]


def restore_markers(value: Json, markers: tuple[WireMarker, ...]) -> Json:
    """Restore cache breakpoints in `value` at their positions, where those still exist."""
    if not markers or not isinstance(value, dict):
        return value
    block_markers = [mark for mark in markers if mark.inner == _ON_BLOCK]
    content_markers = [mark for mark in markers if mark.inner != _ON_BLOCK]
    if content_markers and isinstance(value.get("content"), list):
        content = list(value["content"])
        for inner in {mark.inner for mark in content_markers if mark.inner < len(content)}:
            content[inner] = _insert_markers(content[inner], [mark for mark in content_markers if mark.inner == inner])
        # Assigning to an existing key does not move the content among the keys.
        value = {**value, "content": content}
    return _insert_markers(value, block_markers)


def _insert_markers(value: Json, markers: list[WireMarker]) -> Json:
    if not isinstance(value, dict):
        return value
    pairs = [(key, item) for key, item in value.items() if key not in {mark.key for mark in markers}]
    for mark in markers:
        pairs.insert(mark.at, (mark.key, mark.value))
    return dict(pairs)
