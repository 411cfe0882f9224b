"""Inspect's own messages, tools and usage, as items and figures."""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import chat_messages, plain_messages
from ctxtui.transcripts.kit.fields import count, listed, money, obj, objects, word

DEEPEST: Final = 100
"""Levels of an event in which attachments are looked for: no log nests them deeper."""

_ATTACHMENT: Final = re.compile(r"attachment://([0-9a-f]{16,64})")


def resolved(value: Json, attachments: dict[str, Json], depth: int = DEEPEST) -> Json:
    """`value` with every ``attachment://`` replaced by what it stands for, `depth` levels down."""
    if not attachments or depth == 0:
        return value
    if isinstance(value, str):
        if "attachment://" not in value:
            return value
        return _ATTACHMENT.sub(lambda m: word(attachments.get(m.group(1))) or m.group(), value)
    if isinstance(value, list):
        return [resolved(item, attachments, depth - 1) for item in value]
    if isinstance(value, dict):
        return {key: resolved(item, attachments, depth - 1) for key, item in value.items()}
    return value


def drawn(refs: Json, pool: list[Json]) -> list[Json]:
    """The entries of `pool` that `refs` name: indices, or ranges (start, end exclusive)."""
    found: list[Json] = []
    for ref in listed(refs):
        if isinstance(ref, int):
            found += pool[ref : ref + 1] if ref >= 0 else []
        elif isinstance(ref, list) and len(ref) == 2:
            found += pool[max(0, count(ref[0])) : count(ref[1])]
    return found


def items(message: Json, path: str = "$") -> list[Item]:
    """The items of one message."""
    held = obj(message)
    content = held.get("content")
    sent: dict[str, Json] = {"role": held.get("role")}
    sent["content"] = content if isinstance(content, str) else [_part(part) for part in listed(content)]
    if held.get("role") == "tool":
        error = word(obj(held.get("error")).get("message"))
        sent |= {"tool_call_id": held.get("tool_call_id"), "name": held.get("function")}
        sent["content"] = sent["content"] or error
    calls = [_call(call) for call in objects(held.get("tool_calls"))]
    return chat_messages.items({**sent, "tool_calls": calls} if calls else sent, path)


def _call(call: dict[str, Json]) -> Json:
    given = call.get("arguments")
    text = given if isinstance(given, str) else canonical.text_of(given if given is not None else {})
    function = {"name": call.get("function"), "arguments": text}
    return {"id": call.get("id"), "type": "function", "function": function}


def _part(part: Json) -> Json:
    held = obj(part)
    match held.get("type"):
        case "reasoning":
            words = word(held.get("reasoning"))
            if held.get("redacted") is True:
                return {"type": "redacted_thinking", "data": words}
            return plain_messages.thinking(words, held.get("signature"))
        case "image":
            return {"type": "image_url", "image_url": {"url": held.get("image"), "detail": held.get("detail")}}
    return part


def tools(listed_tools: Json) -> list[Item]:
    """The items of the tools that a model was offered."""
    return [Item(blocks.make(TOOL, tool), Place("tools")) for tool in objects(listed_tools)]


def usage(report: Json) -> Usage | None:
    """Usage as Inspect notes it. Whether the input includes what the cache held differs between its providers and
    versions; the total tells."""
    held = obj(report)
    if "input_tokens" not in held and "output_tokens" not in held:
        return None
    given, output = count(held.get("input_tokens")), count(held.get("output_tokens"))
    read, written = count(held.get("input_tokens_cache_read")), count(held.get("input_tokens_cache_write"))
    total = count(held.get("total_tokens"))
    apart = total >= given + output + read + written > given + output or read + written > given
    return Usage(
        fresh=given if apart else given - read - written,
        cache_read=read,
        write_5m=written,
        output=output,
        reasoning=count(held.get("reasoning_tokens")),
        has_cache="input_tokens_cache_read" in held,
        cost=money(held.get("total_cost")),
    )
