"""Long JSON read in short steps: the same value as `canonical.loads`, but no step holds up other threads for long.

Python's decoder reads a string of ten megabytes in one call of 30 to 80 ms, in which no other thread runs. Here long
strings are taken out and unescaped piece by piece; what is left is short, unless the value has very many parts.
"""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

LONG: Final = 1 << 16
"""Bytes up to which a body is read in one step."""

# At most 2048 runs of plain bytes or escapes: a step of some kilobytes up to half a megabyte.
_RUNS: Final = rb'(?:[^"\\]{1,256}|\\u[0-9a-fA-F]{4}|\\.){0,2048}+'
_LITERAL: Final = re.compile(rb'"' + _RUNS + rb'("?)', re.DOTALL)
_PIECE: Final = re.compile(_RUNS, re.DOTALL)
_SURROGATE: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_HOLDER: Final = "\ue000long string {}\ue001"


def loads(body: bytes) -> Json:
    """The value of the canonical JSON `body`. Raises `ValueError` as `canonical.loads` does."""
    if len(body) <= LONG:
        return canonical.loads(body)
    short, strings = _without_long_strings(body)
    value = canonical.loads(short)
    return _filled(value, {_HOLDER.format(number): text for number, text in enumerate(strings)}) if strings else value


def _without_long_strings(body: bytes) -> tuple[bytes, list[str]]:
    """`body` with a placeholder for every long string, and those strings."""
    out: list[bytes] = []
    strings: list[str] = []
    at = kept = 0
    while (start := body.find(b'"', at)) >= 0:
        found = _LITERAL.match(body, start)
        assert found is not None
        at = found.end()
        if found[1]:
            continue
        text, at = _unescaped(body, start + 1)
        out += [body[kept:start], b'"', _HOLDER.format(len(strings)).encode(), b'"']
        strings.append(text)
        kept = at
    return b"".join([*out, body[kept:]]), strings


def _unescaped(body: bytes, at: int) -> tuple[str, int]:
    """The string whose content begins at `at`, and the index behind its closing quote."""
    pieces: list[str] = []
    while body[at : at + 1] != b'"':
        found = _PIECE.match(body, at)
        assert found is not None
        end = found.end()
        if end == at:
            raise ValueError(f"string without end at byte {at}")
        if body[end : end + 1] != b'"':
            # Neither a character nor a pair of surrogates may be cut in two.
            while end < len(body) and body[end] & 0xC0 == 0x80:
                end -= 1
            if _SURROGATE.search(body, end - 6, end):
                end -= 6
        pieces.append(canonical.loads(b'"' + body[at:end] + b'"'))
        at = end
    return "".join(pieces), at + 1


def _filled(value: Json, strings: dict[str, str]) -> Json:
    if isinstance(value, str):
        return strings.get(value, value)
    if isinstance(value, list):
        return [_filled(item, strings) for item in value]
    if isinstance(value, dict):
        return {strings.get(key, key): _filled(item, strings) for key, item in value.items()}
    return value
