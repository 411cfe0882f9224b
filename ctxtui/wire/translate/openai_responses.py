"""Write turns of any dialect (`turns`) as an OpenAI Responses body (validity: facts §4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.wire.input_items import AGENT_ITEM
from ctxtui.wire.translate.media import caption, for_responses
from ctxtui.wire.translate.turns import (
    ASSISTANT,
    CALL,
    MEDIA,
    RESULT,
    SYSTEM,
    TEXT,
    THINKING,
    USER,
    Losses,
    Turn,
    TurnPart,
    is_free_text,
    readable_text,
)

_SEPARATOR: Final = "\n\n"
_FOLLOWING: Final = ("_call", "reasoning", "program", AGENT_ITEM)
"""Ends of the kinds of items that may follow reasoning, besides the assistant's messages (facts §13)."""


def write(system: Sequence[TurnPart], turns: Sequence[Turn], same: bool, losses: Losses) -> dict[str, Json]:
    """Write ``instructions`` and ``input``.

    With `same`, the parts were recorded in this dialect and stay verbatim, except reasoning that its output does not
    directly follow. Empty text is always left out.
    """
    items: list[Json] = []
    free_text_ids = {part.id for turn in turns for part in turn.parts if part.category == CALL and is_free_text(part)}
    for turn in turns:
        role = ASSISTANT if turn.side == ASSISTANT else turn.role if turn.role in SYSTEM else USER
        message_content: list[Json] = []
        for part in turn.parts:
            # A damaged record may have an item that is not an object.
            verbatim = same and isinstance(part.value, dict)
            content = _content_parts(part, role, verbatim, losses)
            if content is not None:
                message_content += content
                continue
            # A separate item ends the message before it.
            message_content = _end_message(items, role, message_content)
            items += _write_item(part, verbatim, free_text_ids, losses)
        _end_message(items, role, message_content)
    texts = [text for part in system if (text := _instruction_text(part, losses))]
    return {
        **({"instructions": _SEPARATOR.join(texts)} if texts else {}),
        "input": _drop_dangling_reasoning(items, losses),
    }


def _instruction_text(part: TurnPart, losses: Losses) -> str:
    if part.reading.media:
        losses.note("media outside user messages", len(part.reading.media))
    elif not part.reading.text:
        losses.note("empty text" if part.category == TEXT else f"{part.kind}, which only its own provider knows")
    return part.reading.text


def _drop_dangling_reasoning(items: Sequence[Json], losses: Losses) -> list[Json]:
    """Drop reasoning that is not directly before an output item; the API refuses it."""
    items_reversed: list[Json] = []
    is_output = False
    for item in reversed(items):
        kind = str(item.get("type")) if isinstance(item, dict) else ""
        if kind == "reasoning" and not is_output:
            losses.note("reasoning without its output")
            continue
        is_output = kind.endswith(_FOLLOWING) or (kind == "message" and item.get("role") == ASSISTANT)
        items_reversed.append(item)
    return items_reversed[::-1]


def _end_message(items: list[Json], role: str, content: list[Json]) -> list[Json]:
    """Append a message to `items`, unless it is empty; return the empty content of the next one."""
    if content:
        items.append({"type": "message", "role": role, "content": content})
    return []


def _content_parts(part: TurnPart, role: str, verbatim: bool, losses: Losses) -> list[Json] | None:
    """The content that `part` adds to a message; None if it is written as a separate item."""
    if part.category == TEXT:
        if not part.reading.text:
            losses.note("empty text")
            return []
        # Content that is a plain string has the kind ``text``.
        if verbatim and part.kind != TEXT:
            return [part.value]
        return [_text_part(role, part.reading.text)]
    if not verbatim and (special_text := readable_text(part, losses)):
        return [_text_part(role, special_text)]
    if part.category != MEDIA:
        return None
    if verbatim:
        return [part.value]
    content: list[Json] = []
    if text := caption(part, losses):
        content.append(_text_part(role, text))
    if role == ASSISTANT:
        losses.note("media in an assistant message", len(part.reading.media))
        return content
    return content + [image for media in part.reading.media if (image := for_responses(media, losses)) is not None]


def _text_part(role: str, text: str) -> Json:
    return {"type": "output_text" if role == ASSISTANT else "input_text", "text": text}


def _write_item(part: TurnPart, verbatim: bool, free_text_ids: set[str], losses: Losses) -> list[Json]:
    if verbatim:
        return [part.value]
    if part.category == THINKING:
        losses.note("thinking, which does not cross providers")
        return []
    if part.category == CALL:
        return [_write_call(part)]
    if part.category == RESULT:
        return [
            _write_result(
                part, "custom_tool_call_output" if part.id in free_text_ids else "function_call_output", losses
            )
        ]
    losses.note(f"{part.kind}, which only its own provider knows")
    return []


def _write_call(part: TurnPart) -> Json:
    name, arguments = part.reading.name, part.reading.arguments
    if is_free_text(part):
        return {"type": "custom_tool_call", "call_id": part.id, "name": name, "input": arguments}
    return {"type": "function_call", "call_id": part.id, "name": name, "arguments": arguments or "{}"}


def _write_result(part: TurnPart, kind: str, losses: Losses) -> Json:
    if part.reading.is_error:
        losses.note("error flags of tool results (their text stays)")
    media = [image for item in part.reading.media if (image := for_responses(item, losses)) is not None]
    output: Json = part.reading.text
    if media:
        texts = [{"type": "input_text", "text": part.reading.text}] if part.reading.text else []
        output = [*texts, *media]
    return {"type": kind, "call_id": part.id, "output": output}
