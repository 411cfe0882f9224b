"""Where the cache markers of a request stand once edits are applied to it. Whoever sends a request, prices it or
simulates it asks here.

The marker of a block that is out goes to the nearest block before it that may carry one: without it what a client marks
as the end of its request would neither be written nor read. It never becomes more than one: two that come to the same
block are one, the first of them, which lives the longer (facts §2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from ctxtui.core.block import Item
from ctxtui.curation.apply.applied import RAW, Applied, Edge
from ctxtui.wire.cache_markers import takes_marker

Place = TypeVar("Place")
Life = TypeVar("Life")


def carrier(back: Iterable[tuple[Place, Item]], dialect: str) -> Place | None:
    """Which of the blocks that leave, told from the last one `back`, carries a marker that stood behind them; None
    where none may."""
    return next((place for place, item in back if takes_marker(item, dialect)), None)


def standing_markers(applied: Applied, had: Mapping[Edge, Life]) -> dict[Edge, Life]:
    """The markers that a request `had`, with their lifetimes, as they stand under the edits, in prompt order; those
    that a breakpoint edit takes off are not among them. On a block that nobody changed a marker is its client's own
    business."""
    found: dict[Edge, Life] = {}
    for edge in sorted(had):
        if is_off(applied, edge):
            continue
        own = edge[1] == RAW and edge[0] not in applied.changes
        place = edge if own else carrier(_back(applied, edge), applied.context.dialect)
        if place is not None and not is_off(applied, place):
            found.setdefault(place, had[edge])
    return found


def is_off(applied: Applied, edge: Edge) -> bool:
    """Whether a breakpoint edit takes the marker of a block off."""
    edit = applied.marks.get(edge[0]) if edge[1] == RAW else None
    return edit is not None and edit.params.get("on") is False


def _back(applied: Applied, edge: Edge) -> Iterator[tuple[Edge, Item]]:
    """What leaves, from `edge` back."""
    new = put_in(applied)
    items, changes = applied.context.items, applied.changes
    first, behind = edge
    for position in range(min(first, len(items)), -1, -1):
        if position < len(items) and (position < first or behind == RAW):
            change = changes.get(position)
            if change is None:
                yield (position, RAW), items[position]
            elif change.after is not None:
                yield (position, RAW), Item(change.after, items[position].place)
        there = new.get(position, [])
        last = len(there) - 1 if position < first else min(behind, len(there) - 1)
        for order in range(last, -1, -1):
            yield (position, order), there[order]


def put_in(applied: Applied) -> dict[int, list[Item]]:
    """What edits put in, by the raw position before which it stands."""
    found: dict[int, list[Item]] = {}
    for one in applied.inserts:
        found.setdefault(one.position, []).extend(one.items)
    return found
