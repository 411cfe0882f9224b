"""Rules that split blocks into labelled segments, as written in TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import BadConfig

SPLIT_CATEGORIES: Final = tuple(name for name in CATEGORIES if name not in ("thinking", "image"))
"""Categories whose blocks may be split: a provider removes thinking as a whole, an image has no text."""

_KEYS: Final = ("label", "category", "in", "inside", "contains", "between", "regex", "pointer", "beside")
_WAYS: Final = ("between", "regex", "pointer")
_SAFE: Final = re.compile(r"[ !#-\[\]-~]+")
"""Characters that JSON spells as they are: no quotes, backslashes or escapes."""


class LabelRule(Struct, frozen=True, kw_only=True):
    """A search for segments, and their label.

    - `name` identifies the rule in messages.
    - `label` is given to the segments. Their tokens count in `category` ("": in the block's own).
    - Exactly one of `between`, `regex` and `pointers` is set. `between` finds the text between two tags. `regex` finds
      its group ``segment``, or the whole match if it has no such group. `pointers` are JSON pointers (RFC 6901, ``*``
      for every member) into JSON in the text.
    - `beside` are JSON pointers, too: only JSON in which one of them finds something is searched (empty: all JSON).
    - `within` are the categories whose blocks are searched.
    - `inside` restricts the search to segments with this label ("": the whole text).
    - `needles` are byte strings: only blocks whose JSON contains one of them are searched (empty: every block).
    - `place` is where the rule is defined, for messages.
    """

    name: str
    label: str
    category: str = ""
    within: frozenset[str] = frozenset(SPLIT_CATEGORIES)
    inside: str = ""
    between: tuple[str, str] = ("", "")
    regex: str = ""
    pointers: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    needles: tuple[bytes, ...] = ()
    place: str = ""

    def applies(self, category: str, body: bytes) -> bool:
        return category in self.within and (not self.needles or any(needle in body for needle in self.needles))


def parse_rule(name: str, table: Any, place: str = "") -> LabelRule:
    """Parse the rule `name`, defined at `place`, from `table`. Raises `BadConfig`."""
    try:
        return _make_rule(name, _check_keys(table), place)
    except ValueError as error:
        raise BadConfig(str(error), place=", ".join(filter(None, (place, f"label rule {name}")))) from None


def _check_keys(table: Any) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise ValueError(f"it must be a table with one of {', '.join(_WAYS)}")
    odd = next((key for key in table if key not in _KEYS), None)
    if odd is not None:
        raise ValueError(f"unknown key {odd!r}; there are {', '.join(_KEYS)}")
    if sum(way in table for way in _WAYS) != 1:
        raise ValueError(f"it must have exactly one of {', '.join(_WAYS)}")
    return table


def _make_rule(name: str, table: Mapping[str, Any], place: str) -> LabelRule:
    between, pointers = _read_tags(table), _read_pointers(table)
    contains = _read_texts(table, "contains")
    beside = tuple(_read_texts(table, "beside"))
    keys = [_last_key(pointer) for pointer in (beside or pointers)]
    texts = contains or ([between[0]] if between[0] else keys)
    return LabelRule(
        name=name,
        label=_read_text(table, "label") or name,
        category=_read_category(table),
        within=frozenset(_read_categories(table)),
        inside=_read_text(table, "inside"),
        between=between,
        regex=_read_regex(table),
        pointers=pointers,
        beside=beside,
        needles=tuple(find_needles(texts)),
        place=place,
    )


def find_needles(texts: Iterable[str]) -> Iterator[bytes]:
    """Byte strings, one of which is in the JSON of each block that contains one of `texts`.

    They are the longest run of each text that JSON spells only one way; none if a text has no such run.
    """
    runs = [max(_SAFE.findall(text), key=len, default="") for text in texts]
    if all(runs):
        yield from (text.encode() for text in dict.fromkeys(runs))


def _read_text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text, not {value!r}")
    return value


def _read_texts(table: Mapping[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(value, str) and value for value in values):
        raise ValueError(f"{key} must be a text or a list of texts, not {value!r}")
    return values


def _read_tags(table: Mapping[str, Any]) -> tuple[str, str]:
    if "between" not in table:
        return "", ""
    both = _read_texts(table, "between")
    if len(both) != 2:
        raise ValueError(f"between must be two tags, not {table['between']!r}")
    return both[0], both[1]


def _read_regex(table: Mapping[str, Any]) -> str:
    text = _read_text(table, "regex")
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "regex" in table and not text:
        raise ValueError("regex must not be empty")
    return text


def _read_pointers(table: Mapping[str, Any]) -> tuple[str, ...]:
    pointers = _read_texts(table, "pointer")
    if "pointer" in table and not pointers:
        raise ValueError("pointer must not be empty")
    bad = next((pointer for pointer in [*pointers, *_read_texts(table, "beside")] if not pointer.startswith("/")), None)
    if bad is not None:
        raise ValueError(f"a pointer begins with /, not {bad!r}")
    return tuple(pointers)


def _last_key(pointer: str) -> str:
    keys = [key for key in pointer.split("/")[1:] if key != "*" and not key.isdigit()]
    return unescaped(keys[-1]) if keys else ""


def unescaped(key: str) -> str:
    return key.replace("~1", "/").replace("~0", "~")


def _read_category(table: Mapping[str, Any]) -> str:
    name = _read_text(table, "category")
    if name and name not in SPLIT_CATEGORIES:
        raise ValueError(f"category must be one of {', '.join(SPLIT_CATEGORIES)}, not {name!r}")
    return name


def _read_categories(table: Mapping[str, Any]) -> list[str]:
    names = _read_texts(table, "in") or list(SPLIT_CATEGORIES)
    odd = next((name for name in names if name not in SPLIT_CATEGORIES), None)
    if odd is not None:
        raise ValueError(f"in must be of {', '.join(SPLIT_CATEGORIES)}, not {odd!r}")
    return names
