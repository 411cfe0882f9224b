"""The canonical form of JSON: minified, with key order and number literals kept.

Texts that differ in white space and escapes only have equal canonical bytes and so equal digests. Keys are never
sorted: their order is part of a provider's prompt prefix. A number keeps its literal (``1e3`` stays ``1e3``), because a
rewritten one is another prompt.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from json import JSONDecoder
from typing import Any, Final

Json = Any
"""A decoded JSON value: dict, list, str, int, float, `Number`, bool, None."""

DIGEST_BYTES: Final = 16


class Number:
    """A number that Python would not write alike: ``1e3``, ``-0``, ``NaN``, a long integer."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __float__(self) -> float:
        return float(self.text)

    def __repr__(self) -> str:
        return f"Number({self.text})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def number(literal: str) -> float | Number:
    """Read a float literal without losing its spelling (usable as a decoder's float hook)."""
    value = float(literal)
    return value if repr(value) == literal else Number(literal)


LONG_INTEGER: Final = 4000
"""Characters beyond which an integer stays text: Python refuses to convert more than 4,300 digits."""


def _read_integer(literal: str) -> int | Number:
    return Number(literal) if literal == "-0" or len(literal) > LONG_INTEGER else int(literal)


def _read_constant(literal: str) -> Number:
    return Number(literal)


@cache
def _make_decoder() -> JSONDecoder:
    return json.JSONDecoder(parse_float=number, parse_int=_read_integer, parse_constant=_read_constant, strict=False)


def loads(text: str | bytes) -> Json:
    """Decode one JSON value, keeping number literals.

    Raises `ValueError` (json's own, with position) on malformed input, `RecursionError` on very deep nesting.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogatepass")
    return _make_decoder().decode(text)


_MAX_DEPTH: Final = 200
"""Maximum nesting that is walked recursively: Python allows about 1,000 calls within each other."""


def is_deep(value: Json) -> bool:
    """Whether `value` is nested too deeply for a recursive function."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            item
            for outer in level
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def raw_decode(text: str, at: int) -> tuple[Json, int]:
    """Decode the JSON value that starts at character `at` of `text`.

    Also returns the index just after it.
    """
    value, end = _make_decoder().raw_decode(text, at)
    return value, end


class _SpelledNumber(Exception):
    """Raised inside the fast encoder on a `Number`."""


def _reject_number(value: object) -> Json:
    if isinstance(value, Number):
        raise _SpelledNumber
    raise TypeError(f"{type(value).__name__} is not a JSON value")


@cache
def _fast_encoder() -> Callable[[Json], str]:
    return json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), check_circular=False, default=_reject_number
    ).encode


@cache
def _quoting_encoder() -> Callable[[str], str]:
    return json.JSONEncoder(ensure_ascii=False).encode


def _encode_piecewise(value: Json) -> Iterator[str]:
    """Encode slowly, used only for values with a `Number` inside."""
    if isinstance(value, Number):
        yield value.text
    elif isinstance(value, dict):
        yield "{"
        for i, (key, item) in enumerate(value.items()):
            yield f"{',' if i else ''}{_quoting_encoder()(key)}:"
            yield from _encode_piecewise(item)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for i, item in enumerate(value):
            if i:
                yield ","
            yield from _encode_piecewise(item)
        yield "]"
    else:
        yield _fast_encoder()(value)


def _escape_surrogates(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(f"\\u{ord(c):04x}" for c in bad), error.end


codecs.register_error("ctxtui-json", _escape_surrogates)


def dump_text(value: Json) -> str:
    """Encode `value` as minified JSON text; lone surrogates are still single characters in it."""
    try:
        return _fast_encoder()(value)
    except _SpelledNumber:
        return "".join(_encode_piecewise(value))


def dumps(value: Json) -> bytes:
    """Encode `value` as canonical bytes: minified UTF-8.

    A lone surrogate, which UTF-8 cannot hold, stays an escape.
    """
    return dump_text(value).encode("utf-8", "ctxtui-json")


def digest(body: bytes) -> str:
    """Digest of canonical bytes: 32 hex digits of BLAKE2b."""
    return blake2b(body, digest_size=DIGEST_BYTES).hexdigest()
