"""Content parts for clients that spell them their own way: in Anthropic's spelling, which every reading knows.

What such a part holds beyond is kept in it under its own name.
"""

from __future__ import annotations

from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.chat_messages import more, spoken
from ctxtui.transcripts.kit.dialogue import Dialogue

RESULT: Final = "tool_result"


def text(words: Json, **rest: Json) -> dict[str, Json]:
    """Words of either side."""
    return {"type": "text", "text": words, **rest}


def thinking(words: str, signature: Json = None, **rest: Json) -> dict[str, Json]:
    """Visible reasoning; `signature` is what the provider wants back with it."""
    return {"type": "thinking", "thinking": words, **({"signature": signature} if signature else {}), **rest}


def tool_use(id_: Json, name: Json, given: Json, **rest: Json) -> dict[str, Json]:
    """A call of a tool with its input."""
    return {"type": "tool_use", "id": id_, "name": name, "input": given, **rest}


def tool_result(id_: Json, content: Json, error: bool = False, **rest: Json) -> dict[str, Json]:
    """What a tool gave back: a string, or a list of content parts."""
    said = content if isinstance(content, str | list) else canonical.text_of(content)
    return {"type": RESULT, "tool_use_id": id_, "content": said, **({"is_error": True} if error else {}), **rest}


def image(media_type: str, data: Json, **rest: Json) -> dict[str, Json]:
    """A picture in base64."""
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}, **rest}


def results(dialogue: Dialogue, parts: list[dict[str, Json]]) -> list[Item]:
    """The items of tool results: in the message of those before them, where that is what stands last."""
    last: Block = dialogue.tree[dialogue.head].block
    return more("user", *parts) if last.kind == RESULT else spoken("user", *parts)
