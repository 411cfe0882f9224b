"""Write turns of any dialect (`turns`) as a body for Ollama's ``/api/chat`` (facts §5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core.block_content import arguments_value
from ctxtui.core.canonical import Json
from ctxtui.wire.translate.media import caption, is_image
from ctxtui.wire.translate.turns import (
    ASSISTANT,
    CALL,
    MEDIA,
    NO_THINKING,
    SYSTEM,
    TEXT,
    THINKING,
    TOOL,
    USER,
    Losses,
    Turn,
    TurnPart,
    readable_text,
)

_SEPARATOR: Final = "\n\n"
_SIGNED: Final = ("signature", "encrypted_content", "data")
"""Members of thinking that only its provider accepts."""


def write(system: Sequence[TurnPart], turns: Sequence[Turn], same: bool, losses: Losses) -> dict[str, Json]:
    """Write ``messages``, the system prompt first.

    Blocks are always written anew, whatever `same`.
    """
    messages: list[Json] = []
    names: dict[str, str] = {}
    first = _write_message("system", system, losses)
    if len(first) > 1:
        messages.append(first)
    for turn in turns:
        if turn.side == TOOL:
            messages += [_write_result(part, names, losses) for part in turn.parts]
            continue
        role = ASSISTANT if turn.side == ASSISTANT else turn.role if turn.role in SYSTEM else USER
        # Ollama has no role developer.
        message = _write_message("system" if role == "developer" else role, turn.parts, losses)
        calls = [part for part in turn.parts if part.category == CALL]
        names |= {part.id: part.reading.name for part in calls}
        if calls:
            message = {"content": "", **message, "tool_calls": [_write_call(part, losses) for part in calls]}
        messages += [{"role": message["role"], **message}] if len(message) > 1 else []
    return {"messages": messages}


def _write_message(role: str, parts: Sequence[TurnPart], losses: Losses) -> dict[str, Json]:
    texts: list[str] = []
    thoughts: list[str] = []
    pictures: list[str] = []
    for part in parts:
        if part.category == TEXT:
            texts += [part.reading.text] if part.reading.text else []
            losses.note("empty text") if not part.reading.text else None
        elif part.category == THINKING:
            _add_thinking(part, thoughts, losses)
        elif part.category == MEDIA:
            texts += [text] if (text := caption(part, losses)) else []
            pictures += _write_pictures(part, losses)
        elif special_text := readable_text(part, losses):
            texts.append(special_text)
        elif part.category != CALL:
            losses.note(f"{part.kind}, which only its own provider knows")
    message: dict[str, Json] = {"role": role}
    if texts or pictures:
        message["content"] = _SEPARATOR.join(texts)
    if texts or any(part.category == CALL for part in parts):
        message |= {"thinking": _SEPARATOR.join(thoughts)} if thoughts else {}
    else:
        losses.note(NO_THINKING, len(thoughts))
    return {**message, "images": pictures} if pictures else message


def _add_thinking(part: TurnPart, thoughts: list[str], losses: Losses) -> None:
    is_signed = isinstance(part.value, dict) and any(part.value.get(key) for key in _SIGNED)
    if is_signed or not part.reading.text:
        losses.note(NO_THINKING)
    else:
        thoughts.append(part.reading.text)


def _write_pictures(part: TurnPart, losses: Losses) -> list[str]:
    images = [media.data for media in part.reading.media if media.data and is_image(media)]
    if len(images) < len(part.reading.media):
        losses.note("media that this dialect cannot hold", len(part.reading.media) - len(images))
    return images


def _write_call(part: TurnPart, losses: Losses) -> Json:
    arguments = arguments_value(part.reading)
    if not isinstance(arguments, dict):
        losses.note("free text as a tool's input (moved to the member `input`)")
        arguments = {"input": part.reading.arguments} if part.reading.arguments else {}
    return {"id": part.id, "function": {"name": part.reading.name, "arguments": arguments}}


def _write_result(part: TurnPart, names: dict[str, str], losses: Losses) -> Json:
    if part.reading.media:
        losses.note("media in tool results", len(part.reading.media))
    if part.reading.is_error:
        losses.note("error flags of tool results (their text stays)")
    message = {"role": TOOL, "content": part.reading.text}
    return {**message, "tool_name": names.get(part.id, part.id), "tool_call_id": part.id}
