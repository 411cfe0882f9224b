"""Shrinks JSON inside a text: drops, renames or flattens members by the user's rules.

Edits of the kind ``compact_json`` use it. Text around the JSON, and text that is no JSON, stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

MIN_JSON_CHARS: Final = 40
"""Characters of the shortest JSON that is changed."""

_OPENINGS: Final = "{["


class CompactionRules(NamedTuple):
    """Rules applied to every object in the JSON.

    - `drop`: names of members that are removed.
    - `rename`: new names by old name.
    - `flatten`: members whose value, if an object, becomes the text ``key=value, key=value``. Empty and false members
      are left out of that text; if none is left, the member is removed.
    """

    drop: frozenset[str] = frozenset()
    rename: Mapping[str, str] = {}
    flatten: frozenset[str] = frozenset()


def read_rules(params: Mapping[str, Json]) -> CompactionRules:
    """Read the rules from a payload: ``{"drop": [...], "rename": {...}, "flatten": [...]}``."""
    drop, rename, flatten = params.get("drop"), params.get("rename"), params.get("flatten")
    return CompactionRules(
        frozenset(str(name) for name in drop) if isinstance(drop, list) else frozenset(),
        {str(k): str(v) for k, v in rename.items()} if isinstance(rename, dict) else {},
        frozenset(str(name) for name in flatten) if isinstance(flatten, list) else frozenset(),
    )


def compact(text: str, params: Mapping[str, Json]) -> str:
    """Compact the objects and lists in `text` under the payload's rules."""
    rules = read_rules(params)
    pieces: list[str] = []
    offset = 0
    for start, stop, value in _find_json(text):
        small = canonical.dump_text(_apply_rules(value, rules))
        pieces += [text[offset:start], small if len(small) < stop - start else text[start:stop]]
        offset = stop
    return "".join([*pieces, text[offset:]])


def values(text: str) -> Iterator[Json]:
    """The objects and lists in `text` of at least `MIN_JSON_CHARS`."""
    return (value for _, _, value in _find_json(text))


def _find_json(text: str) -> Iterator[tuple[int, int, Json]]:
    offset = 0
    # Not a regular expression: searching ten megabytes for one of two characters would block all other threads.
    nearest = dict.fromkeys(_OPENINGS, -1)
    while True:
        for sign, index in nearest.items():
            if index < offset:
                position = text.find(sign, offset)
                nearest[sign] = position if position >= 0 else len(text)
        start = min(nearest.values())
        if start >= len(text):
            return
        try:
            value, stop = canonical.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError, ValueError):
            offset = start + 1
            continue
        if stop - start >= MIN_JSON_CHARS:
            yield start, stop, value
        offset = stop


def _apply_rules(value: Json, rules: CompactionRules) -> Json:
    if isinstance(value, list):
        return [_apply_rules(item, rules) for item in value]
    if not isinstance(value, dict):
        return value
    members: dict[str, Json] = {}
    for key, item in value.items():
        if key in rules.drop:
            continue
        name = rules.rename.get(key, key)
        if key not in rules.flatten or not isinstance(item, dict):
            members[name] = _apply_rules(item, rules)
        elif text := _flatten(item, rules):
            members[name] = text
    return members


def _flatten(value: dict[str, Json], rules: CompactionRules) -> str:
    members = _apply_rules(value, rules)
    non_empty = [(key, item) for key, item in members.items() if item not in (None, "", [], {}, False)]
    return ", ".join(f"{key}={item if isinstance(item, str) else canonical.dump_text(item)}" for key, item in non_empty)
