"""A value that a JSON schema accepts: the plainest one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.shape import members, rows

_PLAIN: Final[dict[str, Json]] = {"integer": 0, "number": 0, "boolean": False, "null": None}
_FORMATS: Final = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "nobody@example.org",
    "uri": "https://example.org",
    "uuid": "00000000-0000-0000-0000-000000000000",
}


def instance(schema: Json, text: str, root: Json = None) -> Json:
    """A value of `schema` with no more in it than must be; strings are `text` where nothing else is asked for.

    Understands what the providers' structured outputs allow: types, enum, const, anyOf, allOf, $ref into the same
    schema, lengths and bounds.
    """
    here = members(schema)
    top = schema if root is None else root
    if isinstance(here.get("$ref"), str):
        return instance(_pointed(here["$ref"], top), text, top)
    for fixed in ("const", "default"):
        if fixed in here:
            return here[fixed]
    if rows(here.get("enum")):
        return here["enum"][0]
    for several in ("anyOf", "oneOf", "allOf"):
        if rows(here.get(several)):
            return instance(here[several][0], text, top)
    kind = type_name(here)
    if kind == "object":
        inner = members(here.get("properties"))
        return {name: instance(inner.get(name, {}), text, top) for name in rows(here.get("required"))}
    if kind == "array":
        return [instance(here.get("items", {}), text, top) for _ in range(int(here.get("minItems") or 0))]
    if kind in ("integer", "number"):
        return here.get("minimum", _PLAIN[kind])
    return _PLAIN[kind] if kind in _PLAIN else _string(here, text)


def type_name(schema: Mapping[str, Json]) -> str:
    """The type that a schema asks for; the first one of several, an object where it has properties."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return str(kind) if kind else "object" if "properties" in schema else "string"


def _string(schema: Mapping[str, Json], text: str) -> str:
    made = _FORMATS.get(str(schema.get("format")), text)
    least, most = schema.get("minLength"), schema.get("maxLength")
    made = made.ljust(least, "-") if isinstance(least, int) else made
    return made[:most] if isinstance(most, int) else made


def _pointed(reference: str, root: Json) -> Json:
    value = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        value = members(value).get(step.replace("~1", "/").replace("~0", "~"), {}) if step else value
    return value
