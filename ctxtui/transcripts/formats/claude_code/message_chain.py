"""Rebuilds the contexts of a Claude Code session along the chain of records.

Each record names the record before it (``parentUuid``), and becomes a `Point`. Points after the same answer share an
`Anchor`. Parallel calls fork the chain of records, but not the context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Final

from msgspec import Struct

from ctxtui.core import block
from ctxtui.core.block import Block, Item, message_place
from ctxtui.core.call import EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count
from ctxtui.core.tree import ROOT, Tree

PASSING: Final = "passing"
"""A point that adds nothing: progress, hooks."""
SAID: Final = "said"
"""A point with user text, a summary, or an answer's text that the client wrote."""
CLIENT: Final = "client"
"""A point with text that the client inserted (reminders, attachments, notices)."""
RESULT: Final = "result"
"""A point with tool results and no user text."""


@dataclass(slots=True, eq=False)
class Anchor:
    """A position from which contexts continue: an answer, or the start of a context.

    - `head`: the context there.
    - `results`: results of the calls made in it; `latest`: the time of the newest (Unix seconds).
    - `sides`: texts that belong to later contexts, though later records need not descend from them.
    - `front`: the node of the system prompt and tools under `head`; `ROOT`: not recorded.
    - `rendered`: whether it has attachments whose position in a request differs from that in the file.
    - `version`: grows with every change.

    For an anchor that is no answer: `began` is why a context starts here, `tokens_before` the recorded size of the
    previous context (0: not recorded), `trigger` who started a compaction (``auto``, ``manual``, ``idle``; "": not
    recorded), `used` whether a call has continued from it.
    """

    head: int = ROOT
    began: EpochStart | None = None
    tokens_before: int = 0
    _: KW_ONLY
    used: bool = False
    trigger: str = ""
    results: tuple[Item, ...] = ()
    sides: tuple[Point, ...] = ()
    latest: float | None = None
    version: int = 1
    front: int = ROOT
    rendered: bool = False


@dataclass(slots=True, eq=False)
class ApiResponse(Anchor):
    """One API response.

    - `request_point`: the point where its request ended; `context`: the context that it answers.
    - `waiting`: number of its tool calls without a result.
    - `least`: minimum tokens of its first `weighed` blocks.
    - `contents`: JSON texts of its records while its blocks are not built.
    """

    id: str = ""
    _: KW_ONLY
    request_point: Point | None = None
    context: int = ROOT
    waiting: int = 0
    weighed: int = 0
    least: int = 0
    contents: tuple[bytes, ...] = ()

    def blocks(self, tree: Tree, start: int = 0) -> list[Block]:
        return [tree[node].block for node in tree.path(self.head, self.context)[start:]]


class Point(Struct, eq=False):
    """A record's position in the chain.

    - `anchor`: what it continues from; `up`: the point that it follows under the same anchor.
    - `items`: what the record adds to the context; `rendered`: an attachment as it was sent.
    - `root`: the result that it follows (a `RESULT` point is its own root).
    - `order`: number of the record; 0 if it cannot add anything. `at`: its time (Unix seconds).
    - `head`, `version`: cache of the last built context.
    """

    anchor: Anchor
    up: Point | None = None
    kind: str = PASSING
    items: tuple[Item, ...] = ()
    order: int = 0
    at: float | None = None
    root: Point | None = None
    rendered: bool = False
    head: int = ROOT
    version: int = 0


def add_point(
    point: Point, order: int, at: float | None, kind: str, items: Iterable[Item] = (), rendered: bool = False
) -> Point:
    """Make the point of a record that follows `point`; the parameters are members of `Point`."""
    added = Point(point.anchor, point, kind, items=tuple(items), order=order, at=at, rendered=rendered)
    point.anchor.rendered = point.anchor.rendered or rendered
    added.root = added if kind == RESULT else point.root
    if kind == CLIENT and added.items and added.root is not None:
        point.anchor.sides += (added,)
        point.anchor.version += 1
    return added


def add_side_point(anchor: Anchor, order: int, at: float | None, items: Iterable[Item]) -> Point:
    """Make a point under `anchor` that is part of every later context (a queued message).

    A context that already has all its items after `anchor` does not get them again.
    """
    added = Point(anchor, None, CLIENT, items=tuple(items), order=order, at=at)
    anchor.sides += (added,)
    anchor.version += 1
    return added


