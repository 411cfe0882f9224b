"""Adapt a skeleton to edited blocks; others keep their spelling and cache breakpoints.

A skeleton is a request body without its blocks; it records where their spelling differs from the body's usual style.
Elements (a message, a tool, a system text) and their oddities are described in `codec.element`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ctxtui.core.block import HEADER, Item
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.sequence_diff import align as align_sequences
from ctxtui.wire.codec.check_skeleton import malformed_on_mismatch
from ctxtui.wire.codec.element import Oddity, Slot
from ctxtui.wire.codec.frame import Frame
from ctxtui.wire.codec.skeleton import (
    OBJECT,
    RAW,
    STRING,
    element_size,
    group_elements,
    markers_json,
    pieces_at,
    read_markers,
    read_styles,
)
from ctxtui.wire.codec.style import Style
from ctxtui.wire.grammar import Grammar, Section
from ctxtui.wire.parts import WireMarker


class _SectionItems(NamedTuple):
    """A section with the indexes of its items before and after the edit."""

    section: Section
    old: list[int]
    new: list[int]


def realign(skeleton: Skeleton, grammar: Grammar, old: Sequence[Item], new: Sequence[Item]) -> Skeleton:
    """Adapt the skeleton of a body from items `old` to `new`. Raises `Malformed` if it does not fit `old`."""
    with malformed_on_mismatch():
        return _realign(skeleton, grammar, old, new)


def _realign(skeleton: Skeleton, grammar: Grammar, old: Sequence[Item], new: Sequence[Item]) -> Skeleton:
    parts = dict(skeleton.parts)
    frame = Frame.from_json(parts["frame"])
    origins = align(old, new)
    first, count = parts.pop("carried", (0, 0))
    if count:
        start = next((n for n, o in enumerate(origins) if o == first), -1)
        if start >= 0 and origins[start : start + count] == list(range(first, first + count)):
            parts["carried"] = [start, count]
            old, new = _without_range(old, first, count), _without_range(new, start, count)
        else:
            # The edit changes context that the provider kept, so the whole context must be sent.
            frame, old = frame.without("previous_response_id"), _without_range(old, first, count)
        origins = align(old, new)
    markers = _move_markers(read_markers(parts), old, new, origins)
    parts.pop("marks", None)
    if markers:
        parts["marks"] = markers_json(markers)
    sections: dict[str, Json] = {}
    style = read_styles(parts)[0]
    for section in _sections_in_use(grammar, frame):
        section_items = _SectionItems(section, _indexes(section, old), _indexes(section, new))
        frame, section_parts = _realign_section(section_items, parts, frame, style, (old, new, origins))
        if section_parts:
            sections[section.key] = section_parts
    parts.pop("sections", None)
    if sections:
        parts["sections"] = sections
    return Skeleton(skeleton.dialect, {**parts, "frame": frame.to_json()})


def _without_range(items: Sequence[Item], first: int, count: int) -> list[Item]:
    return [*items[:first], *items[first + count :]]


def _indexes(section: Section, items: Sequence[Item]) -> list[int]:
    return [n for n, item in enumerate(items) if item.place.section == section.name]


def _move_markers(
    markers: dict[int, tuple[WireMarker, ...]], old: Sequence[Item], new: Sequence[Item], origins: Sequence[int | None]
) -> dict[int, tuple[WireMarker, ...]]:
    replacements = find_replacements(old, new, origins)
    sources = {n: o if o is not None else replacements.get(n, -1) for n, o in enumerate(origins)}
    return {n: markers[source] for n, source in sources.items() if source in markers}


def _sections_in_use(grammar: Grammar, frame: Frame) -> list[Section]:
    """One section per place: the one whose key the body has, else the first."""
    chosen: dict[str, Section] = {}
    for section in grammar.sections:
        if section.name not in chosen or frame.index(section.key) is not None:
            chosen[section.name] = section
    return list(chosen.values())


_ItemsEdit = tuple[Sequence[Item], Sequence[Item], Sequence[int | None]]
"""Old items, new items, and for each new one the index of the same old one, or None."""


def _realign_section(
    section_items: _SectionItems, parts: Json, frame: Frame, style: Style, edit: _ItemsEdit
) -> tuple[Frame, dict[str, Json]]:
    section = section_items.section
    before: dict[str, Json] = parts.get("sections", {}).get(section.key, {})
    _, new, origins = edit
    same = [origins[n] for n in section_items.new] == section_items.old and len(section_items.new) == len(
        section_items.old
    )
    if same:
        return frame, before
    index = frame.index(section.key)
    if before.get("form") == RAW or (index is None and section_items.new):
        frame, index = _add_section(section, frame, style)
        before = {}
    if not section_items.new and index is not None and not section.required:
        return frame.without(section.key), {}
    if before.get("form") == STRING:
        pieces = pieces_at([(n, new[n]) for n in section_items.new], read_markers(parts))
        if section.is_string is not None and section.is_string(pieces):
            return frame, {"form": STRING}
        before = {}
    section_parts: dict[str, Json] = {key: before[key] for key in ("gaps", "form") if key in before}
    odd, count = _section_oddities(section_items, before.get("odd", {}), edit)
    if section_parts.get("form") == OBJECT and count != 1:
        start, end = before["gaps"]
        section_parts = {"gaps": [start + "[", "]" + end]}
    if odd:
        section_parts["odd"] = odd
    return frame, section_parts


def _add_section(section: Section, frame: Frame, style: Style) -> tuple[Frame, int | None]:
    frame = frame.without(section.key)
    places = [frame.index(key) for key in ("messages", "input", "contents")]
    before = [place for place in places if place is not None and section.name != "messages"]
    at = before[0] if before else len(frame.entries)
    frame = frame.with_section(section.key, style, at)
    return frame, frame.index(section.key)


def _section_oddities(
    section_items: _SectionItems, before: dict[str, Oddity], edit: _ItemsEdit
) -> tuple[dict[str, Oddity], int]:
    old, new, origins = edit
    kinds = [old[n].block.kind for n in section_items.old]
    ranges = group_elements(section_items.section, kinds, before)
    old_elements = {
        section_items.old[i]: (number, i - indexes.start) for number, indexes in enumerate(ranges) for i in indexes
    }
    sizes = [len(indexes) for indexes in ranges]
    oddities: dict[str, Oddity] = {}
    after = [new[n].block.kind for n in section_items.new]
    at = 0
    elements = _group_items(section_items, new, origins, old_elements)
    for number, members in enumerate(elements):
        element_origins = [old_elements.get(o) if (o := origins[n]) is not None else None for n in members]
        oddity = _element_oddity(element_origins, before, sizes)
        if oddity or element_size(section_items.section, after, at) != len(members):
            oddities[str(number)] = {**oddity, "size": len(members)}
        at += len(members)
    return oddities, len(elements)


_OldElements = dict[int, tuple[int, int]]
"""The element of each old item, and the item's index in it."""


