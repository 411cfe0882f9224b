"""The parts of one element of a request (a message, a tool, a system text), and the cache markers taken off them."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, MARKER_KEYS, NOT_RECORDED, TOOL, UNREADABLE, Item, Place
from ctxtui.core.canonical import Json

Spot = tuple[str | int, ...]
"""Where a part stands inside its element: ``("content", 2)``; ``()`` is the whole element."""


class WireMarker(NamedTuple):
    """A cache marker and where it was: on item `inner` of the block's content (-1: on the block itself), as member
    number `at` (0-based) under `key`."""

    inner: int
    key: str
    at: int
    value: Json


class WirePart(NamedTuple):
    """A block with the JSON `value` it was made of (markers taken off) and its `spot` (None for a header)."""

    item: Item
    spot: Spot | None
    value: Json
    marks: tuple[WireMarker, ...] = ()


Piece = tuple[str, Json]
"""A block's kind and its JSON value with markers put back: what elements are joined from."""

_ON_BLOCK: Final = -1
_OURS: Final = frozenset({HEADER, NOT_RECORDED, TOOL, UNREADABLE})


def part(kind: str, value: Json, place: Place, spot: Spot | None) -> WirePart:
    """The part of `kind` that `value`, which may carry markers, makes at `spot`."""
    value, marks = bare(value)
    return WirePart(Item(blocks.make(kind, value), place), spot, value, marks)


def words(text: str, place: Place, spot: Spot) -> WirePart:
    """The text part that a plain string at `spot` makes."""
    made = blocks.text(text)
    return WirePart(Item(made, place), spot, {"type": "text", "text": text})


def unreadable(path: str, reason: str, place: Place, spot: Spot) -> WirePart:
    """What stands for a value of the wrong shape at JSON `path`; the skeleton keeps its text."""
    made = blocks.unreadable(path, reason)
    return WirePart(Item(made, place), spot, made.value())


def content_part(value: Json, path: str, place: Place, spot: Spot) -> WirePart:
    """The part of one entry in a list of content: an object with a type, a plain string, or something unreadable."""
    if isinstance(value, str):
        return words(value, place, spot)
    if not isinstance(value, dict):
        return unreadable(path, f"a content part is {shape(value)}, not an object", place, spot)
    return part(kind_of(value, "text"), value, place, spot)


def value_of(piece: Piece) -> Json:
    """The JSON value of a block that is written as it is."""
    return piece[1]


def kind_of(value: dict[str, Json], default: str) -> str:
    """The provider's kind of a part or item; a name that is one of ours is told apart."""
    kind = value.get("type", default)
    if not isinstance(kind, str) or not kind:
        return default
    return f"{kind}_part" if kind in _OURS else kind


def shape(value: Json) -> str:
    """What sort of JSON value this is, in words for an error: ``a list``, ``null``."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def bare(value: Json) -> tuple[Json, tuple[WireMarker, ...]]:
    """`value` without its cache markers, and the markers."""
    stripped = blocks.without_markers(value)
    if stripped is value or not isinstance(value, dict):
        return value, ()
    marks = [*_marks(value, _ON_BLOCK)]
    if value.get("type") == "tool_result" and isinstance(value.get("content"), list):
        for inner, item in enumerate(value["content"]):
            marks += _marks(item, inner)
    return stripped, tuple(marks)


def _marks(value: Json, inner: int) -> list[WireMarker]:
    if not isinstance(value, dict):
        return []
    return [WireMarker(inner, key, at, value[key]) for at, key in enumerate(value) if key in MARKER_KEYS]


def marked(value: Json, marks: tuple[WireMarker, ...]) -> Json:
    """`value` with `marks` put back where they were, as far as it still has the places."""
    if not marks or not isinstance(value, dict):
        return value
    own = [mark for mark in marks if mark.inner == _ON_BLOCK]
    inside = [mark for mark in marks if mark.inner != _ON_BLOCK]
    if inside and isinstance(value.get("content"), list):
        content = list(value["content"])
        for inner in {mark.inner for mark in inside if mark.inner < len(content)}:
            content[inner] = _insert(content[inner], [mark for mark in inside if mark.inner == inner])
        # The content's place among the keys is kept: assigning to an existing key does not move it.
        value = {**value, "content": content}
    return _insert(value, own)


def _insert(value: Json, marks: list[WireMarker]) -> Json:
    if not isinstance(value, dict):
        return value
    pairs = [(key, item) for key, item in value.items() if key not in {mark.key for mark in marks}]
    for mark in marks:
        pairs.insert(mark.at, (mark.key, mark.value))
    return dict(pairs)
