"""What Claude Code does to a context by itself: compaction (a summary instead), microcompaction (results cleared)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ctxtui.core import block
from ctxtui.core.block import Item
from ctxtui.core.call import EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.claude_code.message_chain import Anchor, ApiResponse, Point, append, context, under
from ctxtui.transcripts.kit.fields import count

CLEARED: Final = "[Old tool result content cleared]"
"""What the client sends instead of a tool result that it cleared."""


def after_compaction(metadata: Json) -> Anchor:
    """The start of the context after a compact boundary (or a summary without one)."""
    trigger = metadata.get("trigger") if isinstance(metadata, Mapping) else None
    return Anchor(
        began=EpochStart.COMPACTION,
        tokens_before=_count(metadata, "preTokens"),
        trigger=trigger if isinstance(trigger, str) else "",
    )


def after_microcompaction(tree: Tree, point: Point, metadata: Json) -> Anchor:
    """The context at `point` with the results cleared that the boundary's `metadata` names."""
    listed = metadata.get("compactedToolIds") if isinstance(metadata, Mapping) else None
    ids = {one for one in listed if isinstance(one, str)} if isinstance(listed, list) else set()
    items = [_cleared(item, ids) for item in tree.items(context(tree, point))]
    # The boundary's own figure counts tool results only; the last call's input says what the context was.
    return Anchor(append(tree, ROOT, items), EpochStart.MICROCOMPACTION, front=point.anchor.front)


def _cleared(item: Item, ids: set[str]) -> Item:
    if item.block.kind != "tool_result" or not ids:
        return item
    value = item.block.value()
    if value.get("tool_use_id") not in ids:
        return item
    return Item(block.make("tool_result", {**value, "content": CLEARED}), item.place)


def kept_items(tree: Tree, points: Mapping[str, Point], metadata: Json) -> tuple[str, list[Item]]:
    """The messages that a compaction kept word for word, and the record (uuid) that they follow; ("", []) if none.

    The client names the first and the last record of the kept stretch; both stand before the boundary in the file.
    """
    segment = metadata.get("preservedSegment") if isinstance(metadata, Mapping) else None
    if not isinstance(segment, Mapping):
        return "", []
    first, last = points.get(str(segment.get("headUuid"))), points.get(str(segment.get("tailUuid")))
    if first is None or last is None:
        return "", []
    end = context(tree, last)
    before = under(tree, last.anchor.front, _context_before(tree, first), first.anchor.front)
    if before and not tree.holds(end, before):
        return "", []
    return str(segment.get("anchorUuid")), tree.items(end, before)


def _context_before(tree: Tree, point: Point) -> int:
    if point.up is not None:
        return context(tree, point.up)
    if isinstance(point.anchor, ApiResponse) and not point.items:
        return point.anchor.context
    return context(tree, Point(point.anchor))


def _count(metadata: Json, key: str) -> int:
    found = metadata.get(key) if isinstance(metadata, Mapping) else None
    return count(found)
