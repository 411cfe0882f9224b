"""Builds request bodies in any dialect (API) from items recorded in any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, MARKER_KEYS, NOT_RECORDED, TOOL, UNREADABLE, Item
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.wire.codec.check_skeleton import malformed_on_mismatch
from ctxtui.wire.codec.frame import BOM
from ctxtui.wire.definitions import convert_tool, parse_definition
from ctxtui.wire.google_parts import join_tool
from ctxtui.wire.grammar import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES, TOOLS
from ctxtui.wire.input_items import TOOLS_ITEM
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from ctxtui.wire.translate import anthropic, google, ollama_chat, openai_chat, openai_responses
from ctxtui.wire.translate.pairing import NO_CALL, pair_calls, without_calls
from ctxtui.wire.translate.parameters import translate_parameters
from ctxtui.wire.translate.turns import RESULT, SYSTEM, Losses, Turn, TurnPart, detect_dialect, to_part, to_turns

_Write = Callable[[Sequence[TurnPart], Sequence[Turn], bool, Losses], dict[str, Json]]

_WRITERS: Final[dict[str, _Write]] = {
    ANTHROPIC: anthropic.write,
    CHAT: openai_chat.write,
    RESPONSES: openai_responses.write,
    OLLAMA: ollama_chat.write,
    GOOGLE: google.write,
}
DEFAULTS: Final[dict[str, dict[str, Json]]] = {ANTHROPIC: {"max_tokens": 4096}}
"""Parameters that a dialect requires, if none are given."""


def build_body(
    dialect: str,
    items: Sequence[Item],
    *,
    model: str,
    params: Mapping[str, Json] | None = None,
    recorded: Skeleton | None = None,
) -> tuple[bytes, list[str]]:
    """Build a request body in `dialect` from `items` of any dialect.

    Also return what it could not express, in lines.

    - If `items` were recorded in `dialect`, blocks are written verbatim (not Ollama's), else from their `BlockContent`.
    - Tool results directly follow their calls.
    - Left out are calls and results without counterpart, content that was not recorded and unreadable records.

    `params` are further top-level members. If the items are from a request in another dialect, whose skeleton is
    `recorded`, its parameters are translated. Raises `KeyError` for an unknown dialect.
    """
    losses = Losses()
    if recorded is not None:
        _note_markers(items, recorded, losses)
    write = _WRITERS[dialect]
    usable = [item for item in items if not _is_missing(item, losses)]
    same = detect_dialect(usable) == dialect
    if not same:
        usable = _tools_in_front(usable)
    offered = [i.block.value() for i in usable if i.place.section == "tools"]
    tools = [
        tool if same and dialect == GOOGLE and _is_googles_tool(tool) else convert_tool(tool, dialect, losses)
        for tool in offered
    ]
    system, conversation_turns = _split_system(usable, same and dialect in (CHAT, RESPONSES), losses)
    conversation = write(system, pair_calls(conversation_turns, losses), same, losses)
    _note_members(usable, losses)
    if not same:
        _note_details(usable, losses)
    model_name = f"models/{model}" if dialect == GOOGLE else model
    tools = [tool for tool in tools if tool is not None]
    settings = _translate_settings(recorded, dialect, tools, losses) if recorded is not None else {}
    body: dict[str, Json] = {"model": model_name, **DEFAULTS.get(dialect, {}), **settings, **(params or {})}
    if tools:
        body["tools"] = [join_tool([(TOOL, tool) for tool in tools])] if dialect == GOOGLE else tools
    return canonical.dumps({**body, **conversation}), losses.lines()


def _translate_settings(recorded: Skeleton, dialect: str, tools: Sequence[Json], losses: Losses) -> dict[str, Json]:
    names = [definition.name for tool in tools if (definition := parse_definition(tool)) is not None]
    return translate_parameters(Request((), recorded).params, recorded.dialect, dialect, names, losses)


def _is_googles_tool(tool: Json) -> bool:
    """Whether a tool is written for Google's API, whose ``parameters`` differ."""
    return isinstance(tool, dict) and not tool.keys() & {"input_schema", "function", "custom", "type"}


def _is_missing(item: Item, losses: Losses) -> bool:
    if item.block.kind == NOT_RECORDED:
        losses.note("not recorded: system prompt, tools or earlier messages")
    elif item.block.kind == UNREADABLE:
        losses.note("records that could not be read")
    return item.block.kind in (NOT_RECORDED, UNREADABLE)


def _tools_in_front(items: Sequence[Item]) -> list[Item]:
    """Move tools of a conversation item (Responses only) to the request's tools."""
    moved: list[Item] = []
    for item in items:
        if item.block.kind == TOOL and item.place.section == "messages":
            moved.append(Item(item.block, TOOLS))
        elif item.block.kind != HEADER or item.block.member("type") != TOOLS_ITEM:
            moved.append(item)
    return moved


def _split_system(items: Sequence[Item], keep: bool, losses: Losses) -> tuple[list[TurnPart], list[Turn]]:
    """Separate system texts from turns, also leading system messages unless `keep` is set."""
    system = [to_part(item.block) for item in items if item.place.section == "system"]
    conversation = to_turns([item for item in items if item.place.section == "messages"])
    while conversation and not keep and conversation[0].role in SYSTEM:
        system += conversation.pop(0).parts
    system = without_calls(system, losses)
    texts = [part for part in system if part.category != RESULT]
    losses.note(NO_CALL, len(system) - len(texts))
    return texts, conversation


def export_request(
    dialect: str, items: Sequence[Item], skeleton: Skeleton | None, *, model: str
) -> tuple[bytes, list[str]]:
    """Export a call's request in `dialect`; also return what was lost.

    If the call's `skeleton` is in that dialect, the result is byte for byte what was sent. Raises `Malformed` if the
    skeleton of a damaged recording does not produce JSON.
    """
    if skeleton is not None and skeleton.dialect == dialect:
        body = encode(Request(tuple(items), skeleton))
        with malformed_on_mismatch():
            canonical.loads(body.decode("utf-8", "replace").removeprefix(BOM))
        return body, []
    return build_body(dialect, items, model=model, recorded=skeleton)


# Members that a fresh body has no place for, though it writes their block: reported as losses

_NOT_NOTED: Final = frozenset(
    "role content parts tool_calls function_call tool_call_id type id status refusal images thinking "
    "reasoning_content thinking_blocks".split()
)
"""Members of a message that its blocks contain, that identify it, or that describe its spelling."""
_ANSWERING: Final = frozenset({"tool", "function"})
"""Roles whose messages repeat the tool's name from the call."""
_NO_DETAIL: Final = ("", "auto", None)
"""Values that request no particular detail."""


def _note_members(items: Iterable[Item], losses: Losses) -> None:
    """Note the members of messages besides their content, such as a speaker's ``name``."""
    for block, place in items:
        value = block.value() if block.kind == HEADER and place.role not in _ANSWERING else {}
        if not isinstance(value, dict):
            losses.note("heads of messages that could not be read")
        for key, member in value.items() if isinstance(value, dict) else ():
            if key not in _NOT_NOTED and member is not None:
                losses.note(f"the member {key} of messages")


def _note_details(items: Iterable[Item], losses: Losses) -> None:
    for block, _ in items:
        if block.kind in ("image_url", "input_image") and _requested_detail(block.value()) not in _NO_DETAIL:
            losses.note("the detail asked for of pictures")


def _requested_detail(value: Json) -> Json:
    inner = value.get("image_url") if isinstance(value, dict) else None
    return inner.get("detail") if isinstance(inner, dict) else value.get("detail") if isinstance(value, dict) else None


def _note_markers(items: Iterable[Item], skeleton: Skeleton, losses: Losses) -> None:
    request = Request(tuple(items), skeleton)
    marked = len(request.markers) + len(request.params.keys() & set(MARKER_KEYS))
    if marked:
        losses.note("cache markers", marked)
