"""JSON with long strings in it, written piece by piece: Python's encoder takes 20 to 60 ms for ten megabytes in one
call, in which no other thread runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

PIECE: Final = 1 << 17
"""Characters that are written in one call."""
_DEPTH: Final = 4
"""How deep in a value long strings are looked for: contents of blocks stand no deeper."""

Encode = Callable[[Any], str]


def written(value: Any, encode: Encode, comma: str = ",", colon: str = ":") -> str:
    """What `encode` makes of the JSON `value`, whose separators are `comma` and `colon`."""
    return "".join(_written(value, encode, comma, colon, _DEPTH)) if has_long(value) else encode(value)


def has_long(value: Any, depth: int = _DEPTH) -> bool:
    """Whether there is a long string in a value, not too deep."""
    kind = type(value)
    if kind is str:
        return len(value) > PIECE
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return False
    for item in value:
        of = type(item)
        if of is str:
            if len(item) > PIECE:
                return True
        elif (of is dict or of is list) and depth and has_long(item, depth - 1):
            return True
    return False


def _written(value: Any, encode: Encode, comma: str, colon: str, depth: int) -> Iterator[str]:
    if not has_long(value, depth):
        yield encode(value)
    elif isinstance(value, str):
        yield '"'
        for at in range(0, len(value), PIECE):
            # Each character is written by itself, whatever stands beside it.
            yield encode(value[at : at + PIECE])[1:-1]
        yield '"'
    elif isinstance(value, dict):
        for number, (key, item) in enumerate(value.items()):
            yield f"{comma if number else '{'}{encode(key)}{colon}"
            yield from _written(item, encode, comma, colon, depth - 1)
        yield "}"
    else:
        for number, item in enumerate(value):
            yield comma if number else "["
            yield from _written(item, encode, comma, colon, depth - 1)
        yield "]"
