"""Build blocks from a file's bytes; canonical bytes are not decoded and encoded again."""

from __future__ import annotations

from sys import intern
from typing import Final

from ctxtui.core import block, canonical
from ctxtui.core.block import MARKER_KEYS, Block
from ctxtui.core.canonical import Json
from ctxtui.wire.parts import kind_of

_MARKERS: Final = tuple(f'"{key}"'.encode() for key in MARKER_KEYS)
_OURS: Final = frozenset({block.HEADER, block.NOT_RECORDED, block.TOOL, block.UNREADABLE})


def from_part(raw: bytes, kind: str, clean: bool, *, unmarked: bool = False) -> Block:
    """Build the block of a content part's JSON text `raw`, whose type is `kind`.

    `clean` as returned by `records.minify`, `unmarked` if it is known to have no cache breakpoints. Equal to
    ``block.from_part(canonical.loads(raw), kind)``, except that a kind with one of ctxtui's own names gets a suffix.
    """
    # A session has a dozen kinds and thousands of blocks: interning keeps one string per kind.
    kind = intern(kind_of({"type": kind}, "text") if kind in _OURS else kind)
    if clean and (unmarked or (raw.find(_MARKERS[0]) < 0 and raw.find(_MARKERS[1]) < 0)):
        return Block(canonical.digest(raw), kind, raw)
    return block.make(kind, block.without_markers(canonical.loads(raw)))


def from_text(raw: bytes, clean: bool) -> Block:
    """Build the text block of a JSON string's text `raw`, with its quotes.

    Equal to ``block.text(canonical.loads(raw))``.
    """
    if not clean:
        return block.text(canonical.loads(raw))
    body = b'{"type":"text","text":' + raw + b"}"
    return Block(canonical.digest(body), "text", body)


def from_value(value: Json) -> Block:
    """Build the block of a decoded content part.

    A bare string is text, anything else keeps its JSON without cache breakpoints.
    """
    if isinstance(value, str):
        return block.text(value)
    if isinstance(value, dict):
        return block.make(kind_of(value, "text"), block.without_markers(value))
    return block.make("unknown", value)
