"""The content of the blocks that a session is full of, read without making values of all their JSON.

Only what is written as nearly every block of its kind is: anything else is read the long way (`core.block_content`),
and both ways give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ctxtui.dataclasses import dataclass

T = TypeVar("T")
_Other = Raw | UnsetType
"""A member with which a block is read the long way."""


@dataclass(frozen=True, slots=True)
class Media:
    """An image or file inside a block: its media type, and its bytes in base64, a URL or a provider's file id."""

    media_type: str
    data: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockContent:
    """What a block says.

    `text` is what the model reads as words, `arguments` the JSON text of a call's input (as the provider spelled it),
    `name` the tool's name, `call_id` what pairs a call with its result. `hidden` counts characters that stand for
    text the recording withholds (a thinking signature, encrypted reasoning). `media` are images and files inside.
    """

    text: str = ""
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    hidden: int = 0
    media: tuple[Media, ...] = ()
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


def _reader(kind: type[T], content: Callable[[T], BlockContent | None]) -> Callable[[bytes], BlockContent | None]:
    decode = msgspec.json.Decoder(kind).decode

    def read(body: bytes) -> BlockContent | None:
        try:
            return content(decode(body))
        except (ValueError, msgspec.MsgspecError, RecursionError):
            return None

    return read


def _of_text(found: _Text) -> BlockContent:
    return BlockContent(text=found.text)


def _of_thinking(found: _Thinking) -> BlockContent | None:
    if not found.thinking or found.encrypted_content is not UNSET or found.data is not UNSET:
        return None
    return BlockContent(text=found.thinking)


def _of_call(found: _Call) -> BlockContent | None:
    if not (found.id and found.name) or not found.call_id is found.function is found.custom is UNSET:
        return None
    given = bytes(found.input)
    # Text is a custom tool's; a lone surrogate is an escape in the body alone.
    if given[:1] == b'"' or b"\\ud" in given:
        return None
    return BlockContent(name=found.name, call_id=found.id, arguments=given.decode())


def _of_result(found: _Result) -> BlockContent | None:
    if not found.tool_use_id or found.name is not UNSET:
        return None
    parts = found.content
    if isinstance(parts, str):
        text = parts
    elif all(part.type == "text" for part in parts):
        text = "\n".join([part.text for part in parts if part.text])
    else:
        return None
    return BlockContent(text=text, call_id=found.tool_use_id, is_error=found.is_error is True)


_words: Final = msgspec.json.Decoder(dict[str, str]).decode


def words_given(arguments: str) -> dict[str, str] | None:
    """The members of a call's input in which all are words, as most are; None of any other."""
    try:
        return _words(arguments)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


QUICK: Final[dict[str, Callable[[bytes], BlockContent | None]]] = {
    "text": _reader(_Text, _of_text),
    "thinking": _reader(_Thinking, _of_thinking),
    "tool_use": _reader(_Call, _of_call),
    "tool_result": _reader(_Result, _of_result),
}
"""What reads a block's body, by its kind; None from one that is written otherwise."""