def build_context(tree: Tree, point: Point) -> int:
    """Build the context that a request sent at `point` would have, from the records so far."""
    anchor, version = point.anchor, point.anchor.version
    if anchor.sides or anchor.rendered:
        return _build_with_sides(tree, point)
    if point.version == version:
        return point.head
    added = [point.items] if point.items else []
    ancestor = point.up
    while ancestor is not None and ancestor.version != version:
        if ancestor.items:
            added.append(ancestor.items)
        ancestor = ancestor.up
    head = ancestor.head if ancestor is not None else _results_head(tree, anchor)
    for items in reversed(added):
        head = append_items(tree, head, items)
    point.head, point.version = head, version
    return head


def _build_with_sides(tree: Tree, point: Point) -> int:
    anchor, chain = point.anchor, [point]
    while chain[-1].up is not None:
        chain.append(chain[-1].up)
    arranged = _with_side_points(anchor, chain[::-1])
    items = _order_items(arranged) if anchor.rendered else [item for point in arranged for item in point.items]
    return append_items(tree, _results_head(tree, anchor), items)


def adds_nothing(point: Point) -> bool:
    """Whether the context at `point` is that of its anchor."""
    anchor = point.anchor
    if anchor.results or anchor.sides or anchor.rendered:
        return False
    ancestor: Point | None = point
    while ancestor is not None:
        if ancestor.items:
            return False
        ancestor = ancestor.up
    return True


def _order_items(chain: Iterable[Point]) -> list[Item]:
    ordered: list[Item] = []
    results: list[Item] = []
    texts: list[Item] = []
    user_texts: list[Item] = []
    turn: list[Item] = []

    def close() -> None:
        ordered.extend((*results, *_end_with_newline(texts, user_texts), *user_texts, *_join_texts(turn)))
        for group in (results, texts, user_texts, turn):
            group.clear()

    for point in chain:
        for item in point.items:
            if item.place.role == "assistant":
                close()
                ordered.append(item)
            elif item.place.role == "system":
                turn.append(item)
            elif point.rendered:
                texts.append(item)
            else:
                (results if item.block.kind == "tool_result" else user_texts).append(item)
    close()
    return ordered


def _end_with_newline(texts: list[Item], words: list[Item]) -> list[Item]:
    """End the client's texts with a line end before user text."""
    text = _plain_text(texts[-1]) if texts and words and words[0].block.kind == "text" else ""
    if not text or text.endswith("\n"):
        return texts
    return [*texts[:-1], Item(block.text(text + "\n"), texts[-1].place)]


def _join_texts(turn: list[Item]) -> list[Item]:
    texts = [_plain_text(item) for item in turn]
    if len(texts) < 2 or not all(texts):
        return turn
    return [Item(block.text("\n\n".join(texts)), turn[0].place)]


def _plain_text(item: Item) -> str:
    """Text of a block that is nothing but its text; "" for any other block."""
    value = item.block.value()
    plain = item.block.kind == "text" and isinstance(value, dict) and value.keys() == {"type", "text"}
    return value["text"] if plain and isinstance(value["text"], str) else ""


def _with_side_points(anchor: Anchor, chain: list[Point]) -> list[Point]:
    chain_ids = {id(point) for point in chain}
    chain_digests = {item.block.digest for point in chain for item in point.items}
    missing_sides = [
        side
        for side in anchor.sides
        if id(side) not in chain_ids
        and (side.root is None or id(side.root) not in chain_ids)
        and not (side.root is None and all(item.block.digest in chain_digests for item in side.items))
    ]
    return sorted([*chain, *missing_sides], key=lambda point: point.order) if missing_sides else chain


def _results_head(tree: Tree, anchor: Anchor) -> int:
    return append_items(tree, anchor.head, anchor.results)


@cache
def _header(role: str) -> Item:
    return Item(block.header(role), message_place(role))


def append_items(tree: Tree, head: int, items: Sequence[Item]) -> int:
    """Append `items` to `head`; neighbours of one role form one message with a header."""
    if not items:
        return head
    before = tree[head].place
    role = before.role if before.section == "messages" else ""
    for item_block, place in items:
        if item_block.kind == block.HEADER:
            continue
        if place.role != role:
            role = place.role
            head = tree.child(head, *_header(role))
        head = tree.child(head, item_block, place)
    return head


