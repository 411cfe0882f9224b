"""What a request comes to under edits: a count of what would leave, by arithmetic on what was changed.

It is the figure that the request has when it is written out, read again and counted under the same weights: the running
features of the raw context less those of the messages that edits touch, and with what stands there then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.category import INDEX, category_of
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied, Insert
from ctxtui.curation.context import ASSISTANT, Context
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, minus, plus
from ctxtui.tokens.weights import Weights, tokens

Measure = Callable[[Block], Features]
"""The raw features of a block that no context has yet."""
_PutIn = Mapping[int, list[Item]]
"""What edits put in, by the raw position before which it stands."""

_THINKING: Final = INDEX["thinking"]
_RESULTS: Final = frozenset({"tool", "function"})
_ASKING: Final = frozenset({"user", "image", "document"})


class RequestCount(NamedTuple):
    """A request in tokens: its `body`, the blocks as they are written, and what the `client` adds that the recording
    lacks (system prompt and tools). `back` are those tokens of the body that the last report shows to be gone from the
    context: the client no longer sent them, a request that is written holds them again. `residual` is what the provider
    reports beyond all of these, `categories` are the tokens of the body by category index."""

    body: int
    client: int = 0
    back: int = 0
    residual: int = 0
    categories: tuple[int, ...] = ()

    @property
    def whole(self) -> int:
        """What the provider will report of it: how full the context is. Every place that says so asks this."""
        return max(0, self.body - self.back + self.client + self.residual)

    @property
    def beyond(self) -> int:
        """What the whole has more than body and client."""
        return self.whole - self.body - self.client


class _Standing(NamedTuple):
    """What stands in a stretch that edits touch: the raw `position` (of what is put in: before which), its `item`, and
    its raw `node` where it is as it was (-1: it is not)."""

    position: int
    item: Item
    node: int


def body_sums(
    applied: Applied,
    counts: Cumulated,
    weights: Weights,
    measure: Measure,
    *,
    strips: bool,
    left_out: Sequence[int] = (),
    joins: bool = False,
) -> list[int]:
    """Tokens of the request that leaves under `applied`, by category index; `counts` are the running features of its
    tree, `strips` says that the provider takes thinking of earlier turns out, `left_out` are raw positions that are not
    written though no edit is about them, `joins` says that messages of one side which edits bring side by side are
    written as one. Raises `IndexError` while the context is not counted."""
    context = applied.context
    length = _length(applied)
    sums = list(counts.at(context.nodes[length - 1] if length else ROOT))
    thoughts: list[tuple[int, Features]] = []
    new = _put_in(applied.inserts)
    for start, stop in _merged(_spans(context, applied.changes, applied.inserts, length)):
        for category, position, features in _moved(applied, new, counts, measure, start, stop, joins):
            sums[category] = plus(sums[category], features)
            if category == _THINKING:
                thoughts.append((position, features))
    for category, features in _unwritten(applied, counts, [p for p in left_out if p < length]):
        sums[category] = minus(sums[category], features)
    rounded = [round(tokens(features, weights)) for features in sums]
    if strips and context.thinking:
        rounded[_THINKING] -= round(tokens(_earlier(applied, counts, thoughts), weights))
    return rounded


def _spans(
    context: Context, changed: Iterable[int], inserts: Iterable[Insert], length: int
) -> Iterator[tuple[int, int]]:
    """The messages that are touched by changes and by what is put in. What is put in before a stretch, in it or right
    behind it belongs to it."""
    for position in changed:
        message = context.message_at(position)
        yield (position, position + 1) if message is None else (message.start, min(message.stop, length))
    for one in inserts:
        at = one.position
        message = context.message_at(at) if at < length else None
        if message is not None and message.start < at:
            yield message.start, min(message.stop, length)
        elif one.items[0].block.kind == HEADER or not at:
            yield at, at
        else:
            before = context.message_at(at - 1)
            yield (at, at) if before is None else (before.start, at)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those side by side as one, in order."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(set(spans)):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


def _length(applied: Applied) -> int:
    return applied.length if applied.length >= 0 else len(applied.context)


def _unwritten(applied: Applied, counts: Cumulated, left_out: Sequence[int]) -> Iterator[tuple[int, Features]]:
    """What each category lacks of what is not written. The header before it counts with the part that comes then, if
    any is left of its message."""
    context, out = applied.context, frozenset(left_out)
    for position in left_out:
        if position in applied.changes:
            continue
        owed, message = counts.owed(context.nodes[position]), context.message_at(position)
        rest = () if message is None else range(position + 1, message.stop)
        if not any(p not in out and _left(applied, p) is not None for p in rest):
            owed = NOTHING
        for category, features in _own(counts, context, context.nodes[position]):
            yield category, minus(features, owed)
            owed = NOTHING


def _earlier(applied: Applied, counts: Cumulated, thoughts: list[tuple[int, Features]]) -> Features:
    """The thinking that stands before a person last spoke; `thoughts` is by how much edits changed it where."""
    context = applied.context
    asked = _asked(applied)
    if not asked:
        return NOTHING
    found = counts.of(context.nodes[asked - 1], _THINKING)
    for position, features in thoughts:
        found = plus(found, features) if position < asked else found
    return found


def _moved(
    applied: Applied, put_in: _PutIn, counts: Cumulated, measure: Measure, start: int, stop: int, joins: bool
) -> Iterator[tuple[int, int, Features]]:
    """By which features each category differs in a stretch: (category, raw position, features)."""
    context, length = applied.context, _length(applied)
    yield from _out(counts, context, start, stop)
    # A header counts with the first part behind it.
    owed, last = counts.outstanding(context.nodes[start - 1] if start else ROOT), _side(context, start - 1)
    for one in _standing(applied, put_in, start, stop):
        if one.item.block.kind == HEADER:
            if not (joins and last == side_of(one.item) and not (one.node >= 0 and kept_apart(applied, one.position))):
                owed = plus(owed, measure(one.item.block))
            continue
        last = side_of(one.item)
        for category, features in _parts(counts, context, measure, one):
            yield category, one.position, plus(features, owed)
            owed = NOTHING
    open_ = counts.outstanding(context.nodes[stop - 1] if stop else ROOT)
    more = minus(owed, open_)
    if joins and stop < length and last == _side(context, stop) and not kept_apart(applied, stop):
        more = minus(more, minus(counts.outstanding(context.nodes[stop]), open_))
    if any(more):
        # A message has lost its parts, or got some: its header counts with what comes next, if anything does. One that
        # goes on from what now stands before it has none.
        behind = next((p for p in range(stop, length) if context.items[p].block.kind != HEADER), None)
        if behind is not None:
            yield context.tree[context.nodes[behind]].category, behind, more


def _out(counts: Cumulated, context: Context, start: int, stop: int) -> Iterator[tuple[int, int, Features]]:
    """What a stretch comes to as it stands, negative: at once, but for thinking, of which it counts where it stands."""
    before = counts.at(context.nodes[start - 1] if start else ROOT)
    after = counts.at(context.nodes[stop - 1] if stop else ROOT)
    for category, (one, other) in enumerate(zip(before, after, strict=True)):
        if one != other and category != _THINKING:
            yield category, start, minus(one, other)
    if before[_THINKING] == after[_THINKING]:
        return
    for position in range(start, stop):
        node = context.nodes[position]
        if _THINKING in counts.categories(node):
            for category, features in _own(counts, context, node):
                if category == _THINKING:
                    yield category, position, minus(NOTHING, features)


def side_of(item: Item) -> str:
    """Who speaks, as requests tell it that have two sides: results are the user's."""
    return side_at(item.place)


