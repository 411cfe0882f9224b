"""Write turns as an OpenAI Chat body (validity: facts §4; local servers: §5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.block_content import arguments_value
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
    part_of,
    readable,
)

_REASONING: Final = "reasoning_content"


def write(system: Sequence[TurnPart], turns: Sequence[Turn], same: bool, losses: Losses) -> dict[str, Json]:
    """Write ``messages``, the system prompt first. With `same`, blocks are Chat's own and stay verbatim."""
    messages: list[Json] = []
    first = _content(system, "system", same, losses)
    if first:
        messages.append({"role": "system", "content": first})
    for turn in turns:
        if turn.side == TOOL:
            messages += [_answer(part, losses) for part in turn.parts]
        elif turn.side == ASSISTANT:
            message = _assistant(turn, same, losses)
            messages += [message] if len(message) > 1 else []
        else:
            role = turn.role if turn.role in SYSTEM else USER
            content = _content(turn.parts, role, same, losses)
            messages += [{"role": role, "content": content}] if content else []
    return {"messages": messages}


def _content(parts: Sequence[TurnPart], role: str, same: bool, losses: Losses) -> Json:
    """Write text and pictures; a string if one text is the whole content."""
    made: list[Json] = []
    for part in parts:
        verbatim = same and isinstance(part.value, dict)
        if part.what == TEXT and (part.reading.text or role == TOOL):
            made.append(part.value if verbatim else {"type": "text", "text": part.reading.text})
        elif part.what == TEXT:
            losses.note("empty text")
        elif part.what == MEDIA:
            made += _media(part, role, verbatim, losses)
        elif verbatim and part.what not in (CALL, THINKING):
            made.append(part.value)
        elif words := readable(part, losses):
            made.append({"type": "text", "text": words})
        elif part.what != CALL or role != ASSISTANT:
            reason = NO_THINKING if part.what == THINKING else ""
            losses.note(reason or f"{part.kind}, which only its own provider knows")
    plain = len(made) == 1 and isinstance(made[0], dict) and made[0].keys() == {"type", "text"}
    return made[0]["text"] if plain and isinstance(made[0]["text"], str) else made


def _media(part: TurnPart, role: str, same: bool, losses: Losses) -> list[Json]:
    if same:
        return [part.value]
    made: list[Json] = [{"type": "text", "text": text}] if (text := caption(part, losses)) else []
    if role != USER:
        losses.note("media outside user messages", len(part.reading.media))
        return made
    return made + [one for media in part.reading.media if (one := for_chat(media, losses)) is not None]


def _assistant(turn: Turn, same: bool, losses: Losses) -> dict[str, Json]:
    message: dict[str, Json] = {"role": ASSISTANT}
    spoken = [part for part in turn.parts if not (same and part.what == THINKING)]
    content = _content(spoken, ASSISTANT, same, losses)
    calls = [_call(part, same) for part in turn.parts if part.what == CALL]
    if content or calls:
        message["content"] = content or None
    thoughts = [part.reading.text for part in turn.parts if same and part.what == THINKING]
    said = [text for text in thoughts if text] if len(message) > 1 else []
    if said:
        message[_REASONING] = "\n".join(said)
    losses.note(NO_THINKING, len(thoughts) - len(said))
    if calls:
        message["tool_calls"] = calls
    return message


def _call(part: TurnPart, same: bool) -> Json:
    if same and part.kind == "tool_call":
        return part.value
    given = part.reading.arguments or "{}"
    if not isinstance(arguments_value(part.reading), dict):
        # Free text for a custom tool.
        custom = {"name": part.reading.name, "input": part.reading.arguments}
        return {"id": part.id, "type": "custom", "custom": custom}
    return {"id": part.id, "type": "function", "function": {"name": part.reading.name, "arguments": given}}


def _answer(part: TurnPart, losses: Losses) -> Json:
    """Write a tool message, verbatim if it was one; Chat accepts no pictures and no error flag in it."""
    if part.kind == "tool message":
        blocks: list[Block] = part.value
        content = _content([part_of(block) for block in blocks], TOOL, True, losses) or ""
        return {"role": TOOL, "tool_call_id": part.id, "content": content}
    if part.reading.media:
        losses.note("media in tool results", len(part.reading.media))
    if part.reading.is_error:
        losses.note("error flags of tool results (their text stays)")
    text = part.reading.text
    return {
        "role": TOOL,
        "tool_call_id": part.id,
        "content": text if isinstance(text, str) else canonical.text_of(text),
    }
