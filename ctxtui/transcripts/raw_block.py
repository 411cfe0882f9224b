"""Blocks straight from a file's bytes: where they are canonical already, nothing is decoded and encoded again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core import block, canonical
from ctxtui.core.block import MARKER_KEYS, Block
from ctxtui.core.canonical import Json

_MARKERS: Final = tuple(f'"{key}"'.encode() for key in MARKER_KEYS)


def of_part(raw: bytes, kind: str, clean: bool) -> Block:
    """The block of a content part's JSON text `raw`, whose type is `kind`; `clean` as `pieces.is_clean` says.

    Equal to ``block.of(canonical.loads(raw), kind)``.
    """
    if clean and not any(marker in raw for marker in _MARKERS):
        return Block(canonical.digest(raw), kind, raw)
    return block.of(canonical.loads(raw), kind)


def of_text(raw: bytes, clean: bool) -> Block:
    """The text block of a JSON string's text `raw`, with its quotes. Equal to ``block.text(canonical.loads(raw))``."""
    if not clean:
        return block.text(canonical.loads(raw))
    body = b'{"type":"text","text":' + raw + b"}"
    return Block(canonical.digest(body), "text", body)


def of_value(value: Json) -> Block:
    """The block of a content part that is already decoded; a bare string is text, anything else keeps its JSON."""
    if isinstance(value, str):
        return block.text(value)
    if isinstance(value, Mapping):
        return block.of(value)
    return block.make("unknown", value)
