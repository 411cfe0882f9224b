"""Split messages into header and parts, and join them again; each dialect names its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.wire.parts import Piece, Position, WirePart, content_part, make_part, strip_markers, text_part, value_of

STRING: Final = "string"
LIST: Final = "list"
OBJECT: Final = "object"

_ANSWERS: Final = frozenset({"tool", "function"})


class BlockField(NamedTuple):
    """A member of a message that becomes blocks of `kind`.

    - `form`: ``string``: one block with the text under the key `inside`; ``list``: one block for each entry;
      ``object``: one block. The header keeps the form's name in place of the member's value.
    - `first`: its blocks come before the content.
    """

    key: str
    kind: str
    form: str
    inside: str = "text"
    first: bool = False


class Shape(NamedTuple):
    """The members of a dialect's messages that become blocks.

    - `content`: the member with the content; `fields`: the other ones.
    - `split_part`, `join_part`: read and write one entry of the content.
    - `role`: the role of a message that names none.
    - `takes_object`: the content may be one object instead of a list.
    """

    fields: tuple[BlockField, ...] = ()
    content: str = "content"
    role: str = ""
    split_part: Callable[[Json, str, Place, Position], WirePart] = content_part
    join_part: Callable[[Piece], Json] = value_of
    takes_object: bool = False


def split_message(message: dict[str, Json], path: str, shape: Shape) -> list[WirePart]:
    """Split `message` (at JSON `path`) into its header and parts, in prompt order.

    The header holds members that become no block verbatim, and the form's name for those that do.
    """
    role = message.get("role")
    place = Place("messages", role if isinstance(role, str) and role else shape.role)
    head = dict(message)
    before: list[WirePart] = []
    after: list[WirePart] = []
    for field in shape.fields:
        blocks_of_field = _split_field(message.get(field.key), field, place)
        if blocks_of_field is not None:
            head[field.key] = field.form
            (before if field.first else after).extend(blocks_of_field)
    value = message.get(shape.content)
    content = _split_content(value, path, place, shape)
    if content is not None:
        head[shape.content] = STRING if isinstance(value, str) else LIST if isinstance(value, list) else OBJECT
    head, markers = strip_markers(head)
    header = WirePart(Item(blocks.make(HEADER, head), place), None, head, markers)
    return [header, *before, *(content or []), *after]


def _split_field(value: Json, field: BlockField, place: Place) -> list[WirePart] | None:
    if field.form == STRING and isinstance(value, str) and value:
        block_value = {"type": field.kind, field.inside: value}
        return [WirePart(Item(blocks.make(field.kind, block_value), place), (field.key,), block_value)]
    if field.form == LIST and isinstance(value, list) and value:
        return [make_part(field.kind, item, place, (field.key, n)) for n, item in enumerate(value)]
    if field.form == OBJECT and isinstance(value, dict):
        return [make_part(field.kind, value, place, (field.key,))]
    return None


def _split_content(value: Json, path: str, place: Place, shape: Shape) -> list[WirePart] | None:
    key = shape.content
    if isinstance(value, str) and (value or place.role in _ANSWERS):
        return [text_part(value, place, (key,))]
    if isinstance(value, list):
        return [shape.split_part(v, f"{path}.{key}[{n}]", place, (key, n)) for n, v in enumerate(value)]
    if isinstance(value, dict) and shape.takes_object:
        return [shape.split_part(value, f"{path}.{key}", place, (key,))]
    return None


def join_message(pieces: Sequence[Piece], shape: Shape) -> dict[str, Json]:
    """Join pieces (the header first) to a message, the inverse of `split_message`.

    A list or object that the header does not name is added for pieces of its kind; members that lost their blocks are
    left out.
    """
    head = dict(pieces[0][1])
    later_pieces = list(pieces[1:])
    # Fields after the content are taken off the end, so the last of them first.
    leading = [field for field in shape.fields if field.first]
    trailing = [field for field in shape.fields if not field.first]
    for field in leading + trailing[::-1]:
        named = head.get(field.key) == field.form
        field_pieces = _pop_pieces(later_pieces, field, named)
        if field_pieces:
            head[field.key] = _field_value(field_pieces, field)
        elif named:
            del head[field.key]
    form = head.get(shape.content)
    if form == OBJECT and len(later_pieces) == 1:
        head[shape.content] = shape.join_part(later_pieces[0])
    elif later_pieces or form in (STRING, LIST, OBJECT):
        head[shape.content] = _content_value(later_pieces, form == STRING, shape)
    return head


def _pop_pieces(pieces: list[Piece], field: BlockField, named: bool) -> list[Piece]:
    if field.form != LIST and not named and field.form != OBJECT:
        return []
    popped: list[Piece] = []
    limit = len(pieces) if field.form == LIST else 1
    end_index = 0 if field.first else -1
    while pieces and len(popped) < limit and _can_hold(pieces[end_index], field):
        popped.append(pieces.pop(end_index))
    return popped if field.first else popped[::-1]


def _can_hold(piece: Piece, field: BlockField) -> bool:
    """Whether `field` can hold a block; a string field only a non-empty string.

    A block of the same kind that has further members, or no text, comes from the content.
    """
    kind, value = piece
    if kind != field.kind or field.form != STRING:
        return kind == field.kind
    plain = isinstance(value, dict) and value.keys() == {"type", field.inside}
    return plain and isinstance(value[field.inside], str) and value[field.inside] != ""


def _field_value(pieces: list[Piece], field: BlockField) -> Json:
    if field.form == LIST:
        return [value for _, value in pieces]
    value = pieces[0][1]
    return value[field.inside] if field.form == STRING and isinstance(value, dict) else value


def _content_value(pieces: list[Piece], as_string: bool, shape: Shape) -> Json:
    if as_string and not pieces:
        return ""
    if as_string and len(pieces) == 1 and is_plain(*pieces[0]):
        return pieces[0][1]["text"]
    return [shape.join_part(piece) for piece in pieces]


def is_plain(kind: str, value: Json) -> bool:
    """Whether a block is nothing but its text, so that a string can replace it."""
    return kind == "text" and isinstance(value, dict) and value.keys() == {"type", "text"}
