"""Truncation: head and tail kept, the cut named."""

from __future__ import annotations

from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.canonical import Json

NEAR: Final = 80
"""How far a cut moves to the end of a line, in characters."""


def cut(text: str, head: int, tail: int) -> str:
    """`text` with its first `head` and last `tail` characters kept, and a line between them that says what went.

    The text itself where that would not be shorter.
    """
    if len(text) <= head + tail:
        return text
    start, stop = _line_end(text, head), _line_start(text, len(text) - tail)
    gone = stop - start
    if gone <= 0:
        return text
    lines = text.count("\n", start, stop)
    more = f" ({lines:,} lines)" if lines > 1 else ""
    note = f"[… {gone:,} characters{more} cut …]"
    made = "\n".join(part for part in (text[:start].rstrip("\n"), note, text[stop:].lstrip("\n")) if part)
    return made if len(made) < len(text) else text


def _line_end(text: str, at: int) -> int:
    found = text.rfind("\n", max(0, at - NEAR), at)
    return found + 1 if found >= 0 else at


def _line_start(text: str, at: int) -> int:
    found = text.find("\n", at, min(len(text), at + NEAR))
    return found + 1 if found >= 0 else at


def cut_call(block: Block, head: int, tail: int) -> Block:
    """A tool call whose input's long strings are cut; its JSON stays JSON."""
    value = block.value()
    if not isinstance(value, dict):
        return block
    wrapped = value.get("function")
    inner = wrapped if isinstance(wrapped, dict) else value
    for key in ("input", "arguments"):
        given = inner.get(key)
        if isinstance(given, dict):
            return _put(block, value, inner, key, _cut_strings(given, head, tail))
        if isinstance(given, str):
            try:
                parsed = canonical.loads(given)
            except (ValueError, RecursionError):
                return block
            return _put(block, value, inner, key, canonical.text_of(_cut_strings(parsed, head, tail)))
    return block


def _put(block: Block, value: dict[str, Json], inner: dict[str, Json], key: str, made: Json) -> Block:
    if made == inner[key]:
        return block
    if inner is value:
        return blocks.make(block.kind, {**value, key: made})
    return blocks.make(block.kind, {**value, "function": {**inner, key: made}})


def _cut_strings(value: Json, head: int, tail: int) -> Json:
    if isinstance(value, str):
        return cut(value, head, tail)
    if isinstance(value, list):
        return [_cut_strings(item, head, tail) for item in value]
    if isinstance(value, dict):
        return {key: _cut_strings(item, head, tail) for key, item in value.items()}
    return value
