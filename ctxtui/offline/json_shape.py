"""Checks the shape of JSON objects: required fields, no others, correct types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.canonical import Json

Path = tuple[str | int, ...]
"""Keys and indexes from the body down."""

STRING: Final = "string"
INTEGER: Final = "integer"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
OBJECT: Final = "object"
ARRAY: Final = "array"

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    STRING: (str,),
    INTEGER: (int,),
    NUMBER: (int, float),
    BOOLEAN: (bool,),
    OBJECT: (dict,),
    ARRAY: (list,),
}


class ShapeField(Struct, frozen=True):
    """Constraints of one member.

    - `types`: allowed JSON types; empty: any.
    - `null`: whether null is allowed, too.
    - `choices`: allowed values; empty: any.
    - `at_least`, `at_most`: bounds of a number.
    """

    types: tuple[str, ...] = ()
    required: bool = False
    null: bool = True
    choices: tuple[str, ...] = ()
    at_least: int | None = None
    at_most: int | None = None


Fields = Mapping[str, ShapeField]


class ShapeFault(NamedTuple):
    """A fault of the value at `path`.

    `kind` is ``missing``, ``extra``, ``type``, ``choice``, ``small`` or ``large``.
    """

    kind: str
    path: Path
    field: ShapeField
    value: Json


def fields(spec: str) -> dict[str, ShapeField]:
    """Parse a table of members.

    Example: ``model! string, input string|array, effort =low|high, top_p number >=0 <=1, other``. A member with ``!``
    is required and not null, any other may be missing or null. ``|`` separates alternatives, ``=`` begins allowed
    values, ``>=`` and ``<=`` bound a number. Without a type, any value is allowed.
    """
    shapes: dict[str, ShapeField] = {}
    for member in spec.split(","):
        name, *rules = member.split()
        constraints: dict[str, Json] = {"required": name.endswith("!"), "null": not name.endswith("!")}
        for rule in rules:
            if rule.startswith("="):
                constraints |= {"types": (STRING,), "choices": tuple(rule[1:].split("|"))}
            elif rule.startswith((">=", "<=")):
                constraints["at_least" if rule.startswith(">") else "at_most"] = int(rule[2:])
            else:
                constraints["types"] = tuple(rule.split("|"))
        shapes[name.rstrip("!")] = ShapeField(**constraints)
    return shapes


def find_faults(value: Mapping[str, Json], fields: Fields, path: Path = ()) -> Iterator[ShapeFault]:
    """All faults of the members of `value`, which is at `path`."""
    for key, field in fields.items():
        if key not in value:
            if field.required:
                yield ShapeFault("missing", (*path, key), field, None)
        elif (kind := _fault_kind(field, value[key])) is not None:
            yield ShapeFault(kind, (*path, key), field, value[key])
    for key in value:
        if key not in fields:
            yield ShapeFault("extra", (*path, key), ShapeField(), value[key])


def _fault_kind(field: ShapeField, value: Json) -> str | None:
    if value is None:
        return None if field.null else "type"
    if field.types and not any(is_a(name, value) for name in field.types):
        return "type"
    if field.choices and value not in field.choices:
        return "choice"
    if field.at_least is not None and isinstance(value, (int, float)) and value < field.at_least:
        return "small"
    if field.at_most is not None and isinstance(value, (int, float)) and not value <= field.at_most:
        return "large"
    return None


def is_a(name: str, value: Json) -> bool:
    """Whether `value` is of the JSON type `name`; a boolean is no number."""
    if isinstance(value, bool):
        return name == BOOLEAN
    return isinstance(value, _TYPES[name])


def type_of(value: Json) -> str:
    if value is None:
        return "null"
    return next((name for name in _TYPES if is_a(name, value)), OBJECT)


def clamp(value: Json, default: int, maximum: int) -> int:
    """`value` if it is a whole number, else `default`; from 1 to `maximum`."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else default
    return max(1, min(number, maximum))
