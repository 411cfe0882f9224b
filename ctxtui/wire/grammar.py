"""Grammar of each dialect: the sections of a body, and how to split and join them.

A *section* is a member that holds context (tools, system prompt, messages).
An *element* is one entry of a section: a message, a tool, a text of the system prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core.block import HEADER, Place
from ctxtui.core.canonical import Json
from ctxtui.wire import google_parts
from ctxtui.wire.input_items import AGENT_ITEM, TOOLS_ITEM, join_tools, split_agent_message, split_tools
from ctxtui.wire.message import LIST, OBJECT, STRING, BlockField, Shape, is_plain, join_message, split_message
from ctxtui.wire.parts import (
    Piece,
    WirePart,
    content_part,
    json_type_name,
    kind_of,
    make_part,
    text_part,
    unreadable_part,
)

TOOLS = Place("tools")
SYSTEM = Place("system")


class Section(Struct, frozen=True):
    """One member of a body that holds context.

    - `name`: ``tools``, ``system`` or ``messages``, as in the `Place` of its blocks; `key`: its JSON key.
    - `split`: the parts of an element, in prompt order, from its value and its JSON path; `join`: the inverse, from
      pieces: pairs of a block's kind and JSON value.
    - `string`: splits a section written as one string (None if the dialect has no such form).
    - `is_string`: whether pieces may be written as one string.
    - `bare`: whether a block of a kind is an element by itself, not a part of a message.
    - `inside`: the member of the section's object that lists the elements ("": the section is the list).
    - `takes_object`: one element without a list is allowed.
    - `merged`: all blocks form one element unless the body had several.
    """

    name: str
    key: str
    split: Callable[[Json, str], list[WirePart]]
    join: Callable[[Sequence[Piece]], Json]
    string: Callable[[str], list[WirePart]] | None = None
    is_string: Callable[[Sequence[Piece]], bool] | None = None
    bare: Callable[[str], bool] = lambda kind: True
    required: bool = False
    inside: str = ""
    takes_object: bool = False
    merged: bool = False

    @property
    def depth(self) -> int:
        """Indent steps of an element: two in a member's list, three in one `inside` an object."""
        return 3 if self.inside else 2


class Grammar(Struct, frozen=True):
    """A dialect's sections, in prompt order."""

    dialect: str
    sections: tuple[Section, ...]

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(section.key for section in self.sections)


def split_tool(value: Json, path: str) -> list[WirePart]:
    if not isinstance(value, dict):
        return [unreadable_part(path, f"a tool is {json_type_name(value)}, not an object", TOOLS, ())]
    return [make_part("tool", value, TOOLS, ())]


def split_system(value: Json, path: str) -> list[WirePart]:
    return [content_part(value, path, SYSTEM, ())]


def split_system_string(text: str) -> list[WirePart]:
    return [text_part(text, SYSTEM, ())] if text else []


def join_single(pieces: Sequence[Piece]) -> Json:
    return pieces[0][1]


ANTHROPIC: Final = "anthropic"
CHAT: Final = "openai_chat"
RESPONSES: Final = "openai_responses"
OLLAMA: Final = "ollama_chat"
GOOGLE: Final = "google"

PLAIN_SHAPE: Final = Shape()
CHAT_SHAPE: Final = Shape(
    (
        # Spellings of visible reasoning: DeepSeek and llama.cpp, Ollama and vLLM (facts §5).
        BlockField("reasoning_content", "reasoning", STRING, first=True),
        BlockField("reasoning", "reasoning", STRING, first=True),
        BlockField("refusal", "refusal", STRING, inside="refusal"),
        BlockField("tool_calls", "tool_call", LIST),
        BlockField("function_call", "function_call", OBJECT),
    )
)
OLLAMA_SHAPE: Final = Shape(
    (
        BlockField("thinking", "thinking", STRING, inside="thinking", first=True),
        BlockField("images", "image", LIST),
        BlockField("tool_calls", "tool_call", LIST),
    )
)
GOOGLE_SHAPE: Final = Shape(
    content="parts",
    role="user",
    split_part=google_parts.split_part,
    join_part=google_parts.join_part,
    takes_object=True,
)

MESSAGE_PARTS: Final = frozenset(
    "text input_text output_text refusal input_image input_file input_audio summary_text reasoning_text "
    "computer_screenshot image image_url document file output_audio encrypted_content tool".split()
)
"""Kinds of blocks inside a Responses message or item. Every other kind is an item of its own."""


def _split_message(shape_: Shape, value: Json, path: str) -> list[WirePart]:
    if not isinstance(value, dict):
        return [unreadable_part(path, f"a message is {json_type_name(value)}, not an object", Place("messages"), ())]
    return split_message(value, path, shape_)


def _join_message(shape_: Shape, pieces: Sequence[Piece]) -> Json:
    return join_message(pieces, shape_) if pieces[0][0] == HEADER else join_single(pieces)


