"""Messages taken apart into header and parts, and put together again; each dialect names its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.wire.parts import Piece, Spot, WirePart, bare, content_part, part, value_of, words

STRING: Final = "string"
LIST: Final = "list"
OBJECT: Final = "object"

_ANSWERS: Final = frozenset({"tool", "function"})


class BlockField(NamedTuple):
    """A member of a message that becomes blocks.

    `form` is how it is written: ``string`` (one block of `kind` whose words stand under `inside`), ``list`` (one
    block of `kind` each), ``object`` (one block of `kind`). The header keeps the form's name in the member's place.
    `first` says that its blocks come before the content.
    """

    key: str
    kind: str
    form: str
    inside: str = "text"
    first: bool = False


class Shape(NamedTuple):
    """The members of a dialect's messages that become blocks: its content, the member `content`, and `fields`.

    `split_part` reads one entry of the content and `join_part` writes it. `role` is that of a message that names none.
    With `takes_object` a content that is one object counts as its only entry.
    """

    fields: tuple[BlockField, ...] = ()
    mark: str = ""
    content: str = "content"
    role: str = ""
    split_part: Callable[[Json, str, Place, Spot], WirePart] = content_part
    join_part: Callable[[Piece], Json] = value_of
    takes_object: bool = False


def split(message: dict[str, Json], path: str, shape: Shape) -> list[WirePart]:
    """Header and parts of `message` (at JSON `path`), in prompt order.

    The header holds every member that makes no block, verbatim, and the form of those that do. An empty string makes
    a block only where it is a tool's answer; an empty list of calls makes none.
    """
    role = message.get("role")
    place = Place("messages", role if isinstance(role, str) and role else shape.role, shape.mark)
    head = dict(message)
    before: list[WirePart] = []
    after: list[WirePart] = []
    for field in shape.fields:
        found = _field(message.get(field.key), field, place)
        if found is not None:
            head[field.key] = field.form
            (before if field.first else after).extend(found)
    value = message.get(shape.content)
    content = _content(value, path, place, shape)
    if content is not None:
        head[shape.content] = STRING if isinstance(value, str) else LIST if isinstance(value, list) else OBJECT
    head, marks = bare(head)
    header = WirePart(Item(blocks.make(HEADER, head), place), None, head, marks)
    return [header, *before, *(content or []), *after]


def _field(value: Json, field: BlockField, place: Place) -> list[WirePart] | None:
    if field.form == STRING and isinstance(value, str) and value:
        made = {"type": field.kind, field.inside: value}
        return [WirePart(Item(blocks.make(field.kind, made), place), (field.key,), made)]
    if field.form == LIST and isinstance(value, list) and value:
        return [part(field.kind, item, place, (field.key, n)) for n, item in enumerate(value)]
    if field.form == OBJECT and isinstance(value, dict):
        return [part(field.kind, value, place, (field.key,))]
    return None


def _content(value: Json, path: str, place: Place, shape: Shape) -> list[WirePart] | None:
    key = shape.content
    if isinstance(value, str) and (value or place.role in _ANSWERS):
        return [words(value, place, (key,))]
    if isinstance(value, list):
        return [shape.split_part(v, f"{path}.{key}[{n}]", place, (key, n)) for n, v in enumerate(value)]
    if isinstance(value, dict) and shape.takes_object:
        return [shape.split_part(value, f"{path}.{key}", place, (key,))]
    return None


def join(pieces: Sequence[Piece], shape: Shape) -> dict[str, Json]:
    """The message that `pieces` (the header first) make: the inverse of `split` for messages of the usual shapes.

    Members that the header does not name are added, members that lost their blocks are left out.
    """
    head = dict(pieces[0][1])
    rest = list(pieces[1:])
    # Fields behind the content are taken off the end, so the last of them first.
    leading = [field for field in shape.fields if field.first]
    trailing = [field for field in shape.fields if not field.first]
    for field in leading + trailing[::-1]:
        named = head.get(field.key) == field.form
        taken = _take(rest, field, named)
        if taken:
            head[field.key] = _written(taken, field)
        elif named:
            del head[field.key]
    form = head.get(shape.content)
    if form == OBJECT and len(rest) == 1:
        head[shape.content] = shape.join_part(rest[0])
    elif rest or form in (STRING, LIST, OBJECT):
        head[shape.content] = _content_value(rest, form == STRING, shape)
    return head


def _take(rest: list[Piece], field: BlockField, named: bool) -> list[Piece]:
    """Removes from `rest` the pieces that belong into `field`: at its front or end, by kind."""
    if field.form != LIST and not named and field.form != OBJECT:
        return []
    taken: list[Piece] = []
    limit = len(rest) if field.form == LIST else 1
    at = 0 if field.first else -1
    while rest and len(taken) < limit and _fits(rest[at], field):
        taken.append(rest.pop(at))
    return taken if field.first else taken[::-1]


def _fits(piece: Piece, field: BlockField) -> bool:
    """Whether `field` can hold a block: one whose string is all it says, where the field is a string. A part of the
    content may be of the same kind and say more, or nothing."""
    kind, value = piece
    if kind != field.kind or field.form != STRING:
        return kind == field.kind
    plain = isinstance(value, dict) and value.keys() == {"type", field.inside}
    return plain and isinstance(value[field.inside], str) and value[field.inside] != ""


def _written(taken: list[Piece], field: BlockField) -> Json:
    if field.form == LIST:
        return [value for _, value in taken]
    value = taken[0][1]
    return value[field.inside] if field.form == STRING and isinstance(value, dict) else value


def _content_value(pieces: list[Piece], as_string: bool, shape: Shape) -> Json:
    if as_string and not pieces:
        return ""
    if as_string and len(pieces) == 1 and is_plain(*pieces[0]):
        return pieces[0][1]["text"]
    return [shape.join_part(piece) for piece in pieces]


def is_plain(kind: str, value: Json) -> bool:
    """Whether a block says nothing but its words, so that a string can stand for it."""
    return kind == "text" and isinstance(value, dict) and value.keys() == {"type", "text"}
