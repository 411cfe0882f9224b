"""Anthropic: each content block by itself (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.field_errors import dotted, typed_refusals
from ctxtui.offline.anthropic.shapes import BETA_BLOCKS, BLOCKS, INSIDE_RESULT
from ctxtui.offline.anthropic.validate_media import source_refusals
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, members, rows


def block_refusals(block: Json, path: Path, beta: bool, strict_text: bool) -> Iterator[Refusal]:
    """What is wrong with one block of a message at `path`. `strict_text`: an empty text is refused."""
    known: Mapping[str, Fields] = BLOCKS | BETA_BLOCKS if beta else BLOCKS
    yield from typed_refusals(block, path, known)
    value = members(block)
    kind = value.get("type")
    if kind == "text":
        yield from text_refusals(value, path, strict_text)
    elif kind == "tool_result":
        yield from _inside(value.get("content"), (*path, "tool_result", "content"))
        yield from _error_only_text(value, path)
    elif kind in ("image", "document"):
        yield from source_refusals(value, (*path, kind))
    elif kind == "search_result":
        for n, part in enumerate(rows(value.get("content"))):
            yield from typed_refusals(part, (*path, kind, "content", n), {"text": BLOCKS["text"]})
    elif kind == "compaction" and value.get("content") == "":
        yield Refusal(f"{dotted(path)}.compaction.content: content must be non-empty", rule="empty text")


def text_refusals(value: Mapping[str, Json], path: Path, strict: bool) -> Iterator[Refusal]:
    """An empty text, or one of white space only, and a marker on it."""
    text = value.get("text")
    if not isinstance(text, str) or text.strip():
        return
    if value.get("cache_control") is not None:
        yield Refusal(f"{dotted(path)}: cache_control cannot be set for empty text blocks", rule="cache on empty")
    if strict:
        what = "must contain non-whitespace text" if text else "must be non-empty"
        yield Refusal(f"{path[0]}: text content blocks {what}", rule="empty text")


def _inside(content: Json, path: Path) -> Iterator[Refusal]:
    for n, part in enumerate(rows(content)):
        yield from typed_refusals(part, (*path, n), INSIDE_RESULT)
        value = members(part)
        if value.get("type") == "text":
            yield from text_refusals(value, (*path, n), True)
        elif value.get("type") in ("image", "document"):
            yield from source_refusals(value, (*path, n, str(value["type"])))


def _error_only_text(value: Mapping[str, Json], path: Path) -> Iterator[Refusal]:
    kinds = {str(members(part).get("type")) for part in rows(value.get("content"))}
    if value.get("is_error") is True and kinds - {"text"}:
        message = f"{dotted(path)}.tool_result: all content must be type `text` if `is_error` is true"
        yield Refusal(message, rule="error result not text")
