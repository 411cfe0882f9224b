"""Walk JSON text and report the character range of each value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed

PIECE: Final = 4_000_000
"""Characters parsed by one call into the C scanner, which holds the GIL."""

_WINDOWS: Final = (4_000, 250_000, PIECE)
"""Characters passed to the scanner, more each time that a value does not end in them."""
_WHITE_SPACE: Final = re.compile(r"[ \t\n\r]*")


class Value(NamedTuple):
    """A JSON value and the characters from `start` to `end` (exclusive) that spell it."""

    value: Json
    start: int
    end: int


class Member(NamedTuple):
    """A member of an object, with the character ranges of its key (with quotes) and its value.

    If its list was entered, `items` are the elements and `value` is None.
    """

    key: str
    key_start: int
    key_end: int
    value: Json
    start: int
    end: int
    items: list[Value] | None = None


def malformed(message: str, text: str, at: int) -> Malformed:
    """An error that names line and column (1-based) of character `at`."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return Malformed(message, place=f"line {line} column {column}", way_out="the body must be one JSON object")


def skip(text: str, at: int) -> int:
    """Index of the first character from `at` on that is not white space."""
    match = _WHITE_SPACE.match(text, at)
    return match.end() if match else at


def read(text: str, at: int) -> Value:
    """Parse the value that starts at character `at`, which is no white space.

    Raises `Malformed`. An object or list longer than `PIECE` is read member by member.
    """
    try:
        if len(text) - at <= PIECE:
            value, end = canonical.raw_decode(text, at)
            return Value(value, at, end)
        return _read_long(text, at)
    except RecursionError:
        raise malformed("JSON is nested too deeply", text, at) from None
    except ValueError as error:
        raise malformed(f"not JSON: {getattr(error, 'msg', error)}", text, getattr(error, "pos", at)) from None


def _read_long(text: str, at: int) -> Value:
    """Like `read`, for text so long that a container might exceed `PIECE`."""
    if text[at] not in "{[":
        value, end = canonical.raw_decode(text, at)
        return Value(value, at, end)
    # Most containers are short; only longer ones are tried in larger windows, each a copy.
    for size in _WINDOWS:
        try:
            value, length = canonical.raw_decode(text[at : at + size], 0)
            return Value(value, at, at + length)
        except ValueError:
            continue
    if text[at] == "{":
        inner = list(members(text, at))
        return Value({m.key: m.value for m in inner}, at, close(text, inner[-1].end if inner else at + 1))
    items = list(elements(text, at))
    return Value([v.value for v in items], at, close(text, items[-1].end if items else at + 1))


def close(text: str, at: int) -> int:
    """Index after the bracket that closes a container whose last part ends at `at`."""
    return skip(text, at) + 1


def _find_expected(text: str, at: int, expected: str) -> int:
    at = skip(text, at)
    if text[at : at + 1] not in expected or at >= len(text):
        raise malformed(f"not JSON: expected {' or '.join(expected)}", text, at)
    return at


def members(text: str, at: int, into: frozenset[str] = frozenset()) -> Iterator[Member]:
    """Yield the members, also duplicates, of the object that opens at `at` (unchecked).

    The lists under the keys of `into` are entered. Raises `Malformed`.
    """
    at = skip(text, at + 1)
    if text[at : at + 1] == "}":
        return
    while True:
        at = _find_expected(text, at, '"')
        key, key_start, key_end = read(text, at)
        start = skip(text, _find_expected(text, key_end, ":") + 1)
        if key in into and text[start : start + 1] == "[":
            items = list(elements(text, start))
            end = close(text, items[-1].end if items else start + 1)
            yield Member(key, key_start, key_end, None, start, end, items)
        else:
            value, _, end = read(text, start)
            yield Member(key, key_start, key_end, value, start, end)
        at = _find_expected(text, end, ",}")
        if text[at] == "}":
            return
        at += 1


def elements(text: str, at: int) -> Iterator[Value]:
    """Yield the elements of the list that opens at `at` (unchecked). Raises `Malformed`."""
    at = skip(text, at + 1)
    if text[at : at + 1] == "]":
        return
    while True:
        element = read(text, skip(text, at))
        yield element
        at = _find_expected(text, element.end, ",]")
        if text[at] == "]":
            return
        at += 1
