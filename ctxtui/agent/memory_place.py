"""Places memory (texts of the agent's memory files) in a context, and its cache breakpoints.

Memory is a user message before the conversation or after the last user message; its blocks are marked as memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.speech import Attachment, user_message
from ctxtui.wire.translate.turns import SYSTEM

MARK: Final = "memory"
"""The mark (`Place.mark`) of memory blocks."""
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


class MemoryPlace(Struct, frozen=True):
    """The `texts` of memory and their position in the context.

    - `first`: before the conversation; otherwise after the last user message.
    - `marker`: the member of a block that asks the provider to cache up to it (None: no block gets it).
    - `binds`: the provider refuses thinking if the context before it changed, so that it is dropped then.
    - `stable`: number of texts at the beginning that seldom change.
    """

    texts: tuple[str, ...] = ()
    first: bool = True
    marker: Mapping[str, Json] | None = None
    binds: bool = False
    stable: int = 0


def with_memory(tree: Tree, head: int, dialect: str, user_items: Sequence[Item], memory: MemoryPlace) -> int:
    """Append the message `user_items` to the context `head` and replace its memory.

    Returns the new head.
    """
    memory_blocks = tuple(Attachment(block.text(text), MARK) for text in memory.texts)
    message = user_message(dialect, "", memory_blocks) if memory_blocks else ()
    path = tree.items(head)
    rest = [item for item in path if item.place.mark != MARK]
    if memory.first:
        messages = (n for n, item in enumerate(rest) if item.place.section == "messages")
        start = next((n for n in messages if rest[n].place.role not in SYSTEM), len(rest))
        items = [*rest[:start], *message, *rest[start:], *user_items]
    else:
        items = [*rest, *user_items, *message]
    if memory.binds:
        items = _without_unbound_thinking(path, items)
    return tree.extend(ROOT, items)


def _without_unbound_thinking(before: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """Leave out the thinking in `items` after the first difference from `before`."""
    same = 0
    for a, b in zip(before, items, strict=False):
        if a != b:
            break
        same += 1
    if same == len(before):
        return list(items)
    return [*items[:same], *(item for item in items[same:] if item.block.kind not in _THINKING)]


def breakpoint_positions(items: Sequence[Item], memory: MemoryPlace) -> list[int]:
    """Positions of cache breakpoints: the last of memory, and the last that seldom changes.

    The latter exists only if memory comes first: the last of its `stable` texts, or without these, Anthropic's system
    text.
    """
    if memory.marker is None:
        return []
    places = [n for n, item in enumerate(items) if item.place.mark == MARK and item.block.kind != HEADER]
    if not places or not memory.first:
        return places[-1:]
    if 0 < memory.stable < len(places):
        return [places[memory.stable - 1], places[-1]]
    # In other dialects a system text may be a plain string, which carries no breakpoint.
    takes_marker = memory.stable == 0 and "cache_control" in memory.marker
    system = [n for n, item in enumerate(items) if takes_marker and item.place.section == "system"]
    return [*system[-1:], places[-1]]
