"""Attributes however they are written: OTLP's typed values, plain members, nested objects, numbers inside of names."""

from __future__ import annotations

from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.fields import count, listed, obj, objects, word
from ctxtui.transcripts.kit.readers import decoded

Attributes = dict[str, Json]
"""Values by their dotted names."""

_DEEPEST: Final = 60
_PLAIN: Final = ("stringValue", "boolValue", "doubleValue", "bytesValue")
_LONGEST: Final = 20


def plain(value: Json, depth: int = _DEEPEST) -> Json:
    """OTLP's typed value as JSON; anything else as it is."""
    if not isinstance(value, dict) or len(value) != 1 or depth == 0:
        return value
    kind, held = next(iter(value.items()))
    if kind in _PLAIN:
        return held
    if kind == "intValue":
        return int(held) if isinstance(held, str) and held.lstrip("-").isdigit() and len(held) <= _LONGEST else held
    if kind == "arrayValue":
        return [plain(item, depth - 1) for item in listed(obj(held).get("values"))]
    if kind == "kvlistValue":
        return {word(pair.get("key")): plain(pair.get("value"), depth - 1) for pair in objects(obj(held).get("values"))}
    return value


def attributes_of(value: Json) -> Attributes:
    """Attributes by name, from an object or a list of pairs; nested objects are opened."""
    if isinstance(value, list):
        pairs = [(word(pair.get("key")), plain(pair.get("value"))) for pair in objects(value)]
    else:
        pairs = list(obj(value).items())
    found: Attributes = {}
    for name, held in pairs:
        _open(found, name, held, _DEEPEST)
    return found


def _open(found: Attributes, name: str, value: Json, depth: int) -> None:
    if isinstance(value, dict) and value and depth:
        for key, held in value.items():
            _open(found, f"{name}.{key}" if name else key, held, depth - 1)
    else:
        found[name] = value


def numbered(attributes: Attributes, name: str) -> list[Attributes]:
    """The entries of a list that is spelled by numbers (``NAME.0.role``), or that stands under `name` as a list."""
    held = decoded(attributes.get(name))
    if isinstance(held, list):
        return [attributes_of(item) for item in objects(held)]
    start = name + "."
    found: dict[int, Attributes] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            number, _, rest = key[len(start) :].partition(".")
            if rest and number.isdigit() and len(number) <= _LONGEST:
                found.setdefault(int(number), {})[rest] = value
    return [found[number] for number in sorted(found)]


def first(attributes: Attributes, *names: str) -> Json:
    """The value under the first of `names` that has one; None where none has."""
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)


def text(attributes: Attributes, *names: str) -> str:
    """A word under the first of `names` that has any; the first one of a list."""
    held = first(attributes, *names)
    return word(held[0] if isinstance(held, list) and held else held)


def tokens(attributes: Attributes, *names: str) -> int | None:
    """A number of tokens under the first of `names` that has any; None where none has."""
    held = first(attributes, *names)
    if isinstance(held, str) and held.isdigit() and len(held) <= _LONGEST:
        return int(held)
    return None if held is None or isinstance(held, str | list) else count(held)
