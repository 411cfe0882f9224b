"""Turns as an OpenAI Chat body (validity: facts §4; local servers: §5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Block
from ctxtui.core.block_content import arguments_value
from ctxtui.core.canonical import Json
from ctxtui.wire.translate.media import for_chat
from ctxtui.wire.translate.turns import (
    ASSISTANT,
    CALL,
    MEDIA,
    SYSTEM,
    TEXT,
    THINKING,
    TOOL,
    USER,
    Losses,
    Turn,
    TurnPart,
    readable,
)

_REASONING: Final = "reasoning_content"


def write(system: Sequence[TurnPart], turns: Sequence[Turn], same: bool, losses: Losses) -> dict[str, Json]:
    """``messages``, the system prompt first. With `same`, blocks are Chat's own and stay verbatim."""
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
    """Words and pictures: a string where one text is all there is."""
    made: list[Json] = []
    for part in parts:
        verbatim = same and isinstance(part.value, dict)
        if part.what == TEXT:
            if not part.reading.text:
                losses.note("empty text")
            elif verbatim:
                made.append(part.value)
            else:
                made.append({"type": "text", "text": part.reading.text})
        elif part.what == MEDIA:
            made += _media(part, role, verbatim, losses)
        elif verbatim and part.what not in (CALL, THINKING):
            made.append(part.value)
        elif words := readable(part):
            made.append({"type": "text", "text": words})
        elif part.what != CALL:
            reason = "thinking, which this dialect does not take back" if part.what == THINKING else ""
            losses.note(reason or f"{part.kind}, which only its own provider knows")
    return _shortened(made)


def _shortened(made: list[Json]) -> Json:
    """The string that one text alone is; else all of them."""
    plain = len(made) == 1 and isinstance(made[0], dict) and made[0].keys() == {"type", "text"}
    return made[0]["text"] if plain and isinstance(made[0]["text"], str) else made


def _media(part: TurnPart, role: str, same: bool, losses: Losses) -> list[Json]:
    if same:
        return [part.value]
    made: list[Json] = [{"type": "text", "text": part.reading.text}] if part.reading.text else []
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
    thought = "\n".join(part.reading.text for part in turn.parts if same and part.what == THINKING)
    if thought and len(message) > 1:
        message[_REASONING] = thought
    if calls:
        message["tool_calls"] = calls
    return message


def _call(part: TurnPart, same: bool) -> Json:
    if same and part.kind == "tool_call" and isinstance(part.value, dict):
        return part.value
    given = part.reading.arguments or "{}"
    if not isinstance(arguments_value(part.reading), dict):
        # Free text, which a custom tool takes.
        custom = {"name": part.reading.name, "input": part.reading.arguments}
        return {"id": part.id, "type": "custom", "custom": custom}
    return {"id": part.id, "type": "function", "function": {"name": part.reading.name, "arguments": given}}


def _answer(part: TurnPart, losses: Losses) -> Json:
    """A tool message. Its content is verbatim where it was one; Chat takes no pictures and no error flag there."""
    if part.kind == "tool message":
        blocks: list[Block] = part.value
        content = _shortened([value for block in blocks if isinstance(value := block.value(), dict)]) or ""
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