def split_item(value: Json, path: str) -> list[WirePart]:
    """Split one item of a Responses input into its blocks; most items are one block."""
    if not isinstance(value, dict):
        return [unreadable_part(path, f"an item is {json_type_name(value)}, not an object", Place("messages"), ())]
    kind = kind_of(value, "message")
    if kind == "message":
        return split_message(value, path, PLAIN_SHAPE)
    parts_inside = _ITEM_SPLITTERS[kind](value, path) if kind in _ITEM_SPLITTERS else None
    if parts_inside is not None:
        return parts_inside
    return [make_part(kind, value, Place("messages", item_role(kind, value)), ())]


_ITEM_SPLITTERS: Final = {TOOLS_ITEM: split_tools, AGENT_ITEM: split_agent_message}
"""Split an item that holds several blocks."""


def item_role(kind: str, value: dict[str, Json]) -> str:
    """The role of an item, inferred from its kind if the item names none."""
    role = value.get("role")
    if isinstance(role, str):
        return role
    if kind == AGENT_ITEM:
        return "user"
    answers = kind.endswith(("_output", "_response")) or kind == "item_reference"
    return "tool" if answers else "assistant"


def join_item(pieces: Sequence[Piece]) -> Json:
    """Join one item of a Responses input, the inverse of `split_item`."""
    head = pieces[0][1]
    if pieces[0][0] == HEADER and head.get("type") == TOOLS_ITEM:
        return join_tools(pieces)
    return _join_message(PLAIN_SHAPE, pieces)


def _string_splitter(shape_: Shape) -> Callable[[str], list[WirePart]]:
    def string(text: str) -> list[WirePart]:
        # The header keeps only the form of the text; an empty text would leave none.
        head = split_message({"role": "user", shape_.content: text or " "}, "$", shape_)[0]
        return [head, text_part(text, Place("messages", "user"), (shape_.content,))]

    return string


def _is_one_text(pieces: Sequence[Piece]) -> bool:
    return len(pieces) == 1 and is_plain(*pieces[0])


def _is_one_user_text(pieces: Sequence[Piece]) -> bool:
    heads: list[Json] = [{"role": "user", key: STRING} for key in ("content", GOOGLE_SHAPE.content)]
    return len(pieces) == 2 and pieces[0][0] == HEADER and pieces[0][1] in heads and is_plain(*pieces[1])


def _tools_section(key: str) -> Section:
    return Section("tools", key, split_tool, join_single)


def _messages_section(shape_: Shape, key: str = "messages") -> Section:
    def split_(value: Json, path: str) -> list[WirePart]:
        return _split_message(shape_, value, path)

    def join_(pieces: Sequence[Piece]) -> Json:
        return _join_message(shape_, pieces)

    return Section(
        "messages",
        key,
        split_,
        join_,
        string=_string_splitter(shape_) if shape_.takes_object else None,
        is_string=_is_one_user_text,
        bare=lambda kind: kind == HEADER,
        required=True,
        takes_object=shape_.takes_object,
    )


def _system_section(key: str) -> Section:
    return Section(SYSTEM.section, key, split_system, join_single, string=split_system_string, is_string=_is_one_text)


def _google_system_section(key: str) -> Section:
    def split_(value: Json, path: str) -> list[WirePart]:
        return [google_parts.split_part(value, path, SYSTEM, ())]

    def join_(pieces: Sequence[Piece]) -> Json:
        return google_parts.join_part(pieces[0])

    return Section(
        SYSTEM.section, key, split_, join_, string=split_system_string, is_string=_is_one_text, inside="parts"
    )


_GOOGLE_TOOLS: Final = Section(
    "tools", "tools", google_parts.split_tool, google_parts.join_tool, takes_object=True, merged=True
)
_INPUT: Final = Section(
    "messages",
    "input",
    split_item,
    join_item,
    string=_string_splitter(PLAIN_SHAPE),
    is_string=_is_one_user_text,
    bare=lambda kind: kind not in MESSAGE_PARTS,
)

GRAMMARS: Final = {
    ANTHROPIC: Grammar(ANTHROPIC, (_tools_section("tools"), _system_section("system"), _messages_section(PLAIN_SHAPE))),
    CHAT: Grammar(CHAT, (_tools_section("tools"), _tools_section("functions"), _messages_section(CHAT_SHAPE))),
    RESPONSES: Grammar(RESPONSES, (_tools_section("tools"), _system_section("instructions"), _INPUT)),
    OLLAMA: Grammar(OLLAMA, (_tools_section("tools"), _messages_section(OLLAMA_SHAPE))),
    GOOGLE: Grammar(
        GOOGLE,
        (
            _GOOGLE_TOOLS,
            _google_system_section("systemInstruction"),
            _google_system_section("system_instruction"),
            _messages_section(GOOGLE_SHAPE, "contents"),
        ),
    ),
}
