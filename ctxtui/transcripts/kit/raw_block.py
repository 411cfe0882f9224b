"""Build blocks from a file's JSON; canonical bytes are not decoded and encoded again."""

from __future__ import annotations

from sys import intern
from typing import Final

from ctxtui.core import block, canonical
from ctxtui.core.block import MARKER_KEYS, Block
from ctxtui.core.canonical import Json
from ctxtui.wire.parts import kind_of

_MARKERS: Final = tuple(f'"{key}"'.encode() for key in MARKER_KEYS)
_OURS: Final = frozenset({block.HEADER, block.NOT_RECORDED, block.TOOL, block.UNREADABLE})
"""Kinds that ctxtui gives to blocks; a part with such a type is decoded, and gets another kind."""


def from_part(raw: bytes, kind: str, clean: bool, *, unmarked: bool = False) -> Block:
    """Build the block of a content part `raw`, whose ``type`` is `kind` ("": it has none).

    - `clean`: `raw` is canonical (see `records.minify`).
    - `unmarked`: it is known to have no cache breakpoints.
    """
    is_unmarked = unmarked or (raw.find(_MARKERS[0]) < 0 and raw.find(_MARKERS[1]) < 0)
    if clean and is_unmarked and kind and kind not in _OURS:
        # A session has a dozen kinds and thousands of blocks: interning keeps one string per kind.
        return Block(canonical.digest(raw), intern(kind), raw)
    return from_value(canonical.loads(raw))


def from_text(raw: bytes, clean: bool) -> Block:
    """Build a text block from `raw`, a JSON string with its quotes; `clean` as in `from_part`."""
    if not clean:
        return block.text(canonical.loads(raw))
    body = b'{"type":"text","text":' + raw + b"}"
    return Block(canonical.digest(body), "text", body)


def from_value(value: Json) -> Block:
    """Build the block of a decoded content part, without cache breakpoints."""
    if isinstance(value, str):
        return block.text(value)
    if isinstance(value, dict):
        return block.make(kind_of(value, "text"), block.without_markers(value))
    return block.make("unknown", value)
