"""Contexts of a Claude Code session, rebuilt along the chain of messages (design §2).

The context of an answer is the context of the previous answer, that answer, the results of its calls and what users
said since, as far as it stands in the record's ancestry. Parallel calls fork the graph of records; they do not fork
the context.
"""

from __future__ import annotations

import dataclasses as standard
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from ctxtui.core import block
from ctxtui.core.block import Block, Item, message_place
from ctxtui.core.call import EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit.fields import count

PASSING: Final = "passing"
"""A point that adds nothing: progress, hooks, a record of a message that stands elsewhere."""
SAID: Final = "said"
CLIENT: Final = "client"
"""A point whose text the client put there (reminders, attachments, notices)."""
RESULT: Final = "result"


@standard.dataclass(slots=True, eq=False)
class Anchor:
    """A place that context goes on from. `head` is the context there; `results` answer the calls made in it.

    `sides` are client texts that hang on the results of parallel calls, outside the ancestry of what comes next.
    For an anchor that is no answer, `began` says why a context starts here, `tokens_before` how large the recording
    says the one before was (0: nothing), `trigger` who asked for that (``auto``, ``manual``, "": nothing tells), `used`
    whether a call has gone on from it. `version` grows with every change.
    `front` is the node of the system prompt and tools that `head` goes on from (`ROOT`: they are not recorded),
    `rendered` whether attachments hang on it that stand elsewhere in a request than in the record.
    """

    head: int = ROOT
    began: EpochStart | None = None
    tokens_before: int = 0
    _: standard.KW_ONLY
    used: bool = False
    trigger: str = ""
    results: tuple[Item, ...] = ()
    sides: tuple[Point, ...] = ()
    latest: float | None = None
    version: int = 1
    front: int = ROOT
    rendered: bool = False


@standard.dataclass(slots=True, eq=False)
class ApiResponse(Anchor):
    """One API response. `asked` is the point that its request ended at, `context` the context that it answers,
    `waiting` how many of its calls of tools have no result yet.

    `weighed` of its blocks come to `least` tokens at least; the others wait until it matters. `contents` are the JSON
    texts of what is recorded of it, where its blocks are not made and its end is not reported.
    """

    id: str = ""
    _: standard.KW_ONLY
    asked: Point | None = None
    context: int = ROOT
    waiting: int = 0
    weighed: int = 0
    least: int = 0
    contents: tuple[bytes, ...] = ()

    def blocks(self, tree: Tree, start: int = 0) -> list[Block]:
        """The blocks of the answer, in order, from index `start` on, with the header before them where it has one."""
        return [tree[node].block for node in tree.path(self.head, self.context)[start:]]


class Point(Struct, eq=False):
    """A record's place in the chain: `anchor`, and the point `up` that it follows below the same anchor.

    `items` are what the record adds to the context (`rendered`: an attachment as it was sent), `root` the result that
    it hangs on (a `RESULT` point is its own), `at` its time. `order` is the number of a record that may add something.
    `head` and `version`
    remember the context built last.
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


def follow(
    point: Point, order: int, at: float | None, kind: str, items: Iterable[Item] = (), rendered: bool = False
) -> Point:
    """The point after `point` for a record that adds `items`; `rendered`: an attachment as it was sent."""
    made = Point(point.anchor, point, kind, items=tuple(items), order=order, at=at, rendered=rendered)
    point.anchor.rendered = point.anchor.rendered or rendered
    made.root = made if kind == RESULT else point.root
    if kind == CLIENT and made.items and made.root is not None:
        point.anchor.sides += (made,)
        point.anchor.version += 1
    return made


def beside(anchor: Anchor, order: int, at: float | None, items: Iterable[Item]) -> Point:
    """A point below `anchor` that stands in every later context, whatever the ancestry says (a queued message)."""
    made = Point(anchor, None, CLIENT, items=tuple(items), order=order, at=at)
    anchor.sides += (made,)
    anchor.version += 1
    return made


def context(tree: Tree, point: Point) -> int:
    """The context that a request sent at `point` would have, as far as the record tells so far."""
    anchor, version = point.anchor, point.anchor.version
    if anchor.sides or anchor.rendered:
        return _with_sides(tree, point)
    if point.version == version:
        return point.head
    added = [point.items] if point.items else []
    above = point.up
    while above is not None and above.version != version:
        if above.items:
            added.append(above.items)
        above = above.up
    head = above.head if above is not None else _answered(tree, anchor)
    for items in reversed(added):
        head = append(tree, head, items)
    point.head, point.version = head, version
    return head


def _with_sides(tree: Tree, point: Point) -> int:
    """The context at `point` where texts stand in it that its ancestry does not have, or in another order."""
    anchor, chain = point.anchor, [point]
    while chain[-1].up is not None:
        chain.append(chain[-1].up)
    arranged = _sided(anchor, chain[::-1])
    items = _arranged(arranged) if anchor.rendered else [item for one in arranged for item in one.items]
    return append(tree, _answered(tree, anchor), items)


def adds_nothing(point: Point) -> bool:
    """Whether the context at `point` is that of its anchor, with nothing after it."""
    anchor = point.anchor
    if anchor.results or anchor.sides or anchor.rendered:
        return False
    above: Point | None = point
    while above is not None:
        if above.items:
            return False
        above = above.up
    return True


def _arranged(chain: Iterable[Point]) -> list[Item]:
    """What points add, in the order in which a request has it: after the results of a message the client's texts, then
    what was said, then one system turn with everything that goes there."""
    found: list[Item] = []
    results: list[Item] = []
    texts: list[Item] = []
    words: list[Item] = []
    turn: list[Item] = []

    def close() -> None:
        found.extend((*results, *_lined(texts, words), *words, *_one_text(turn)))
        for some in (results, texts, words, turn):
            some.clear()

    for point in chain:
        for item in point.items:
            if item.place.role == "assistant":
                close()
                found.append(item)
            elif item.place.role == "system":
                turn.append(item)
            elif point.rendered:
                texts.append(item)
            else:
                (results if item.block.kind == "tool_result" else words).append(item)
    close()
    return found


def _lined(texts: list[Item], words: list[Item]) -> list[Item]:
    """The client's texts as it joins them to what was said: the last one ends with a line end."""
    text = _words(texts[-1]) if texts and words and words[0].block.kind == "text" else ""
    if not text or text.endswith("\n"):
        return texts
    return [*texts[:-1], Item(block.text(text + "\n"), texts[-1].place)]


