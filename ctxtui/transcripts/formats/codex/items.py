"""Items of the Responses API in a rollout -> blocks at their places, as ``wire`` reads them in a request."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ctxtui.core import block_content, canonical
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit import raw_block
from ctxtui.wire.grammars import item_role, split_item

MEMORY, META, SUMMARY = "memory", "meta", "summary"

_UNSENT: Final = frozenset({"ghost_snapshot"})
"""Items that the client keeps for itself."""
# The client's own messages are wrapped in one tag; the project's instructions have a headline.
_WRAPPED: Final = re.compile(r"\s*<([a-zA-Z_]+)(?:\s[^>]*)?>.*</\1>\s*\Z", re.DOTALL)
_MEMORIES: Final = ("# AGENTS.md instructions", "<user_instructions>")
_SUMMARIES: Final = ("Another language model started to solve this problem",)


class _Head(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    id: str | None = None
    call_id: str | None = None


_head: Final = msgspec.json.Decoder(_Head)


@dataclass(slots=True)
class CodexMessage:
    """One item: its blocks, whether the model wrote it, and what tells it apart (a provider's id, "" for none).

    `words` are what a person said in it.
    """

    items: list[Item] = field(default_factory=list)
    by_model: bool = False
    answers: bool = False
    id: str = ""
    words: str = ""


def said(raw: bytes, clean: bool) -> CodexMessage:
    """The item whose JSON text is `raw`, canonical if `clean`."""
    try:
        head = _head.decode(raw)
        if clean and head.type not in (None, "message") and head.role is None and head.type not in _UNSENT:
            place = Place("messages", item_role(head.type or "", {}))
            return _outside(Item(raw_block.of_part(raw, head.type or "", True), place), head.id, head.call_id)
    except msgspec.MsgspecError:
        pass
    return of_value(canonical.loads(raw))


def of_value(value: Json) -> CodexMessage:
    """The item that the JSON `value` is."""
    kind = value.get("type", "message") if isinstance(value, dict) else ""
    if isinstance(kind, str) and kind in _UNSENT:
        return CodexMessage()
    items = [part.item for part in split_item(value, "$")]
    if not items or items[0].block.kind != HEADER:
        known = value if isinstance(value, dict) else {}
        return _outside(items[0], known.get("id"), known.get("call_id"))
    role = items[0].place.role
    found = CodexMessage([items[0]], by_model=role == "assistant", id=_id(value.get("id")))
    for item in items[1:]:
        words = block_content.read(item.block).text if role == "user" else ""
        mark = mark_of(words)
        found.items.append(Item(item.block, item.place._replace(mark=mark)) if mark else item)
        if words and not mark:
            found.words = found.words or words
    return found


def _outside(item: Item, id_: Json, call_id: Json) -> CodexMessage:
    role = item.place.role
    return CodexMessage([item], by_model=role == "assistant", answers=role == "tool", id=_id(call_id) or _id(id_))


def _id(value: Json) -> str:
    # A masked recording may have one word for every id.
    return value if isinstance(value, str) and len(value) >= 16 else ""


def mark_of(words: str) -> str:
    """The mark of a user's text: what the client put there is no person's."""
    start = words.lstrip()
    if start.startswith(_MEMORIES):
        return MEMORY
    if start.startswith(_SUMMARIES):
        return SUMMARY
    return META if start.startswith("<") and _WRAPPED.match(words) else ""
