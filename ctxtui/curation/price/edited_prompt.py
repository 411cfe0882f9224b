"""The next request under edits, made whole: as a cache sees it, and how many tokens come before each block."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxtui.cache.prefix_key import PrefixEnd, RequestEnds
from ctxtui.cache.prompt import CachedPrompt, CacheMarker
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.category import INDEX, category_of
from ctxtui.core.tree import ROOT, Node
from ctxtui.curation.apply.applied import RAW, Applied, AppliedItem, Edge, leaving
from ctxtui.curation.apply.standing_markers import is_off, put_in, standing_markers
from ctxtui.curation.context import THINKING

Count = Callable[[Block], int]
"""Tokens of one block, as the provider reads it."""


class EditedLengths(NamedTuple):
    """The lengths of a request under edits. `upto` has for each block the node up to which the request without them is
    as long, and how many tokens are to be added. `total` is the whole length. From the raw position `first` on the two
    are different requests (None: they are the same); `shared` tokens come before it."""

    upto: Sequence[tuple[int, int]]
    total: int
    first: int | None
    shared: int


def edited_prompt(
    base: CachedPrompt, place: RequestEnds, before: Applied, after: Applied, count: Count, nodes: Sequence[int] = ()
) -> tuple[CachedPrompt, EditedLengths]:
    """The request that `base` becomes where the edits in `after` are applied instead of those in `before`, with its
    lengths. `place` gives where requests like it end, `nodes` is the path of its blocks (empty: the raw one), `count`
    gives the tokens of blocks that do not stand as they did."""
    lengths = edited_lengths(base, before, after, count, nodes)
    if lengths.first is None and before.marks == after.marks:
        return base, lengths
    line, upto = _line(after), lengths.upto
    number_of = {node.id: number for number, node in enumerate(line)}

    def tokens(node: int) -> int:
        stood, more = upto[number_of[node]] if node != ROOT else (ROOT, 0)
        return base.tokens(stood) + more

    made = _made(base, place, before, after, line)
    return made._replace(tokens=tokens, total=lengths.total), lengths


def marked_prompt(base: CachedPrompt, place: RequestEnds, applied: Applied, nodes: Sequence[int]) -> CachedPrompt:
    """`base`, a request of the blocks that leave under `applied`, with its breakpoint edits too; `nodes` are the
    blocks, the other arguments as in `edited_prompt`."""
    tree = applied.context.tree
    return _made(base, place, applied.unmarked, applied, [tree[n] for n in nodes]) if applied.marks else base


def _line(applied: Applied) -> list[Node]:
    """The blocks that leave, with the nodes of those that stand as they were; those of others have negative numbers."""
    tree = applied.context.tree
    return [
        tree[one.node] if one.edit is None else _new(-number, item)
        for number, (one, item) in enumerate(zip(applied.items, leaving(applied), strict=True), 1)
    ]


def _new(number: int, item: Item) -> Node:
    return Node(number, ROOT, item.block, item.place, INDEX[category_of(*item)], 0, 0, 0, ROOT, 0)


def _made(
    base: CachedPrompt, place: RequestEnds, before: Applied, after: Applied, line: Sequence[Node]
) -> CachedPrompt:
    """`base` with the blocks that leave under `after`."""
    ends = place.positions_along(line)
    marks = {
        mark.position.number: mark
        for mark in _marks(base, ends, before, after, line)
        if mark.position.before is not None
    }
    last = ends[line[-1].id if line else ROOT]
    return base._replace(last=last, markers=tuple(marks[number] for number in sorted(marks)))


def edited_lengths(
    base: CachedPrompt, before: Applied, after: Applied, count: Count, nodes: Sequence[int] = ()
) -> EditedLengths:
    """The lengths of the request that `base` becomes: blocks that stand as they did are as long as there. The arguments
    are as in `edited_prompt`."""
    context, strips = after.context, base.rules.strips
    stood = _stood(before, nodes) if nodes else context.nodes
    spoke, speaks = (last_spoken(before), last_spoken(after)) if strips else (0, 0)
    had, new = put_in(before), put_in(after)
    more = dict.fromkeys(sorted({*had, *new, *before.changes, *after.changes, *_read_again(after, spoke, speaks)}), 0)
    first: int | None = None
    for position in more:
        was, now = read_at(before, position, spoke), read_at(after, position, speaks)
        if was != now or had.get(position) != new.get(position):
            first = position if first is None else first
            more[position] = (count(now) if now is not None else 0) - (count(was) if was is not None else 0)
            for sign, items in ((1, new.get(position, ())), (-1, had.get(position, ()))):
                more[position] += sign * sum(count(item.block) for item in items)
    path, same, had_items = nodes or context.nodes, True, before.items
    # Where no report pins a place, what stands up to the last one may be counted as more than the whole.
    excess = max(0, base.tokens(path[-1]) - base.total) if path else 0
    shared = base.total if first is None else max(0, base.tokens(stood[first - 1] if first else ROOT) - excess)
    upto: list[tuple[int, int]] = []
    steps, added, inside, here = iter([*more.items(), (RAW, 0)]), 0, 0, -1
    position, step = next(steps)
    for number, one in enumerate(after.items):
        # Behind blocks that are out the same ones may stand that stood there: those are as long as they were.
        if same and number < len(had_items):
            was_here = had_items[number]
            same = (was_here.item is one.item and spoke == speaks) or _alike(was_here, spoke, one, speaks)
        else:
            same = False
        if one.position != here:
            here, inside = one.position, 0
        while position < here + (one.node >= 0):
            added += step
            position, step = next(steps)
        if one.node < 0:
            inside += count(one.item.block)
        there = stood[here] if one.node >= 0 else stood[here - 1] if here else ROOT
        upto.append((path[number], 0) if same else (there, added + inside))
    return EditedLengths(upto, max(base.total + sum(more.values()), shared), first, shared)


def _alike(was: AppliedItem, spoke: int, now: AppliedItem, speaks: int) -> bool:
    """Whether the same is read of two blocks."""
    (block, place), (other, there) = was.item, now.item
    if block.kind in THINKING and (was.position < spoke) != (now.position < speaks):
        return False
    return block.digest == other.digest and place[:2] == there[:2]


def _stood(before: Applied, nodes: Sequence[int]) -> list[int]:
    """The last of the `nodes` that stands at each raw position or before it (`ROOT`: none does)."""
    found: list[int] = []
    last = ROOT
    for one, node in zip(before.items, nodes, strict=True):
        found += [last] * (one.position - len(found))
        last = node
        if one.node >= 0:
            found.append(node)
    return [*found, *[last] * (len(before.context) - len(found))]


def _read_again(side: Applied, spoke: int, speaks: int) -> Sequence[int]:
    """Positions of thinking that is read on one side alone, because a person spoke last at another place."""
    thinking = side.context.thinking
    return thinking[bisect_left(thinking, min(spoke, speaks)) : bisect_left(thinking, max(spoke, speaks))]


def read_at(side: Applied, position: int, spoken: int) -> Block | None:
    """What the provider reads at a raw position where a person last speaks at `spoken`; None where nothing is."""
    if position >= len(side.context):
        return None
    block = side.context.items[position].block
    if position < spoken and block.kind in THINKING:
        return None
    change = side.changes.get(position)
    return block if change is None else change.after


def last_spoken(side: Applied) -> int:
    """The position at which a person last speaks; thinking in front of it is taken out by models that strip it."""
    new = max((one.position for one in side.inserts if one.items[-1].place.role == "user"), default=-1)
    old = (p for p in reversed(side.context.spoken) if read_at(side, p, -1) is not None)
    return max(new, next(old, -1))


def _marks(
    base: CachedPrompt, ends: Mapping[int, PrefixEnd], before: Applied, after: Applied, line: Sequence[Node]
) -> Iterator[CacheMarker]:
    """The markers of `base` where they stand in the `line` of blocks that leave under `after`, with those that
    breakpoint edits set; of several at one place the last one counts. `ends` are the places at the blocks."""
    tree, edges = after.context.tree, after.edges

    def at(edge: Edge) -> PrefixEnd | None:
        """The place at the block that stands at `edge`; None where none does."""
        number = bisect_left(edges, edge)
        return ends[line[number].id] if number < len(edges) and edges[number] == edge else None

    had = {before.edges[tree[mark.position.node].depth - 1]: mark.life for mark in base.markers if not mark.ends}
    for edge, life in standing_markers(after, _movable(base, before, after, had)).items():
        spot = at(edge)
        assert spot is not None, "a marker stands at a block that leaves"
        yield CacheMarker(spot, life)
    head = next((number for number in range(len(line) - 1, -1, -1) if line[number].block.kind == HEADER), 0)
    for mark in base.markers:
        stop = len(line) if mark.ends == 1 else head
        if mark.ends and stop:
            spot = ends[line[stop - 1].id]
            # The place may be that of a block before.
            while stop and line[stop - 1].id != spot.node:
                stop -= 1
            if spot.before is not None and not is_off(after, edges[stop - 1]):
                yield CacheMarker(spot, mark.life, mark.ends)
    for position, edit in after.marks.items():
        edge = position, RAW
        spot = at(edge)
        if spot is None or is_off(after, edge):
            continue
        if not (edge in had and before.marks.get(position) == edit):
            yield CacheMarker(spot, base.rules.seconds(str(edit.params.get("ttl") or "")))


def _movable(base: CachedPrompt, before: Applied, after: Applied, had: Mapping[Edge, float]) -> dict[Edge, float]:
    """The markers that `base` `had` at their blocks, as they would be without breakpoint edits: those of blocks that
    are out move, those that an edit set there do not."""
    found: dict[Edge, float] = {}
    for edge, life in had.items():
        position = edge[0]
        edit = before.marks.get(position) if edge[1] == RAW else None
        change = after.changes.get(position) if edit is not None else None
        if change is None or change.after is not None:
            found[edge] = life
        elif position in after.context.markers:
            found[edge] = base.rules.seconds(after.context.markers[position])
    return found