def _one_text(turn: list[Item]) -> list[Item]:
    words = [_words(item) for item in turn]
    if len(words) < 2 or not all(words):
        return turn
    return [Item(block.text("\n\n".join(words)), turn[0].place)]


def _words(item: Item) -> str:
    """The words of a text that says nothing else; "" for any other block."""
    value = item.block.value()
    plain = item.block.kind == "text" and isinstance(value, dict) and value.keys() == {"type", "text"}
    return value["text"] if plain and isinstance(value["text"], str) else ""


def _sided(anchor: Anchor, chain: list[Point]) -> list[Point]:
    own = {id(point) for point in chain}
    said = {item.block.digest for point in chain for item in point.items}
    extra = [
        side
        for side in anchor.sides
        if id(side) not in own
        and (side.root is None or id(side.root) not in own)
        and not (side.root is None and all(item.block.digest in said for item in side.items))
    ]
    return sorted([*chain, *extra], key=lambda point: point.order) if extra else chain


def _answered(tree: Tree, anchor: Anchor) -> int:
    return append(tree, anchor.head, anchor.results)


@cache
def _header(role: str) -> Item:
    return Item(block.header(role), message_place(role))


def append(tree: Tree, head: int, items: Sequence[Item]) -> int:
    """`head` with `items` after it; neighbours of one role make one message, whose header goes first."""
    if not items:
        return head
    before = tree[head].place
    role = before.role if before.section == "messages" else ""
    for said, place in items:
        if said.kind == block.HEADER:
            continue
        if place.role != role:
            role = place.role
            head = tree.child(head, *_header(role))
        head = tree.child(head, said, place)
    return head


def under(tree: Tree, front: int, head: int, old: int) -> int:
    """The context `head`, which goes on from system prompt and tools `old`, with those at `front` instead."""
    return head if front == old else tree.extend(front, tree.items(head, old))


def newest(point: Point) -> float | None:
    """The time of the newest record in the context at `point`, since its anchor."""
    newest = point.anchor.latest
    for side in point.anchor.sides:
        newest = later_time(newest, side.at)
    above: Point | None = point
    while above is not None:
        newest = later_time(newest, above.at)
        above = above.up
    return newest


def later_time(one: float | None, other: float | None) -> float | None:
    """The later one of two times of which either may not be known."""
    return other if one is None or (other is not None and other > one) else one


def said_at(point: Point) -> float | None:
    """The time of the latest words in the context at `point`, since its anchor; None where nobody spoke."""
    above: Point | None = point
    while above is not None and above.kind != SAID:
        above = above.up
    return above.at if above is not None else None


def sendable(point: Point) -> Point:
    """The point that an answer after `point` continues from: no request leaves with a call unanswered.

    Where the answer above still waits for results and nobody has spoken since, another conversation is written into
    the same chain, or the answer was given up: the context goes on from what that answer was asked.
    """
    while isinstance(point.anchor, ApiResponse) and point.anchor.waiting and point.anchor.asked is not None:
        if spoken_since(point):
            break
        point = point.anchor.asked
    return point


def spoken_since(point: Point) -> bool:
    """Whether anybody spoke at `point` or before it, since its anchor."""
    above: Point | None = point
    while above is not None:
        if above.kind == SAID:
            return True
        above = above.up
    return False


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
