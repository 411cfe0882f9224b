"""The place of memory in a context: a message of its own, first or last, marked as memory and as a breakpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.speech import Attachment, user_message

MARK: Final = "memory"
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_SYSTEM: Final = frozenset({"system", "developer"})


class MemoryPlace(Struct, frozen=True):
    """The `texts` of memory and where they stand: `first` in front of the talk, else behind the user's last words.
    `marker` (a member of a block) asks the provider to cache up to them; None: it is not asked. `binds`: thinking is
    bound to what stands before it, and goes when that changes. The first `stable` texts seldom change."""

    texts: tuple[str, ...] = ()
    first: bool = True
    marker: Mapping[str, Json] | None = None
    binds: bool = False
    stable: int = 0


def with_memory(tree: Tree, head: int, dialect: str, said: Sequence[Item], memory: MemoryPlace) -> int:
    """The context `head` with what the user `said` behind it, and memory as it is now in place of what it was."""
    own = tuple(Attachment(block.text(text), MARK) for text in memory.texts)
    message = user_message(dialect, "", own) if own else ()
    path = tree.items(head)
    talk = [item for item in path if item.place.mark != MARK]
    start = next((n for n, item in enumerate(talk) if _begins(item)), len(talk)) if memory.first else len(talk)
    if memory.first:
        items = [*talk[:start], *message, *talk[start:], *said]
    else:
        items = [*talk, *said, *message]
    if memory.binds:
        items = _unbound(path, items)
    return tree.extend(ROOT, items)


def _begins(item: Item) -> bool:
    """Whether the talk begins here: behind tools and system texts, also those that are messages."""
    return item.place.section == "messages" and item.place.role not in _SYSTEM


def _unbound(before: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """`items` without the thinking behind the first place where they are no longer as `before`."""
    same = 0
    for a, b in zip(before, items, strict=False):
        if a != b:
            break
        same += 1
    if same == len(before):
        return list(items)
    return [*items[:same], *(item for item in items[same:] if item.block.kind not in _THINKING)]


def marked_at(items: Sequence[Item], memory: MemoryPlace) -> list[int]:
    """The places in `items` up to which the provider is asked to cache: the last block of memory, and where memory
    stands first what seldom changes in front of it (`stable` texts, else the system text), so that a change of memory
    loses no more than memory."""
    if memory.marker is None:
        return []
    places = [n for n, item in enumerate(items) if item.place.mark == MARK and item.block.kind != HEADER]
    if not places or not memory.first:
        return places[-1:]
    if 0 < memory.stable < len(places):
        return [places[memory.stable - 1], places[-1]]
    # Elsewhere a system text may be a plain string, which carries no marker.
    may = memory.stable == 0 and "cache_control" in memory.marker
    system = [n for n, item in enumerate(items) if may and item.place.section == "system"]
    return [*system[-1:], places[-1]]
