"""A value that a JSON schema accepts: the plainest one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core.canonical import Json, text_of
from ctxtui.offline.json_shape import members, rows

_PLAIN: Final[dict[str, Json]] = {"boolean": False, "null": None}
_DEEPEST: Final = 32
_MOST_ITEMS: Final = 100
_LONGEST: Final = 10_000
_MOST: Final = 100_000
"""Characters and values that are made in all: schemas in schemas multiply."""
_FORMATS: Final = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "nobody@example.org",
    "uri": "https://example.org",
    "uuid": "00000000-0000-0000-0000-000000000000",
}


def instance(schema: Json, text: str) -> Json:
    """A value of `schema` with no more in it than must be; strings are `text` where nothing else is asked for.

    Understands what the providers' structured outputs allow: types, enum, const, anyOf, allOf, $ref into the same
    schema, lengths and bounds. Null stands for what is nested too deeply.
    """
    return _Maker(schema, text).make(schema, 0)


class _Maker:
    def __init__(self, root: Json, text: str) -> None:
        self._root = root
        self._text = text
        self._left = _MOST

    def make(self, schema: Json, depth: int) -> Json:
        here = members(schema)
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return None
        if isinstance(here.get("$ref"), str):
            return self.make(_pointed(here["$ref"], self._root), depth + 1)
        for fixed in ("const", "default"):
            if fixed in here:
                return self._spent(here[fixed])
        if rows(here.get("enum")):
            return self._spent(here["enum"][0])
        for several in ("anyOf", "oneOf", "allOf"):
            if rows(here.get(several)):
                return self.make(here[several][0], depth + 1)
        return self._typed(here, depth)

    def _spent(self, value: Json) -> Json:
        self._left -= len(text_of(value)) if isinstance(value, str | list | dict) else 0
        return value

    def _typed(self, here: Mapping[str, Json], depth: int) -> Json:
        kind = type_name(here)
        if kind == "object":
            inner = members(here.get("properties"))
            return {name: self.make(inner.get(name, {}), depth + 1) for name in required(here)}
        if kind == "array":
            count = _bounded(here.get("minItems"), _MOST_ITEMS)
            first = [self.make(one, depth + 1) for one in rows(here.get("prefixItems"))[:_MOST_ITEMS]]
            return first + [self.make(here.get("items", {}), depth + 1) for _ in range(count - len(first))]
        if kind in ("integer", "number"):
            return _number(here)
        return _PLAIN[kind] if kind in _PLAIN else self._spent(_string(here, self._text))


def required(schema: Json) -> list[str]:
    """The members that an object of `schema` must have."""
    return [name for name in rows(members(schema).get("required")) if isinstance(name, str)]


def _bounded(value: Json, most: int) -> int:
    return min(value, most) if isinstance(value, int) and value > 0 else 0


def type_name(schema: Mapping[str, Json]) -> str:
    """The type that a schema asks for; the first one of several, an object where it has properties."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return str(kind) if kind else "object" if "properties" in schema else "string"


def _number(schema: Mapping[str, Json]) -> Json:
    """The number closest to 0 that is allowed."""
    least, over, most = (_bound(schema, key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    value: float = 0 if most is None else min(0, most)
    value = value if least is None else max(value, least)
    value = over + 1 if over is not None and over >= value else value
    step = _bound(schema, "multipleOf")
    return value if not step or step < 0 else -(-value // step) * step


def _bound(schema: Mapping[str, Json], key: str) -> float | None:
    value = schema.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _string(schema: Mapping[str, Json], text: str) -> str:
    made = _FORMATS.get(str(schema.get("format")), text)
    made = made.ljust(_bounded(schema.get("minLength"), _LONGEST), "-")
    most = schema.get("maxLength")
    return made[: max(0, most)] if isinstance(most, int) else made


def _pointed(reference: str, root: Json) -> Json:
    value = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        value = members(value).get(step.replace("~1", "/").replace("~0", "~"), {}) if step else value
    return value