def side_at(place: Place) -> str:
    """The same by where a block stands."""
    role = place.role
    return "" if place.section != "messages" else "user" if role in _RESULTS else role


def _side(context: Context, position: int) -> str:
    return side_of(context.items[position]) if position >= 0 else ""


def kept_apart(applied: Applied, position: int) -> bool:
    """Whether the raw message that begins at `position` stands behind one of the same side in the recording too, which
    keeps them apart, and still does."""
    context = applied.context
    stands = position > 0 and _left(applied, position - 1) is not None
    return stands and _side(context, position - 1) == _side(context, position)


def _own(counts: Cumulated, context: Context, node: int) -> Iterator[tuple[int, Features]]:
    """What each category grows by with a raw block."""
    if context.tree[node].block.kind == HEADER:
        return
    for category in counts.categories(node):
        yield category, minus(counts.of(node, category), counts.of(context.tree[node].parent, category))


def _parts(counts: Cumulated, context: Context, measure: Measure, one: _Standing) -> Iterator[tuple[int, Features]]:
    """The features of a block that stands there, by category, without its message's header."""
    if one.node < 0:
        yield INDEX[category_of(*one.item)], measure(one.item.block)
        return
    owed = counts.owed(one.node)
    for category, features in _own(counts, context, one.node):
        yield category, minus(features, owed)
        owed = NOTHING


def _standing(applied: Applied, put_in: _PutIn, start: int, stop: int) -> Iterator[_Standing]:
    """What stands in a stretch, in order, with what is put in before it and right behind it."""
    context = applied.context
    for position in range(start, stop + 1):
        for item in put_in.get(position, ()):
            yield _Standing(position, item, -1)
        if position < stop and (found := _left(applied, position)) is not None:
            yield _Standing(position, found, context.nodes[position] if position not in applied.changes else -1)


def _put_in(inserts: Sequence[Insert]) -> _PutIn:
    """What edits put in, by the raw position before which it stands, without marks: those are the recording's."""
    found: dict[int, list[Item]] = {}
    for one in inserts:
        made = (Item(item.block, item.place._replace(mark="")) for item in one.items)
        found.setdefault(one.position, []).extend(made)
    return found


def _left(applied: Applied, position: int) -> Item | None:
    """What is left of the raw block at `position`; None where it is out."""
    item = applied.context.items[position]
    change = applied.changes.get(position)
    if change is None:
        return item
    return None if change.after is None else Item(change.after, item.place)


def _asked(applied: Applied) -> int:
    """The raw position at which (or before which, where an edit put it in) a person began to speak last; 0 where
    nobody does. As `Tree` has it: behind what the assistant said, in a message that holds no results before it."""
    put_in, found, here = _put_in(applied.inserts), 0, 0
    for position in range(_length(applied), -1, -1):
        left = _left(applied, position) if position < _length(applied) else None
        for item in [*([left] if left is not None else []), *reversed(put_in.get(position, ()))]:
            place, category = item.place, category_of(*item)
            if place.section != "messages":
                return here or found
            if item.block.kind == HEADER:
                found, here = here or found, 0
                if place.role in ASSISTANT and found:
                    return found
            elif category == "tool_result":
                here = 0
            elif place.role in ASSISTANT or category == "tool_call":
                if here or found:
                    return here or found
            elif category in _ASKING and place.mark != "meta":
                here = position
    return here or found
