"""Computes where the cache breakpoints of a request move under edits.

Sending, pricing and simulating all use this module, so that they agree. If the block with a breakpoint is removed, its
breakpoint moves to the nearest earlier block that may carry one; otherwise the end of the request, which clients mark,
would be neither written to the cache nor read. Two breakpoints that meet on one block become one: the first, which has
the longer lifetime (facts §2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from ctxtui.core.block import Item
from ctxtui.curation.apply.applied import RAW, Applied, Position
from ctxtui.wire.cache_markers import takes_marker

Place = TypeVar("Place")
Life = TypeVar("Life")


def find_carrier(back: Iterable[tuple[Place, Item]], dialect: str) -> Place | None:
    """The first in `back` (blocks, last to first) that may carry a breakpoint; None if none may."""
    return next((place for place, item in back if takes_marker(item, dialect)), None)


def markers_under_edits(applied: Applied, had: Mapping[Position, Life]) -> dict[Position, Life]:
    """The remaining breakpoints of a request under edits, with their lifetimes, in prompt order.

    `had` are the breakpoints of the raw request. Those that an edit removes are left out; those that an edit sets are
    not added: the caller merges them from `Applied.marks`. A breakpoint on an unchanged block stays even if our rules
    would not allow it: the client set it.
    """
    markers: dict[Position, Life] = {}
    for position in sorted(had):
        if is_off(applied, position):
            continue
        is_unchanged = position[1] == RAW and position[0] not in applied.changes
        place = position if is_unchanged else find_carrier(_items_before(applied, position), applied.context.dialect)
        if place is not None and not is_off(applied, place):
            markers.setdefault(place, had[position])
    return markers


def is_off(applied: Applied, position: Position) -> bool:
    """Whether an edit removes the breakpoint at `position`."""
    edit = applied.marks.get(position[0]) if position[1] == RAW else None
    return edit is not None and edit.params.get("on") is False


def _items_before(applied: Applied, position_from: Position) -> Iterator[tuple[Position, Item]]:
    """The items to be sent, backwards from the one at `position_from`."""
    new = inserted_items(applied)
    items, changes = applied.context.items, applied.changes
    first, first_index = position_from
    for position in range(min(first, len(items)), -1, -1):
        if position < len(items) and (position < first or first_index == RAW):
            change = changes.get(position)
            if change is None:
                yield (position, RAW), items[position]
            elif change.after is not None:
                yield (position, RAW), Item(change.after, items[position].place)
        inserted = new.get(position, [])
        last = len(inserted) - 1 if position < first else min(first_index, len(inserted) - 1)
        for order in range(last, -1, -1):
            yield (position, order), inserted[order]


def inserted_items(applied: Applied) -> dict[int, list[Item]]:
    """The items that edits insert, by the raw position that they precede."""
    items: dict[int, list[Item]] = {}
    for insert in applied.inserts:
        items.setdefault(insert.position, []).extend(insert.items)
    return items
