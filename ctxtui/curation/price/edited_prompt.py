"""Makes the next request under edits, as a cache sees it, to price edits before sending.

Unchanged blocks are nodes of the tree, new ones get nodes with negative numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxtui.cache.prefix_key import PrefixEnd, RequestEnds
from ctxtui.cache.prompt import CachedPrompt, CacheMarker
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.category import INDEX, category_of
from ctxtui.core.tree import ROOT, Node
from ctxtui.curation.apply.applied import RAW, Applied, AppliedItem, Position, sent_items
from ctxtui.curation.apply.moved_markers import inserted_items, is_off, markers_under_edits
from ctxtui.curation.context import THINKING, is_user_content

Count = Callable[[Block], int]


class EditedLengths(NamedTuple):
    """The lengths of a request under edits, in tokens.

    - `upto`: for each block, a node and tokens: up to the end of the block, the request is as long as the unedited one
      up to this node, plus these tokens.
    - `first`: the raw position from which the two requests differ; None if they are the same.
    - `shared`: tokens before that position.
    """

    upto: Sequence[tuple[int, int]]
    total: int
    first: int | None
    shared: int


def edited_prompt(
    base: CachedPrompt, place: RequestEnds, before: Applied, after: Applied, count: Count, nodes: Sequence[int] = ()
) -> tuple[CachedPrompt, EditedLengths]:
    """The prompt of `base` with the edits of `after` instead of `before`, and its lengths.

    `place` gives the ends of such requests, `count` the tokens of a block. `nodes`: the path of the blocks of `base`
    (empty: the raw one).
    """
    lengths = edited_lengths(base, before, after, count, nodes)
    if lengths.first is None and before.marks == after.marks:
        return base, lengths
    sent_nodes, lengths_upto = _sent_nodes(after), lengths.upto
    number_of = {node.id: number for number, node in enumerate(sent_nodes)}

    def tokens(node: int) -> int:
        node_before, more = lengths_upto[number_of[node]] if node != ROOT else (ROOT, 0)
        return base.tokens(node_before) + more

    prompt = _make_prompt(base, place, before, after, sent_nodes)
    return prompt._replace(tokens=tokens, total=lengths.total), lengths


def marked_prompt(base: CachedPrompt, place: RequestEnds, applied: Applied, nodes: Sequence[int]) -> CachedPrompt:
    """Add the breakpoint edits of `applied` to `base`, a request of its sent blocks `nodes`."""
    tree = applied.context.tree
    return (
        _make_prompt(base, place, applied.without_breakpoints, applied, [tree[n] for n in nodes])
        if applied.marks
        else base
    )


def _sent_nodes(applied: Applied) -> list[Node]:
    tree = applied.context.tree
    return [
        tree[applied_item.node] if applied_item.edit is None else _new_node(-number, item)
        for number, (applied_item, item) in enumerate(zip(applied.items, sent_items(applied), strict=True), 1)
    ]


def _new_node(number: int, item: Item) -> Node:
    return Node(number, ROOT, item.block, item.place, INDEX[category_of(*item)], 0, 0, 0, ROOT, 0)


def _make_prompt(
    base: CachedPrompt, place: RequestEnds, before: Applied, after: Applied, line: Sequence[Node]
) -> CachedPrompt:
    ends = place.positions_along(line)
    marks = {
        mark.position.number: mark
        for mark in _iter_markers(base, ends, before, after, line)
        if mark.position.before is not None
    }
    last = ends[line[-1].id if line else ROOT]
    return base._replace(last=last, markers=tuple(marks[number] for number in sorted(marks)))


def edited_lengths(
    base: CachedPrompt, before: Applied, after: Applied, count: Count, nodes: Sequence[int] = ()
) -> EditedLengths:
    context, strips = after.context, base.rules.strips
    last_nodes = _last_nodes_before(before, nodes) if nodes else context.nodes
    text_before, text_after = (last_user_text(before), last_user_text(after)) if strips else (0, 0)
    inserts_before, inserts_after = inserted_items(before), inserted_items(after)
    more = dict.fromkeys(
        sorted(
            {
                *inserts_before,
                *inserts_after,
                *before.changes,
                *after.changes,
                *_find_differently_read(after, text_before, text_after),
            }
        ),
        0,
    )
    first: int | None = None
    for position in more:
        was, now = block_read_at(before, position, text_before), block_read_at(after, position, text_after)
        if was != now or inserts_before.get(position) != inserts_after.get(position):
            first = position if first is None else first
            more[position] = (count(now) if now is not None else 0) - (count(was) if was is not None else 0)
            for sign, items in ((1, inserts_after.get(position, ())), (-1, inserts_before.get(position, ()))):
                more[position] += sign * sum(count(item.block) for item in items)
    path, same, had_items = nodes or context.nodes, True, before.items
    # Without a report for a position, the estimate up to the last block may exceed the whole.
    excess = max(0, base.tokens(path[-1]) - base.total) if path else 0
    shared = base.total if first is None else max(0, base.tokens(last_nodes[first - 1] if first else ROOT) - excess)
    upto: list[tuple[int, int]] = []
    steps, added, inserted_tokens, here = iter([*more.items(), (RAW, 0)]), 0, 0, -1
    position, step = next(steps)
    for number, after_item in enumerate(after.items):
        # After removed blocks the same blocks may follow as before: those keep their length.
        if same and number < len(had_items):
            was_here = had_items[number]
            same = (was_here.item is after_item.item and text_before == text_after) or _is_read_same(
                was_here, text_before, after_item, text_after
            )
        else:
            same = False
        if after_item.position != here:
            here, inserted_tokens = after_item.position, 0
        while position < here + (after_item.node >= 0):
            added += step
            position, step = next(steps)
        if after_item.node < 0:
            inserted_tokens += count(after_item.item.block)
        there = last_nodes[here] if after_item.node >= 0 else last_nodes[here - 1] if here else ROOT
        upto.append((path[number], 0) if same else (there, added + inserted_tokens))
    return EditedLengths(upto, max(base.total + sum(more.values()), shared), first, shared)


def _is_read_same(item_before: AppliedItem, text_before: int, item_after: AppliedItem, text_after: int) -> bool:
    (block, place), (other, there) = item_before.item, item_after.item
    if block.kind in THINKING and (item_before.position < text_before) != (item_after.position < text_after):
        return False
    return block.digest == other.digest and place[:2] == there[:2]


def _last_nodes_before(before: Applied, nodes: Sequence[int]) -> list[int]:
    last_nodes: list[int] = []
    last = ROOT
    for applied_item, node in zip(before.items, nodes, strict=True):
        last_nodes += [last] * (applied_item.position - len(last_nodes))
        last = node
        if applied_item.node >= 0:
            last_nodes.append(node)
    return [*last_nodes, *[last] * (len(before.context) - len(last_nodes))]


def _find_differently_read(side: Applied, text_before: int, text_after: int) -> Sequence[int]:
    thinking = side.context.thinking
    first, last = sorted((text_before, text_after))
    return thinking[bisect_left(thinking, first) : bisect_left(thinking, last)]


def block_read_at(side: Applied, position: int, user_text: int) -> Block | None:
    """The block that the provider reads at a raw position.

    None: nothing, or thinking before `user_text`.
    """
    if position >= len(side.context):
        return None
    block = side.context.items[position].block
    if position < user_text and block.kind in THINKING:
        return None
    change = side.changes.get(position)
    return block if change is None else change.after


def last_user_text(side: Applied) -> int:
    """The position of the last user text, or before which it is inserted; -1 without one."""
    new = max((insert.position for insert in side.inserts if any(map(is_user_content, insert.items))), default=-1)
    old = (p for p in reversed(side.context.user_texts) if block_read_at(side, p, -1) is not None)
    return max(new, next(old, -1))


def _iter_markers(
    base: CachedPrompt, ends: Mapping[int, PrefixEnd], before: Applied, after: Applied, line: Sequence[Node]
) -> Iterator[CacheMarker]:
    """The breakpoints of `base` and of edits in the `line` of blocks sent under `after`.

    `ends` are the prefix ends at the blocks. If several have one position, use the last one.
    """
    tree, edges = after.context.tree, after.positions

    def end_at(edge: Position) -> PrefixEnd | None:
        number = bisect_left(edges, edge)
        return ends[line[number].id] if number < len(edges) and edges[number] == edge else None

    lifetimes = {
        before.positions[tree[mark.position.node].depth - 1]: mark.life for mark in base.markers if not mark.ends
    }
    for edge, life in markers_under_edits(after, _move_markers(base, before, after, lifetimes)).items():
        end = end_at(edge)
        assert end is not None, "a marker is at a block that is removed"
        yield CacheMarker(end, life)
    head = next((number for number in range(len(line) - 1, -1, -1) if line[number].block.kind == HEADER), 0)
    for mark in base.markers:
        stop = len(line) if mark.ends == 1 else head
        if mark.ends and stop:
            end = ends[line[stop - 1].id]
            # The prefix end may be that of an earlier block.
            while stop and line[stop - 1].id != end.node:
                stop -= 1
            if end.before is not None and not is_off(after, edges[stop - 1]):
                yield CacheMarker(end, mark.life, mark.ends)
    for position, edit in after.marks.items():
        edge = position, RAW
        end = end_at(edge)
        if end is None or is_off(after, edge):
            continue
        if not (edge in lifetimes and before.marks.get(position) == edit):
            yield CacheMarker(end, base.rules.seconds(str(edit.params.get("ttl") or "")))


def _move_markers(
    base: CachedPrompt, before: Applied, after: Applied, had: Mapping[Position, float]
) -> dict[Position, float]:
    """The breakpoints `had` of `base`, without those on removed blocks that an edit set.

    A breakpoint of the client at such a block is in force again.
    """
    markers: dict[Position, float] = {}
    for edge, life in had.items():
        position = edge[0]
        edit = before.marks.get(position) if edge[1] == RAW else None
        change = after.changes.get(position) if edit is not None else None
        if change is None or change.after is not None:
            markers[edge] = life
        elif position in after.context.markers:
            markers[edge] = base.rules.seconds(after.context.markers[position])
    return markers
