"""JSON inside a text made smaller by rule: members dropped, renamed, flattened; what is no JSON stays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

SMALLEST: Final = 40
"""Characters from which a stretch of JSON is looked at."""

_OPENINGS: Final = "{["


class CompactionRules(NamedTuple):
    """What is done to every object: members of a name in `drop` go; `rename` gives others another name; a member in
    `flatten` that is an object becomes the text ``key=value, key=value`` of its members, and goes where they say
    nothing."""

    drop: frozenset[str] = frozenset()
    rename: Mapping[str, str] = {}
    flatten: frozenset[str] = frozenset()


def rules_of(given: Mapping[str, Json]) -> CompactionRules:
    """The rules in a payload: ``{"drop": [...], "rename": {...}, "flatten": [...]}``."""
    drop, rename, flatten = given.get("drop"), given.get("rename"), given.get("flatten")
    return CompactionRules(
        frozenset(str(one) for one in drop) if isinstance(drop, list) else frozenset(),
        {str(k): str(v) for k, v in rename.items()} if isinstance(rename, dict) else {},
        frozenset(str(one) for one in flatten) if isinstance(flatten, list) else frozenset(),
    )


def compacted(text: str, given: Mapping[str, Json]) -> str:
    """`text` with the objects and lists in it written compactly under the payload's rules; never longer."""
    rules = rules_of(given)
    made: list[str] = []
    at = 0
    for start, stop, value in _found(text):
        small = canonical.dump_text(_apply(value, rules))
        made += [text[at:start], small if len(small) < stop - start else text[start:stop]]
        at = stop
    return "".join([*made, text[at:]])


def values(text: str) -> Iterator[Json]:
    """The objects and lists in `text`."""
    return (value for _, _, value in _found(text))


def _found(text: str) -> Iterator[tuple[int, int, Json]]:
    at = 0
    # Not a regular expression: looking for one of two characters in ten megabytes it holds up every other thread.
    nearest = dict.fromkeys(_OPENINGS, -1)
    while True:
        for sign, where in nearest.items():
            if where < at:
                found = text.find(sign, at)
                nearest[sign] = found if found >= 0 else len(text)
        start = min(nearest.values())
        if start >= len(text):
            return
        try:
            value, stop = canonical.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError, ValueError):
            at = start + 1
            continue
        if stop - start >= SMALLEST:
            yield start, stop, value
        at = stop


def _apply(value: Json, rules: CompactionRules) -> Json:
    if isinstance(value, list):
        return [_apply(item, rules) for item in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Json] = {}
    for key, item in value.items():
        if key in rules.drop:
            continue
        name = rules.rename.get(key, key)
        if key not in rules.flatten or not isinstance(item, dict):
            made[name] = _apply(item, rules)
        elif words := _flat(item, rules):
            made[name] = words
    return made


def _flat(value: dict[str, Json], rules: CompactionRules) -> str:
    made = _apply(value, rules)
    said = [(key, item) for key, item in made.items() if item not in (None, "", [], {}, False)]
    return ", ".join(f"{key}={item if isinstance(item, str) else canonical.dump_text(item)}" for key, item in said)
