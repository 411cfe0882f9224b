"""Detect how a client's JSON library spells values, and write values the same way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NoReturn

from msgspec import Struct

from ctxtui.core.canonical import Json, Number
from ctxtui.wire.codec.spans import skip

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half of a character, which UTF-8 cannot hold."""
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|[^u])", re.DOTALL)
_PLUS: Final = re.compile(r"(?<![eE])\+")
"""A plus sign that is not after an ``e``: .NET escapes it in strings, but not in a number's exponent (``1e+5``).

A plus sign after an ``e`` in a string is missed: the caller then keeps the text itself.
"""
_OUTSIDE: Final = re.compile(r"[\w{}\[\]:,.\-\s]", re.ASCII)
"""Characters that occur outside of strings, so that no style may escape them everywhere."""
_SHORT: Final = {0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
"""Short escapes by code point."""


class Style(Struct, frozen=True, kw_only=True):
    r"""One way to spell JSON.

    - `comma`, `colon`: the texts between items and after keys.
    - `indent`: the step of an indented style ("" for none); `newline`: its line end.
    - `ascii`: non-ASCII characters are escaped; `upper`: the hex digits of escapes are capitals.
    - `swaps`: texts (a character or a short escape) with the escapes that replace them, such as ``/``.
    """

    comma: str = ","
    colon: str = ":"
    indent: str = ""
    newline: str = "\n"
    ascii: bool = False
    upper: bool = False
    swaps: tuple[tuple[str, str], ...] = ()

    def write(self, value: Json, depth: int = 0) -> str:
        """Write `value` for a line indented `depth` steps; the first line is not indented."""
        text = None if self.indent else _write_with_encoder(value, self.ascii, self.comma, self.colon)
        if text is None:
            text = "".join(_write_piecewise(value, self, depth))
        return self._apply_escapes(text)

    def gap(self, depth: int) -> str:
        """The line break and indent before an item, `depth` steps in; "" without indent."""
        return self.newline + self.indent * depth if self.indent else ""

    def _apply_escapes(self, text: str) -> str:
        if not text.isascii():
            text = _SURROGATE.sub(lambda m: f"\\u{ord(m.group()):04x}", text)
        pairs = {}
        for plain, escape in self.swaps:
            if plain == "+":
                text = _PLUS.sub(lambda _, e=escape: e, text)  # type: ignore[misc]
            elif len(plain) == 1:
                text = text.replace(plain, escape)
            else:
                pairs[plain] = escape
        if pairs and "\\" in text:
            text = _ESCAPE.sub(lambda m: pairs.get(m.group(), m.group()), text)
        if self.upper and "\\u" in text:
            text = _ESCAPE.sub(lambda m: "\\u" + m.group(1)[1:].upper() if len(m.group(1)) == 5 else m.group(), text)
        return text


COMPACT: Final = Style()
"""Minified with minimal escapes: the canonical form, and what most clients send."""


class _NeedsPiecewise(Exception):
    """Raised inside the C encoder when it meets a `Number`."""


def _reject_numbers(value: object) -> NoReturn:
    if isinstance(value, Number):
        raise _NeedsPiecewise
    raise TypeError(f"{type(value).__name__} is not a JSON value")


@lru_cache(maxsize=64)
def _encoder(ascii_: bool, comma: str, colon: str) -> json.JSONEncoder:
    return json.JSONEncoder(
        ensure_ascii=ascii_, separators=(comma, colon), check_circular=False, default=_reject_numbers
    )


def _write_with_encoder(value: Json, ascii_: bool, comma: str, colon: str) -> str | None:
    try:
        return _encoder(ascii_, comma, colon).encode(value)
    except _NeedsPiecewise:
        return None


def _write_piecewise(value: Json, style: Style, depth: int) -> Iterator[str]:
    if isinstance(value, Number):
        yield value.text
    elif isinstance(value, dict | list) and value:
        opened, closed = "{}" if isinstance(value, dict) else "[]"
        yield opened
        between = style.gap(depth + 1)
        for n, item in enumerate(value):
            yield f"{style.comma if n else ''}{between}"
            if isinstance(value, dict):
                yield f"{_write_leaf(item, style.ascii)}{style.colon}"
                item = value[item]
            yield from _write_piecewise(item, style, depth + 1)
        yield style.gap(depth) + closed
    else:
        yield _write_leaf(value, style.ascii)


def _write_leaf(value: Json, ascii_: bool) -> str:
    return _encoder(ascii_, ",", ":").encode(value)


def detect(text: str, at: int, depth: int = 0) -> Style:
    """Guess the style of the container at character `at` of `text`, `depth` steps in.

    It is guessed from the white space around the first item and from all escapes of `text`. The caller checks that the
    style reproduces the text.
    """
    comma, colon, newline, indent = _detect_layout(text, at, depth)
    if "\\u" not in text and "\\/" not in text:
        return Style(comma=comma, colon=colon, indent=indent, newline=newline)
    escapes = set(_ESCAPE.findall(text))
    codes = {int(e[1:], 16): e[1:] for e in escapes if len(e) == 5}
    ascii_ = text.isascii() and any(code >= 0x80 for code in codes)
    upper = any(escape != escape.lower() for escape in escapes if len(escape) == 5)
    swaps = [("/", "\\/")] if "/" in escapes else []
    for code, digits in sorted(codes.items()):
        if not (0xD800 <= code < 0xE000 or (ascii_ and code > 0x7E)):
            plain = _SHORT.get(code) or (chr(code) if code >= 0x20 else "")
            if plain and not _OUTSIDE.fullmatch(plain):
                swaps.append((plain, f"\\u{digits.lower()}"))
    return Style(
        comma=comma, colon=colon, indent=indent, newline=newline, ascii=ascii_, upper=upper, swaps=tuple(swaps)
    )


def _detect_layout(text: str, at: int, depth: int) -> tuple[str, str, str, str]:
    first = skip(text, at + 1)
    blank = text[at + 1 : first]
    newline = "\r\n" if "\r\n" in blank else "\n"
    line = blank.rpartition("\n")[2]
    indent = line[: len(line) // (depth + 1)] if "\n" in blank else ""
    comma = colon = ""
    end = _end_of_leaf(text, first)
    if text[at : at + 1] == "{" and end:
        start = skip(text, skip(text, end) + 1)
        colon = text[end:start]
        end = _end_of_leaf(text, start)
    if end and text[skip(text, end) : skip(text, end) + 1] == ",":
        comma = text[end : skip(text, skip(text, end) + 1)]
    colon = colon or (": " if indent or len(comma) > 1 else ":")
    if indent:
        comma = ","
    return comma or ("," if len(colon) == 1 else ", "), colon, newline, indent


_LEAF: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', re.DOTALL)


def _end_of_leaf(text: str, at: int) -> int:
    match = _LEAF.match(text, at)
    return match.end() if match else 0
