"""Write turns of any dialect (`turns`) as an Anthropic body (validity: facts §1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.wire.translate.media import caption, for_anthropic
from ctxtui.wire.translate.turns import (
    ASSISTANT,
    CALL,
    MEDIA,
    RESULT,
    SYSTEM,
    TEXT,
    THINKING,
    TOOL,
    USER,
    Losses,
    Turn,
    TurnPart,
    arguments_object,
    readable_text,
)

OPENING: Final = "(The conversation begins with the assistant; what came before is not in the recording.)"
"""User message inserted before a first message of the assistant, which older models refuse."""

_INVALID_ID_CHARS: Final = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that Anthropic does not accept in the id of a call, or a tool's name."""


def write(system: Sequence[TurnPart], turns: Sequence[Turn], same: bool, losses: Losses) -> dict[str, Json]:
    """Write ``system`` and ``messages``.

    With `same`, the parts were recorded in this dialect and stay verbatim, except blank text and unsigned thinking,
    which are left out.
    """
    messages: list[dict[str, Json]] = []
    for turn in turns:
        role = _message_role(turn, same, losses)
        content = [block for part in turn.parts for block in _write_blocks(part, role, same, losses)]
        if not content:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": role, "content": content})
    if messages and messages[0]["role"] != USER and not _is_compaction(messages[0]):
        losses.note("the first message is the assistant's: a user message was put in front")
        messages.insert(0, {"role": USER, "content": [{"type": "text", "text": OPENING}]})
    texts = [block for part in system for block in _write_blocks(part, "system", same, losses)]
    return {**({"system": texts} if texts else {}), "messages": _place_system_messages(messages, losses)}


def _place_system_messages(messages: Sequence[dict[str, Json]], losses: Losses) -> list[dict[str, Json]]:
    """Make system messages user messages, except where Anthropic allows them (facts §1).

    A system message is allowed after the user, or after an assistant message that ends in a server tool's result, if an
    assistant message or nothing follows.
    """
    placed: list[dict[str, Json]] = []
    for n, message in enumerate(messages):
        if message["role"] == "system" and not _is_system_allowed(placed[-1:], messages[n + 1 : n + 2]):
            losses.note("system messages where the provider takes none became user messages")
            message = {**message, "role": USER}
        if placed and placed[-1]["role"] == message["role"]:
            placed[-1] = {**placed[-1], "content": [*placed[-1]["content"], *message["content"]]}
        else:
            placed.append(message)
    return placed


def _is_system_allowed(before: Sequence[dict[str, Json]], after: Sequence[dict[str, Json]]) -> bool:
    """Whether a system message is allowed between two messages; either may be missing."""
    served = any(str(m["content"][-1].get("type")).endswith("_tool_result") for m in before if m["role"] == ASSISTANT)
    has_user_before = served or any(m["role"] == USER for m in before)
    return has_user_before and all(m["role"] == ASSISTANT for m in after)


def _message_role(turn: Turn, same: bool, losses: Losses) -> str:
    if turn.side in (ASSISTANT, TOOL):
        return ASSISTANT if turn.side == ASSISTANT else USER
    if turn.role in SYSTEM:
        if same:
            return "system"
        losses.note("later system messages became user messages")
    return USER


def _is_compaction(message: dict[str, Json]) -> bool:
    # The one block of an on-demand compaction must be the first message, by the assistant (facts §3).
    return bool(message["content"][0].get("type") == "compaction")


def _write_blocks(part: TurnPart, role: str, same: bool, losses: Losses) -> Iterator[Json]:
    # A damaged record may have a block that is not an object.
    same = same and isinstance(part.value, dict)
    if part.category == TEXT:
        if not part.reading.text.strip():
            losses.note("empty text")
        elif same and part.kind == TEXT:
            yield part.value
        else:
            yield {"type": "text", "text": part.reading.text}
    elif part.category == THINKING:
        if same and is_signed(part.value):
            yield part.value
        else:
            losses.note("thinking without a signature of this provider")
    elif part.category == CALL:
        yield _write_call(part, same, losses)
    elif part.category == RESULT:
        yield part.value if part.kind == "tool_result" else _write_result(part, losses)
    elif part.category == MEDIA and not same:
        yield from _write_media(part, role, losses)
    elif same:
        yield part.value
    elif text := readable_text(part, losses):
        yield {"type": "text", "text": text}
    else:
        losses.note(f"{part.kind}, which only its own provider knows")


def is_signed(value: Json) -> bool:
    """Whether thinking carries the signature or ciphertext that its provider requires back."""
    return isinstance(value, dict) and bool(value.get("signature") or value.get("data"))


def _write_call(part: TurnPart, same: bool, losses: Losses) -> Json:
    if same and part.kind == "tool_use" and isinstance(part.value.get("input"), dict):
        return part.value
    arguments = arguments_object(part, losses)
    name = _INVALID_ID_CHARS.sub("_", part.reading.name)[:128] or "tool"
    return {"type": "tool_use", "id": _INVALID_ID_CHARS.sub("_", part.id), "name": name, "input": arguments}


def _write_result(part: TurnPart, losses: Losses) -> Json:
    texts = [{"type": "text", "text": part.reading.text}] if part.reading.text.strip() else []
    pictures = [block for media in part.reading.media if (block := for_anthropic(media, losses)) is not None]
    content: Json = [*texts, *pictures] if pictures else part.reading.text
    member = {"content": content} if content else {}
    failed = {"is_error": True} if part.reading.is_error else {}
    return {"type": "tool_result", "tool_use_id": _INVALID_ID_CHARS.sub("_", part.id), **member, **failed}


def _write_media(part: TurnPart, role: str, losses: Losses) -> Iterator[Json]:
    if text := caption(part, losses):
        yield {"type": "text", "text": text}
    for media in part.reading.media:
        if role == ASSISTANT:
            losses.note("media in an assistant message")
        elif (block := for_anthropic(media, losses)) is not None:
            yield block
