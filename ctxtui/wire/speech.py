"""Builds the user messages and tool results that a host sends (facts §1, §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ctxtui.core import block
from ctxtui.core.block import HEADER, TOOL, Block, Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json, dumps
from ctxtui.wire.google_parts import join_tool
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.translate import encode


class ResultImage(NamedTuple):
    """An image of a tool result; `data`: its bytes in base64."""

    media_type: str
    data: str


class Result(NamedTuple):
    """A tool result: `id` names the call, `name` the tool.

    The text says where each of the `images` belongs.
    """

    id: str
    name: str
    text: str
    is_error: bool = False
    images: tuple[ResultImage, ...] = ()


IMAGES_HEADING: Final = "The images of these results, in their order."
"""Text before images in a dialect whose results hold text alone."""


def _image_block(image: ResultImage) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _anthropic_results(results: Sequence[Result]) -> list[Json]:
    blocks: list[Json] = []
    for result in results:
        failed = {"is_error": True} if result.is_error else {}
        content: Json = (
            [{"type": "text", "text": result.text}, *map(_image_block, result.images)] if result.images else result.text
        )
        blocks.append({"type": "tool_result", "tool_use_id": result.id, "content": content, **failed})
    return [{"role": "user", "content": blocks}]


def _chat_results(results: Sequence[Result]) -> list[Json]:
    return [{"role": "tool", "tool_call_id": result.id, "content": result.text} for result in results]


def _responses_results(results: Sequence[Result]) -> list[Json]:
    return [
        {"type": "function_call_output", "call_id": result.id, "output": _result_output(result)} for result in results
    ]


def _result_output(result: Result) -> Json:
    if not result.images:
        return result.text
    images = [{"type": "input_image", "image_url": f"data:{i.media_type};base64,{i.data}"} for i in result.images]
    return [{"type": "input_text", "text": result.text}, *images]


def _ollama_results(results: Sequence[Result]) -> list[Json]:
    return [{"role": "tool", "tool_name": result.name, "content": result.text} for result in results]


def _google_results(results: Sequence[Result]) -> list[Json]:
    parts: list[Json] = []
    for result in results:
        response = {"error" if result.is_error else "output": result.text}
        parts.append({"functionResponse": {"id": result.id, "name": result.name, "response": response}})
    images = [image for result in results for image in result.images]
    parts += [{"inlineData": {"mimeType": image.media_type, "data": image.data}} for image in images]
    return [{"role": "user", "parts": parts}]


def _message_with_part(kind: str) -> Callable[[str], Json]:
    return lambda text: {"role": "user", "content": [{"type": kind, "text": text}]}


class _MessageForm(NamedTuple):
    """A dialect's key of messages, and makers of a user's message and of tool results."""

    key: str
    user: Callable[[str], Json]
    results: Callable[[Sequence[Result]], list[Json]]


_MESSAGE_FORMS: Final[dict[str, _MessageForm]] = {
    ANTHROPIC: _MessageForm("messages", _message_with_part("text"), _anthropic_results),
    CHAT: _MessageForm("messages", lambda text: {"role": "user", "content": text}, _chat_results),
    RESPONSES: _MessageForm("input", _message_with_part("input_text"), _responses_results),
    OLLAMA: _MessageForm("messages", lambda text: {"role": "user", "content": text}, _ollama_results),
    GOOGLE: _MessageForm("contents", lambda text: {"role": "user", "parts": [{"text": text}]}, _google_results),
}


class Attachment(NamedTuple):
    """A block before a user's text, in Anthropic's form, and the mark of its `Place`."""

    block: Block
    mark: str = ""


def user_message(dialect: str, text: str, attached: Sequence[Attachment] = ()) -> tuple[Item, ...]:
    """A user message: the `attached` blocks that the dialect can hold, then the text.

    An empty text after blocks is left out. In Ollama's dialect, each attached text is a message of its own.
    """
    if not attached:
        return _decode_messages(dialect, [_MESSAGE_FORMS[dialect].user(text)])
    if dialect == OLLAMA and any(attachment.block.kind == "text" for attachment in attached):
        # An Ollama message holds one text, so each attached text gets its own message.
        single = [(attachment,) for attachment in attached if attachment.block.kind == "text"]
        media = [attachment for attachment in attached if attachment.block.kind != "text"]
        text_items = [item for attachment in single for item in _with_parts(dialect, "", attachment)]
        return (*text_items, *(_with_parts(dialect, text, media) if text or media else ()))
    return _with_parts(dialect, text, attached)


def _with_parts(dialect: str, text: str, attached: Sequence[Attachment]) -> tuple[Item, ...]:
    text_blocks: list[Json] = [{"type": "text", "text": text}] if text else []
    message = {"role": "user", "content": [*(attachment.block.value() for attachment in attached), *text_blocks]}
    items = _decode_messages(ANTHROPIC, [message])
    if dialect != ANTHROPIC:
        body, _ = encode.build_body(dialect, items, model="")
        decoded = DIALECTS[dialect].decode_request(body, None).items
        items = tuple(item for item in decoded if item.place.section == "messages")
    return marked_items(
        items,
        {read(attachment.block).text: attachment.mark for attachment in attached if attachment.mark},
        only=not text,
    )


def marked_items(items: Sequence[Item], marks: Mapping[str, str], *, only: bool = False) -> tuple[Item, ...]:
    """Set the mark of each item whose text is a key of `marks`.

    `only`: the message has no other text, so its header gets the mark of the item after it.
    """
    marked: list[Item] = []
    for item in reversed(items):
        mark = marks.get(read(item.block).text, "") if item.block.kind != HEADER else ""
        if only and item.block.kind == HEADER and marked:
            mark = marked[-1].place.mark
        marked.append(item._replace(place=item.place._replace(mark=mark)) if mark else item)
    return tuple(reversed(marked))


def tool_results(dialect: str, results: Sequence[Result]) -> tuple[Item, ...]:
    """The items that answer an assistant's calls, in order.

    If the dialect's results hold text alone, images follow in a message of their own, which does not start a turn.
    """
    if not results:
        return ()
    items = _decode_messages(dialect, _MESSAGE_FORMS[dialect].results(results))
    images = [Attachment(block.from_part(_image_block(image))) for result in results for image in result.images]
    if not images or dialect not in (CHAT, OLLAMA):
        return items
    image_items = user_message(dialect, IMAGES_HEADING, images)
    return (*items, *(item._replace(place=item.place._replace(mark="meta")) for item in image_items))


def _decode_messages(dialect: str, messages: list[Json]) -> tuple[Item, ...]:
    body = dumps({"model": "", _MESSAGE_FORMS[dialect].key: messages})
    items = DIALECTS[dialect].decode_request(body, None).items
    return tuple(item for item in items if item.place.section == "messages")


def build_template(dialect: str, params: dict[str, Json], tools: Sequence[Json], system: str) -> Skeleton:
    """The skeleton of a minified body, with top-level `params`, for any list of messages.

    It has a place for messages and, if given, for tools and a system text (a message in Chat and Ollama's dialect).
    """
    form = _MESSAGE_FORMS[dialect]
    body: dict[str, Json] = {**params}
    if tools:
        body["tools"] = [join_tool([(TOOL, tool) for tool in tools])] if dialect == GOOGLE else list(tools)
    if system and dialect == GOOGLE:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    elif system and dialect == ANTHROPIC:
        body["system"] = [{"type": "text", "text": system}]
    elif system and dialect == RESPONSES:
        body["instructions"] = system
    # Two messages, so that a Responses input is a list.
    body[form.key] = [form.user("a"), form.user("b")]
    return DIALECTS[dialect].decode_request(dumps(body), None).skeleton
