"""Reads and replaces the text of a block in any dialect.

Edits that change text (cut, replace, compact) use it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core.block import ASSISTANT, HEADER, TOOL, Block, Item, Place
from ctxtui.core.block_content import FUNCTION_RESPONSE, RESPONSE_TEXTS, read, response_text_key
from ctxtui.core.canonical import Json
from ctxtui.curation.context import OPAQUE, is_call, is_result
from ctxtui.wire.grammar import GOOGLE, RESPONSES

_REFUSED: Final = re.compile("[\x00\ud800-\udfff]")
"""Characters that every provider refuses in a JSON string (facts §1)."""


def clean(text: str) -> str:
    """Replace the characters that providers refuse in JSON strings: NUL and lone surrogates."""
    if text.isascii():
        # Only NUL can be refused then. On ten megabytes the regular expression takes 30 ms and blocks all other
        # threads.
        return text.replace("\0", "\ufffd")
    return _REFUSED.sub("\ufffd", text)


def is_changeable(block: Block) -> bool:
    """Whether an edit may change the text of `block`.

    One signed by its provider may only be left out.
    """
    return block.kind not in OPAQUE and block.kind not in (HEADER, "not_recorded", "unreadable")


def block_text(block: Block) -> str:
    """The text of `block`, in which the positions of an edit count."""
    return read(block).text


def has_editable_text(block: Block) -> bool:
    """Whether `with_text` can replace the text of `block`."""
    return block.kind != TOOL and not is_call(block.kind) and with_text(block, "\x01") != block


def with_text(block: Block, text: str) -> Block:
    """A copy of `block` with `text`; its images stay.

    Unchanged if it has no text of its own (calls, tools).
    """
    value = block.value()
    text = clean(text)
    if isinstance(value, str) or block.kind == TOOL or not isinstance(value, dict) or is_call(block.kind):
        return block
    if block.kind == "function_response":
        return blocks.make(block.kind, _with_response(value, text))
    if is_result(block.kind):
        key = "output" if "output" in value else "content"
        return blocks.make(block.kind, {**value, key: _replace_texts(value.get(key), text)})
    for key in ("text", "refusal", "content"):
        if isinstance(value.get(key), str):
            return blocks.make(block.kind, {**value, key: text})
    return block


def _with_response(value: dict[str, Json], text: str) -> Json:
    """Google's answer to a call with `text` in the member that had the text, or in ``output``."""
    key = next(key for key in FUNCTION_RESPONSE if key in value)
    inner = value[key] if isinstance(value[key], dict) else {}
    response: Json = inner.get("response")
    member = response_text_key(response)
    return {
        **value,
        key: {**inner, "response": {**(response or {}), member: text} if member else {RESPONSE_TEXTS[0]: text}},
    }


def _replace_texts(content: Json, text: str) -> Json:
    """A result's content with its texts replaced by one; parts without text stay."""
    if not isinstance(content, list):
        return text
    first = next((part for part in content if _is_text(part)), None)
    other_parts = [part for part in content if not _is_text(part)]
    text_part = {**first, "text": text} if isinstance(first, dict) else {"type": "text", "text": text}
    return [text_part, *other_parts] if text.strip() else other_parts or ""


def _is_text(part: Json) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def text_block(text: str, role: str, dialect: str) -> Block:
    """Make a text block for a message of `role`."""
    if dialect == RESPONSES:
        kind = "output_text" if role in ASSISTANT else "input_text"
        return blocks.make(kind, {"type": kind, "text": clean(text)})
    return blocks.text(clean(text))


@lru_cache(maxsize=8192)
def make_message(text: str, role: str, dialect: str, mark: str = "") -> tuple[Item, ...]:
    """Make a message of one text: its header, and the text block. `mark` is as in `Place`."""
    place = Place("messages", role, mark)
    if dialect == GOOGLE:
        google_head = {"role": "model" if role in ASSISTANT else "user", "parts": "list"}
        return Item(blocks.make(HEADER, google_head), place), Item(text_block(text, role, dialect), place)
    head: dict[str, Json] = {"type": "message"} if dialect == RESPONSES else {}
    head |= {"role": role, "content": "list" if dialect == RESPONSES else "string"}
    return Item(blocks.make(HEADER, head), place), Item(text_block(text, role, dialect), place)
