"""Converts messages as clients store them to items (blocks with their places).

Parts in a client's own spelling are converted to Anthropic's, which all later code knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import ASSISTANT, HEADER, Block, Item, Place
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_str
from ctxtui.core.session import Event, Skipped
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.wire.grammar import CHAT_SHAPE, split_item
from ctxtui.wire.message import LIST, BlockField, Shape, split_message
from ctxtui.wire.parts import json_type_name

_SENT_KEYS: Final = (
    "role", "content", "name", "reasoning_content", "reasoning", "refusal", "audio", "thinking_blocks", "tool_calls",
    "function_call", "tool_call_id",
)  # fmt: skip
# LiteLLM keeps Anthropic's thinking next to its own form of it.
_SHAPE: Final = Shape((BlockField("thinking_blocks", "thinking", LIST, first=True), *CHAT_SHAPE.fields))

CallLookup = Callable[[dict[str, Json]], Call | None]
"""Returns the recorded fields of the call that generated a message; None if no call did (a message of an example)."""


def message_items(message: dict[str, Json], path: str = "$") -> list[Item]:
    """Convert a message, or an OpenAI Responses item, to items without the client's own members."""
    if "role" not in message and isinstance(message.get("type"), str):
        return [part.item for part in split_item(message, path)]
    api_members: dict[str, Json] = {
        key: message[key] for key in _SENT_KEYS if key in message and (message[key] is not None or key == "content")
    }
    if api_members.get("thinking_blocks"):
        api_members.pop("reasoning_content", None)
    calls = api_members.get("tool_calls")
    if isinstance(calls, list):
        api_members["tool_calls"] = [_without_index(call) for call in calls]
    return [part.item for part in split_message(api_members, path, _SHAPE)]


def _without_index(call: Json) -> Json:
    return {key: item for key, item in call.items() if key != "index"} if isinstance(call, dict) else call


def make_message(role: str, *parts: Json, mark: str = "") -> list[Item]:
    """Build the items of a message, header first, from content parts; a plain string is a text.

    `mark` (``meta``, ``summary``, ...) says that the client inserted it; "": it did not.
    """
    place = Place("messages", role, mark)
    message_blocks = [blocks.text(part) if isinstance(part, str) else blocks.from_part(part) for part in parts]
    return [Item(blocks.header(role), place), *(Item(block, place) for block in message_blocks)]


def make_parts(role: str, *parts: Json) -> list[Item]:
    """Like `make_message`, without the header."""
    return [item for item in make_message(role, *parts) if item.block.kind != HEADER]


def add_messages(
    dialogue: Dialogue, messages: Iterable[Json], find_call: CallLookup, path: str = "$.messages"
) -> Iterator[Event]:
    """Add `messages` to `dialogue`; those for which `find_call` returns a call become calls."""
    for n, message in enumerate(messages):
        yield from add_message(dialogue, message, find_call, f"{path}[{n}]")


def add_message(dialogue: Dialogue, message: Json, find_call: CallLookup, path: str) -> Iterator[Event]:
    """Add one message, at JSON `path`, to `dialogue`."""
    if not isinstance(message, dict):
        yield Skipped(1, f"a message is {json_type_name(message)}, not an object @ {path}")
        return
    call = find_call(message) if as_str(message.get("role")) in ASSISTANT else None
    if call is None:
        dialogue.add(message_items(message, path))
    else:
        yield dialogue.add_call(message_items(message, path), call)


RESULT: Final = "tool_result"
"""Kind of a tool result's block."""


def text(words: Json, /, **other_members: Json) -> dict[str, Json]:
    return {"type": "text", "text": words, **other_members}


def thinking(words: str, signature: Json = None, /, **rest: Json) -> dict[str, Json]:
    """Build visible reasoning; `signature` is what the provider requires back with it."""
    return {"type": "thinking", "thinking": words, **({"signature": signature} if signature else {}), **rest}


def tool_use(id_: Json, name: Json, arguments: Json, /, **rest: Json) -> dict[str, Json]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments, **rest}


def tool_result(id_: Json, content: Json, /, error: bool = False, **rest: Json) -> dict[str, Json]:
    """Build a tool result; `content` that is neither a string nor a list becomes JSON text."""
    result_content = content if isinstance(content, str | list) else canonical.dump_text(content)
    return {
        "type": RESULT,
        "tool_use_id": id_,
        "content": result_content,
        **({"is_error": True} if error else {}),
        **rest,
    }


def image(media_type: str, data: Json, /, **rest: Json) -> dict[str, Json]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}, **rest}


def result_items(dialogue: Dialogue, parts: list[dict[str, Json]]) -> list[Item]:
    """Build the items of tool results, in the same message as directly preceding results."""
    last: Block = dialogue.tree[dialogue.head].block
    return make_parts("user", *parts) if last.kind == RESULT else make_message("user", *parts)
