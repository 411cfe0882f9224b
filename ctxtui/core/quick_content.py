"""The content of the blocks that a session is full of, read without making values of all their JSON.

Only what is written as nearly every block of its kind is: anything else is read the long way (`core.block_content`),
and both ways give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

T = TypeVar("T")
_Other = Raw | UnsetType
"""A member with which a block is read the long way."""


class QuickContent(Struct, frozen=True, gc=False):
    """What a block says, as `block_content.BlockContent` has it."""

    text: str = ""
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    is_error: bool = False


class _Text(Struct, gc=False):
    text: str


class _Thinking(Struct, gc=False):
    thinking: str
    encrypted_content: _Other = UNSET
    data: _Other = UNSET


class _Call(Struct, gc=False):
    id: str
    name: str
    input: Raw
    call_id: _Other = UNSET
    function: _Other = UNSET
    custom: _Other = UNSET


class _Part(Struct, gc=False):
    type: str
    text: str


class _Result(Struct, gc=False):
    content: str | list[_Part]
    tool_use_id: str
    is_error: bool | None = None
    name: _Other = UNSET


def _reader(kind: type[T], content: Callable[[T], QuickContent | None]) -> Callable[[bytes], QuickContent | None]:
    decode = msgspec.json.Decoder(kind).decode

    def read(body: bytes) -> QuickContent | None:
        try:
            return content(decode(body))
        except (ValueError, msgspec.MsgspecError, RecursionError):
            return None

    return read


def _of_text(found: _Text) -> QuickContent:
    return QuickContent(text=found.text)


def _of_thinking(found: _Thinking) -> QuickContent | None:
    if not found.thinking or found.encrypted_content is not UNSET or found.data is not UNSET:
        return None
    return QuickContent(text=found.thinking)


def _of_call(found: _Call) -> QuickContent | None:
    if not (found.id and found.name) or not found.call_id is found.function is found.custom is UNSET:
        return None
    given = bytes(found.input)
    # Text is a custom tool's; a lone surrogate is an escape in the body alone.
    if given[:1] == b'"' or b"\\ud" in given:
        return None
    return QuickContent(name=found.name, call_id=found.id, arguments=given.decode())


def _of_result(found: _Result) -> QuickContent | None:
    if not found.tool_use_id or found.name is not UNSET:
        return None
    parts = found.content
    if isinstance(parts, str):
        text = parts
    elif all(part.type == "text" for part in parts):
        text = "\n".join([part.text for part in parts if part.text])
    else:
        return None
    return QuickContent(text=text, call_id=found.tool_use_id, is_error=found.is_error is True)


QUICK: Final[dict[str, Callable[[bytes], QuickContent | None]]] = {
    "text": _reader(_Text, _of_text),
    "thinking": _reader(_Thinking, _of_thinking),
    "tool_use": _reader(_Call, _of_call),
    "tool_result": _reader(_Result, _of_result),
}
"""What reads a block's body, by its kind; None from one that is written otherwise."""