def _group_items(
    section_items: _SectionItems, new: Sequence[Item], origins: Sequence[int | None], old_elements: _OldElements
) -> list[list[int]]:
    """Group the new items into elements."""
    # An element begins at the first block of an old element, or at a new block that can begin one. In a merged section
    # it begins where blocks of another old element follow.
    groups: list[list[int]] = []
    element = -1
    for n in section_items.new:
        origin = origins[n]
        kind = new[n].block.kind
        if section_items.section.merged:
            begins = origin is not None and old_elements[origin][0] != element
            element = old_elements[origin][0] if origin is not None else element
        else:
            begins = (
                old_elements[origin][1] == 0
                if origin is not None
                else kind == HEADER or section_items.section.bare(kind)
            )
        if begins or not groups:
            groups.append([])
        groups[-1].append(n)
    return groups


def _element_oddity(
    origins: Sequence[tuple[int, int] | None], before: dict[str, Oddity], sizes: Sequence[int]
) -> Oddity:
    """Spelling that a new element keeps from the old elements that its blocks come from.

    `origins`: for each block of the new element, the old element and the index in that (None: a new block); `before`,
    `sizes`: the old elements' oddities, and their numbers of blocks.
    """
    old_origins = [origin for origin in origins if origin is not None]
    if not old_origins:
        return {}
    number = old_origins[0][0]
    if list(origins) == [(number, i) for i in range(sizes[number])]:
        return before.get(str(number), {})
    spell: dict[str, Json] = {}
    for n, origin in enumerate(origins):
        slot = _find_slot(before.get(str(origin[0]), {}), origin[1]) if origin else None
        if slot is not None:
            spell[str(n)] = [n, *slot[1:]]
    style = before.get(str(number), {}).get("style")
    return {"spell": spell} if spell else {"style": style} if style else {}


def _find_slot(odd: Oddity, index: int) -> Slot | None:
    """The slot of the block at `index` of an old element; None if it has the body's style."""
    slots = odd.get("spell", {}).values() or [p for p in odd.get("pieces", ()) if not isinstance(p, str)]
    return next((slot for slot in slots if slot[0] == index and slot[1] != 0), None)


_Key = tuple[str, str, str]


def _alignment_key(item: Item) -> _Key:
    return item.block.digest, item.place.section, item.place.role


def align(old: Sequence[Item], new: Sequence[Item]) -> list[int | None]:
    """Map each new item to the index of the same old item, or None for a new one; order is kept."""
    # Items that occur once are matched first. Headers are alike: an inserted one would otherwise match the header of a
    # later message and take everything between with it.
    a, b = [_alignment_key(item) for item in old], [_alignment_key(item) for item in new]
    origins: list[int | None] = []
    for (start, end), (first, last) in align_sequences(a, b):
        if a[start:end] == b[first:last]:
            origins += range(start, end)
        else:
            origins += _match_in_order(a, b, range(start, end), range(first, last))
    return origins


def _match_in_order(a: Sequence[_Key], b: Sequence[_Key], old: range, new: range) -> list[int | None]:
    places: dict[_Key, list[int]] = {}
    for n in old:
        places.setdefault(a[n], []).append(n)
    origins: list[int | None] = []
    last = old.start - 1
    for n in new:
        options = places.get(b[n], [])
        at = bisect_right(options, last)
        last = options[at] if at < len(options) else last
        origins.append(last if at < len(options) else None)
    return origins


def find_replacements(old: Sequence[Item], new: Sequence[Item], origins: Sequence[int | None]) -> dict[int, int]:
    """Map new items to the old items that they replace at the same position, by index."""
    pairs: dict[int, int] = {}
    n, before = 0, -1
    while n < len(new):
        origin = origins[n]
        if origin is not None:
            n, before = n + 1, origin
            continue
        end = n
        while end < len(new) and origins[end] is None:
            end += 1
        after = origins[end] if end < len(new) else len(old)
        if after is not None and after - before - 1 == end - n:
            pairs |= {i: before + 1 + i - n for i in range(n, end)}
        n = end
    return {i: j for i, j in pairs.items() if new[i].place.section == old[j].place.section}