def with_front(tree: Tree, front: int, head: int, old: int) -> int:
    """Replace the system prompt and tools of `head`, which end at `old`, by those up to `front`."""
    return head if front == old else tree.extend(front, tree.items(head, old))


def newest_time(point: Point) -> float | None:
    """Return the time of the newest record from the anchor up to `point` (Unix seconds)."""
    newest = point.anchor.latest
    for side in point.anchor.sides:
        newest = later_time(newest, side.at)
    ancestor: Point | None = point
    while ancestor is not None:
        newest = later_time(newest, ancestor.at)
        ancestor = ancestor.up
    return newest


def later_time(first: float | None, second: float | None) -> float | None:
    return second if first is None or (second is not None and second > first) else first


def last_prompt_time(point: Point) -> float | None:
    """Return the time of the latest user text after the anchor (Unix seconds). None if there is none."""
    prompt = _find_prompt(point)
    return prompt.at if prompt is not None else None


def _find_prompt(point: Point) -> Point | None:
    ancestor: Point | None = point
    while ancestor is not None and ancestor.kind != SAID:
        ancestor = ancestor.up
    return ancestor


def find_sendable(point: Point) -> Point:
    """Find the point from which the request after `point` continues."""
    # No request has an unanswered call. If the answer above still waits for results and no user text followed, the
    # chain holds another conversation, or the answer was abandoned: the context continues from that answer's request.
    while isinstance(point.anchor, ApiResponse) and point.anchor.waiting and point.anchor.request_point is not None:
        if _find_prompt(point) is not None:
            break
        point = point.anchor.request_point
    return point


_CLEARED: Final = "[Old tool result content cleared]"
"""Text that the client sends in place of a cleared tool result."""


def after_compaction(metadata: Json) -> Anchor:
    """Start a context after a compact boundary (or a summary without one)."""
    trigger = metadata.get("trigger") if isinstance(metadata, Mapping) else None
    return Anchor(
        began=EpochStart.COMPACTION,
        tokens_before=_count(metadata, "preTokens"),
        trigger=trigger if isinstance(trigger, str) else "",
    )


def after_microcompaction(tree: Tree, point: Point, metadata: Json) -> Anchor:
    """Start a context from `point`, without the results that the boundary's `metadata` names."""
    listed = metadata.get("compactedToolIds") if isinstance(metadata, Mapping) else None
    ids = {id_ for id_ in listed if isinstance(id_, str)} if isinstance(listed, list) else set()
    items = [_clear_result(item, ids) for item in tree.items(build_context(tree, point))]
    # The boundary's own figure counts only tool results; the last call's input is the size of the context.
    return Anchor(append_items(tree, ROOT, items), EpochStart.MICROCOMPACTION, front=point.anchor.front)


def _clear_result(item: Item, ids: set[str]) -> Item:
    if item.block.kind != "tool_result" or not ids:
        return item
    value = item.block.value()
    if value.get("tool_use_id") not in ids:
        return item
    return Item(block.make("tool_result", {**value, "content": _CLEARED}), item.place)


def kept_items(tree: Tree, points: Mapping[str, Point], metadata: Json) -> tuple[str, list[Item]]:
    """Return the record (uuid) that a compaction's kept messages follow, and these messages. ("", []): none."""
    segment = metadata.get("preservedSegment") if isinstance(metadata, Mapping) else None
    if not isinstance(segment, Mapping):
        return "", []
    first, last = points.get(str(segment.get("headUuid"))), points.get(str(segment.get("tailUuid")))
    if first is None or last is None:
        return "", []
    end = build_context(tree, last)
    before = with_front(tree, last.anchor.front, _context_before(tree, first), first.anchor.front)
    if before and not tree.holds(end, before):
        return "", []
    return str(segment.get("anchorUuid")), tree.items(end, before)


def _context_before(tree: Tree, point: Point) -> int:
    if point.up is not None:
        return build_context(tree, point.up)
    if isinstance(point.anchor, ApiResponse) and not point.items:
        return point.anchor.context
    return build_context(tree, Point(point.anchor))


def _count(metadata: Json, key: str) -> int:
    value = metadata.get(key) if isinstance(metadata, Mapping) else None
    return as_count(value)
