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
"""Runs of characters that are spelled the same in a block's JSON and in its text."""


class LabelRule(Struct, frozen=True, kw_only=True):
    """A search for segments, and their label.

    `name` is the rule's own, `label` that of its segments, `category` the one in which their tokens count ("": the
    block's own). One of three defines the search: `between` two tags, `regex` (its group ``segment`` if it has one,
    else the whole match), or `pointers` (RFC 6901, ``*`` for every member) into the JSON in the text, whose value must
    hold one of `beside` if there are any. Only blocks of the categories `within` are searched, only parts with the
    label `inside` if given, only blocks whose JSON holds one of `needles` if any. `place` is the position of the rule's
    definition.
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
        """Whether a block of `category` with the JSON `body` may have a match."""
        return category in self.within and (not self.needles or any(needle in body for needle in self.needles))


def parse_rule(name: str, table: Any, place: str = "") -> LabelRule:
    """Parse the rule `name`, defined at `place`, from `table`.

    Raises `BadConfig` naming the key and the expected value.
    """
    try:
        return _rule(name, _checked(table), place)
    except ValueError as error:
        raise BadConfig(str(error), place=", ".join(filter(None, (place, f"label rule {name}")))) from None


def _checked(table: Any) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise ValueError(f"it must be a table with one of {', '.join(_WAYS)}")
    odd = next((key for key in table if key not in _KEYS), None)
    if odd is not None:
        raise ValueError(f"unknown key {odd!r}; there are {', '.join(_KEYS)}")
    if sum(way in table for way in _WAYS) != 1:
        raise ValueError(f"it must have exactly one of {', '.join(_WAYS)}")
    return table


def _rule(name: str, table: Mapping[str, Any], place: str) -> LabelRule:
    between, pointers = _tags(table), _pointers(table)
    contains = _texts(table, "contains")
    beside = tuple(_texts(table, "beside"))
    keys = [_last_key(one) for one in (beside or pointers)]
    texts = contains or ([between[0]] if between[0] else keys)
    return LabelRule(
        name=name,
        label=_text(table, "label") or name,
        category=_category(table),
        within=frozenset(_categories(table)),
        inside=_text(table, "inside"),
        between=between,
        regex=_regex(table),
        pointers=pointers,
        beside=beside,
        needles=tuple(find_needles(texts)),
        place=place,
    )


def find_needles(texts: Iterable[str]) -> Iterator[bytes]:
    """Byte strings that a block's JSON must contain if its text contains one of the given texts.

    For each text its longest run that JSON spells only one way. Empty if a text has no such run: then every block
    must be searched.
    """
    runs = [max(_SAFE.findall(text), key=len, default="") for text in texts]
    if all(runs):
        yield from (text.encode() for text in dict.fromkeys(runs))


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text, not {value!r}")
    return value


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    many = [value] if isinstance(value, str) else value
    if not isinstance(many, list) or not all(isinstance(one, str) and one for one in many):
        raise ValueError(f"{key} must be a text or a list of texts, not {value!r}")
    return many


def _tags(table: Mapping[str, Any]) -> tuple[str, str]:
    if "between" not in table:
        return "", ""
    both = _texts(table, "between")
    if len(both) != 2:
        raise ValueError(f"between must be two tags, not {table['between']!r}")
    return both[0], both[1]


def _regex(table: Mapping[str, Any]) -> str:
    text = _text(table, "regex")
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "regex" in table and not text:
        raise ValueError("regex must not be empty")
    return text


def _pointers(table: Mapping[str, Any]) -> tuple[str, ...]:
    pointers = _texts(table, "pointer")
    if "pointer" in table and not pointers:
        raise ValueError("pointer must not be empty")
    bad = next((one for one in [*pointers, *_texts(table, "beside")] if not one.startswith("/")), None)
    if bad is not None:
        raise ValueError(f"a pointer begins with /, not {bad!r}")
    return tuple(pointers)


def _last_key(pointer: str) -> str:
    keys = [key for key in pointer.split("/")[1:] if key != "*" and not key.isdigit()]
    return unescaped(keys[-1]) if keys else ""


def unescaped(key: str) -> str:
    """Decode a step of a JSON pointer into its key."""
    return key.replace("~1", "/").replace("~0", "~")


def _category(table: Mapping[str, Any]) -> str:
    name = _text(table, "category")
    if name and name not in SPLIT_CATEGORIES:
        raise ValueError(f"category must be one of {', '.join(SPLIT_CATEGORIES)}, not {name!r}")
    return name


def _categories(table: Mapping[str, Any]) -> list[str]:
    names = _texts(table, "in") or list(SPLIT_CATEGORIES)
    odd = next((name for name in names if name not in SPLIT_CATEGORIES), None)
    if odd is not None:
        raise ValueError(f"in must be of {', '.join(SPLIT_CATEGORIES)}, not {odd!r}")
    return names
