"""Build the items that a host adds to a context: user messages and tool results in each dialect (facts §1, §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ctxtui.core import block
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json, dumps
from ctxtui.wire.grammar import ANTHROPIC, CHAT, OLLAMA, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.translate import encode


class ResultImage(NamedTuple):
    """An image in a tool result: its `media_type` and its bytes in base64."""

    media_type: str
    data: str


class Result(NamedTuple):
    """A tool result: `id` names the call, `name` the tool. The text says where each of the `images` belongs."""

    id: str
    name: str
    text: str
    is_error: bool = False
    images: tuple[ResultImage, ...] = ()


IMAGES: Final = "The images of these results, in their order."
"""Text before images in a dialect whose results hold text alone."""


def _image(one: ResultImage) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": one.media_type, "data": one.data}}


def _anthropic(results: Sequence[Result]) -> list[Json]:
    blocks: list[Json] = []
    for one in results:
        failed = {"is_error": True} if one.is_error else {}
        said: Json = [{"type": "text", "text": one.text}, *map(_image, one.images)] if one.images else one.text
        blocks.append({"type": "tool_result", "tool_use_id": one.id, "content": said, **failed})
    return [{"role": "user", "content": blocks}]


def _chat(results: Sequence[Result]) -> list[Json]:
    return [{"role": "tool", "tool_call_id": one.id, "content": one.text} for one in results]


def _responses(results: Sequence[Result]) -> list[Json]:
    return [{"type": "function_call_output", "call_id": one.id, "output": _output(one)} for one in results]


def _output(one: Result) -> Json:
    if not one.images:
        return one.text
    shown = [{"type": "input_image", "image_url": f"data:{i.media_type};base64,{i.data}"} for i in one.images]
    return [{"type": "input_text", "text": one.text}, *shown]


def _ollama(results: Sequence[Result]) -> list[Json]:
    return [{"role": "tool", "tool_name": one.name, "content": one.text} for one in results]


def _said(kind: str) -> Callable[[str], Json]:
    return lambda text: {"role": "user", "content": [{"type": kind, "text": text}]}


class _Voice(NamedTuple):
    key: str
    user: Callable[[str], Json]
    results: Callable[[Sequence[Result]], list[Json]]


_VOICES: Final[dict[str, _Voice]] = {
    ANTHROPIC: _Voice("messages", _said("text"), _anthropic),
    CHAT: _Voice("messages", lambda text: {"role": "user", "content": text}, _chat),
    RESPONSES: _Voice("input", _said("input_text"), _responses),
    OLLAMA: _Voice("messages", lambda text: {"role": "user", "content": text}, _ollama),
}


class Attached(NamedTuple):
    """A block (in Anthropic's form: text, image, document) that precedes a user's text, and its mark (see `Place`)."""

    block: Block
    mark: str = ""


def user_message(dialect: str, text: str, attached: Sequence[Attached] = ()) -> tuple[Item, ...]:
    """Build the items of a user message: the `attached` blocks, then the text ("": none).

    Blocks that the dialect cannot hold are left out. Raises `KeyError` for an unknown dialect.
    """
    if not attached:
        return _items(dialect, [_VOICES[dialect].user(text)])
    if dialect == OLLAMA and any(one.block.kind == "text" for one in attached):
        # An Ollama message holds one text, so each attached text gets its own message.
        apart = [(one,) for one in attached if one.block.kind == "text"]
        rest = [one for one in attached if one.block.kind != "text"]
        said = [item for one in apart for item in _with_parts(dialect, "", one)]
        return (*said, *(_with_parts(dialect, text, rest) if text or rest else ()))
    return _with_parts(dialect, text, attached)


def _with_parts(dialect: str, text: str, attached: Sequence[Attached]) -> tuple[Item, ...]:
    words: list[Json] = [{"type": "text", "text": text}] if text else []
    message = {"role": "user", "content": [*(one.block.value() for one in attached), *words]}
    items = _items(ANTHROPIC, [message])
    if dialect != ANTHROPIC:
        body, _ = encode.build(dialect, items, model="")
        decoded = DIALECTS[dialect].decode_request(body, None).items
        items = tuple(item for item in decoded if item.place.section == "messages")
    return marked_items(items, {read(one.block).text: one.mark for one in attached if one.mark}, only=not text)


def marked_items(items: Sequence[Item], marks: Mapping[str, str], *, only: bool = False) -> tuple[Item, ...]:
    """Set the mark of each text item that `marks` names.

    With `only` (no other text in the message), a header gets the mark of the item after it.
    """
    found: list[Item] = []
    for item in reversed(items):
        mark = marks.get(read(item.block).text, "") if item.block.kind != HEADER else ""
        if only and item.block.kind == HEADER and found:
            mark = found[-1].place.mark
        found.append(item._replace(place=item.place._replace(mark=mark)) if mark else item)
    return tuple(reversed(found))


def tool_results(dialect: str, results: Sequence[Result]) -> tuple[Item, ...]:
    """Build the items that answer an assistant's calls, in order; empty for no results.

    If the dialect's results hold text alone, images follow in a message of their own, which does not start a turn.
    """
    if not results:
        return ()
    items = _items(dialect, _VOICES[dialect].results(results))
    images = [Attached(block.of(_image(image))) for one in results for image in one.images]
    if not images or dialect not in (CHAT, OLLAMA):
        return items
    shown = user_message(dialect, IMAGES, images)
    return (*items, *(item._replace(place=item.place._replace(mark="meta")) for item in shown))


def _items(dialect: str, messages: list[Json]) -> tuple[Item, ...]:
    body = dumps({"model": "", _VOICES[dialect].key: messages})
    found = DIALECTS[dialect].decode_request(body, None).items
    return tuple(item for item in found if item.place.section == "messages")


def template(dialect: str, params: dict[str, Json], tools: Sequence[Json], system: str) -> Skeleton:
    """Build the skeleton of a minified body with top-level `params`, which can encode any list of such items.

    It has slots for messages and, if given, for tools and for a system text.
    """
    voice = _VOICES[dialect]
    body: dict[str, Json] = {**params}
    if tools:
        body["tools"] = list(tools)
    if system and dialect == ANTHROPIC:
        body["system"] = [{"type": "text", "text": system}]
    elif system and dialect == RESPONSES:
        body["instructions"] = system
    # Two messages, so that a Responses input is a list.
    body[voice.key] = [voice.user("a"), voice.user("b")]
    return DIALECTS[dialect].decode_request(dumps(body), None).skeleton
