"""Parts of Goose's messages: in Anthropic's spelling, which every reading knows."""

from __future__ import annotations

from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit import plain_messages
from ctxtui.transcripts.kit.fields import at, listed, obj, objects, word

_NOTES: Final = frozenset({"systemNotification", "toolConfirmationRequest", "actionRequired"})
"""Parts that the user sees and no model reads."""


def part_of(part: dict[str, Json]) -> Json:
    """A part of a message in Anthropic's spelling; None for what no model reads."""
    kind = part.get("type")
    if kind in _NOTES:
        return None
    if kind == "image":
        return plain_messages.image(word(part.get("mimeType")), part.get("data"))
    if kind == "thinking":
        return plain_messages.thinking(word(part.get("thinking")), part.get("signature"))
    if kind == "reasoning":
        return plain_messages.thinking(word(part.get("text")))
    if kind == "redactedThinking":
        return {"type": "redacted_thinking", "data": part.get("data")}
    if kind in ("toolRequest", "frontendToolRequest"):
        call = obj(at(part, "toolCall", "value"))
        # A call that could not be understood has an error in its place.
        given = call.get("arguments") if call else at(part, "toolCall", "error")
        return plain_messages.tool_use(part.get("id"), call.get("name") or "", given)
    if kind == "toolResponse":
        return _result(part)
    return part


def _result(part: dict[str, Json]) -> Json:
    result = obj(part.get("toolResult"))
    value = result.get("value")
    # Until 1.20 the content stood there by itself.
    content = obj(value).get("content") if isinstance(value, dict) else value
    failed = result.get("status") == "error" or obj(value).get("isError") is True
    said: list[Json] = [part_of(one) for one in objects(content)]
    return plain_messages.tool_result(part.get("id"), said if listed(content) else result.get("error") or "", failed)
