"""Write turns of any dialect (`turns`) as an OpenAI Chat body (validity: facts §4, §5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.wire.translate.media import caption, for_chat
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
    is_free_text,
    readable_text,
    to_part,
)

_REASONING_KEY: Final = "reasoning_content"
"""The member in which servers take reasoning back."""


def write(system: Sequence[TurnPart], turns: Sequence[Turn], same: bool, losses: Losses) -> dict[str, Json]:
    """Write ``messages``, the system prompt first.

    With `same`, the parts were recorded in this dialect and stay verbatim, but empty text is left out, and the
    reasoning of a message is joined under ``reasoning_content``.
    """
    messages: list[Json] = []
    first = _write_content(system, "system", same, losses)
    if first:
        messages.append({"role": "system", "content": first})
    for turn in turns:
        if turn.side == TOOL:
            messages += [_write_result(part, losses) for part in turn.parts]
        elif turn.side == ASSISTANT:
            message = _write_assistant(turn, same, losses)
            messages += [message] if len(message) > 1 else []
        else:
            role = turn.role if turn.role in SYSTEM else USER
            content = _write_content(turn.parts, role, same, losses)
            messages += [{"role": role, "content": content}] if content else []
    return {"messages": messages}


def _write_content(parts: Sequence[TurnPart], role: str, same: bool, losses: Losses) -> Json:
    """Write text and pictures: a string if one text is the whole content, else a list."""
    content: list[Json] = []
    for part in parts:
        verbatim = same and isinstance(part.value, dict)
        if part.category == TEXT and (part.reading.text or role == TOOL):
            content.append(part.value if verbatim else {"type": "text", "text": part.reading.text})
        elif part.category == TEXT:
            losses.note("empty text")
        elif part.category == MEDIA:
            content += _write_media(part, role, verbatim, losses)
        elif verbatim and part.category not in (CALL, THINKING):
            content.append(part.value)
        elif text := readable_text(part, losses):
            content.append({"type": "text", "text": text})
        elif part.category != CALL or role != ASSISTANT:
            reason = NO_THINKING if part.category == THINKING else ""
            losses.note(reason or f"{part.kind}, which only its own provider knows")
    plain = len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"type", "text"}
    return content[0]["text"] if plain and isinstance(content[0]["text"], str) else content


def _write_media(part: TurnPart, role: str, same: bool, losses: Losses) -> list[Json]:
    if same:
        return [part.value]
    content: list[Json] = [{"type": "text", "text": text}] if (text := caption(part, losses)) else []
    if role != USER:
        losses.note("media outside user messages", len(part.reading.media))
        return content
    return content + [image for media in part.reading.media if (image := for_chat(media, losses)) is not None]


def _write_assistant(turn: Turn, same: bool, losses: Losses) -> dict[str, Json]:
    message: dict[str, Json] = {"role": ASSISTANT}
    spoken_parts = [part for part in turn.parts if not (same and part.category == THINKING)]
    content = _write_content(spoken_parts, ASSISTANT, same, losses)
    calls = [_write_call(part, same) for part in turn.parts if part.category == CALL]
    if content or calls:
        message["content"] = content or None
    thoughts = [part.reading.text for part in turn.parts if same and part.category == THINKING]
    reasoning = [text for text in thoughts if text] if len(message) > 1 else []
    if reasoning:
        message[_REASONING_KEY] = "\n".join(reasoning)
    losses.note(NO_THINKING, len(thoughts) - len(reasoning))
    if calls:
        message["tool_calls"] = calls
    return message


def _write_call(part: TurnPart, same: bool) -> Json:
    if same and part.kind == "tool_call":
        return part.value
    arguments = part.reading.arguments or "{}"
    if is_free_text(part):
        custom = {"name": part.reading.name, "input": part.reading.arguments}
        return {"id": part.id, "type": "custom", "custom": custom}
    return {"id": part.id, "type": "function", "function": {"name": part.reading.name, "arguments": arguments}}


def _write_result(part: TurnPart, losses: Losses) -> Json:
    """Write a tool message: its recorded blocks, or its text without images and error flag."""
    if part.kind == "tool message":
        blocks: list[Block] = part.value
        content = _write_content([to_part(block) for block in blocks], TOOL, True, losses) or ""
        return {"role": TOOL, "tool_call_id": part.id, "content": content}
    if part.reading.media:
        losses.note("media in tool results", len(part.reading.media))
    if part.reading.is_error:
        losses.note("error flags of tool results (their text stays)")
    text = part.reading.text
    return {
        "role": TOOL,
        "tool_call_id": part.id,
        "content": text if isinstance(text, str) else canonical.dump_text(text),
    }
