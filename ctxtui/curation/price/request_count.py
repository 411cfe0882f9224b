"""What a request comes to under edits: a count of what would leave.

It is the figure that the request has when it is written out, read again and counted under the same weights. What stands
as it was counts as in the raw context, stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.category import CATEGORIES, INDEX, category_of
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import Applied, leaving
from ctxtui.curation.apply.standing_markers import put_in
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, minus, plus
from ctxtui.tokens.weights import Weights, weigh

Measure = Callable[[Block], Features]
"""The raw features of a block that no context has yet."""

_THINKING: Final = INDEX["thinking"]
_RESULTS: Final = frozenset({"tool", "function"})


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
    context, new = applied.context, put_in(applied)
    length = applied.length if applied.length >= 0 else len(context)
    out = _unwritten(applied, [p for p in left_out if p < length and p not in applied.changes])
    asked = _asked(applied) if strips and context.thinking else 0
    walk, earlier, here = _Walk(applied, counts, measure, joins), NOTHING, 0
    for position in sorted({*new, *applied.changes, *out, asked, length}):
        walk.go_on(here, position)
        if position == asked:
            earlier = walk.sums[_THINKING]
        for item in new.get(position, ()):
            walk.add(Item(item.block, item.place._replace(mark="")))
        change = applied.changes.get(position)
        if change is not None and change.after is not None:
            walk.add(Item(change.after, context.items[position].place))
        here = position + (change is not None or position in out)
    rounded = [round(weigh(features, weights)) for features in walk.sums]
    rounded[_THINKING] -= round(weigh(earlier, weights))
    return rounded


class _Walk:
    """The features of what leaves under `applied` by category, added up from the front on. A message's header counts
    with its first part."""

    def __init__(self, applied: Applied, counts: Cumulated, measure: Measure, joins: bool) -> None:
        self._applied = applied
        self._counts = counts
        self._measure = measure
        self._joins = joins
        self._owed = NOTHING
        """The features of headers that no part has come behind yet."""
        self._side = ""
        self.sums = [NOTHING] * len(CATEGORIES)

    def go_on(self, start: int, stop: int) -> None:
        """Add the raw blocks from `start` to `stop` (exclusive), which stand as they were."""
        if start >= stop:
            return
        counts, context, sums = self._counts, self._applied.context, self.sums
        before, last = context.nodes[start - 1] if start else ROOT, context.nodes[stop - 1]
        # What is counted there with its first part, and does not count here.
        had = counts.pending_features(before)
        first = context.items[start]
        if first.block.kind == HEADER and self._joined(first) and not kept_apart(self._applied, start):
            had = counts.pending_features(context.nodes[start])
        part = next((p for p in range(start, stop) if context.items[p].block.kind != HEADER), None)
        if part is not None:
            for category, (was, now) in enumerate(
                zip(counts.composition_at(before), counts.composition_at(last), strict=True)
            ):
                if was is not now:
                    sums[category] = plus(sums[category], minus(now, was))
            category = counts.categories(context.nodes[part])[0]
            sums[category] = plus(sums[category], minus(self._owed, had))
            self._owed = had = NOTHING
        self._owed = plus(self._owed, minus(counts.pending_features(last), had))
        self._side = side_of(context.items[stop - 1])

    def add(self, item: Item) -> None:
        """Add a block that an edit changed or put in."""
        if item.block.kind == HEADER:
            self._owed = self._owed if self._joined(item) else plus(self._owed, self._measure(item.block))
            return
        category = INDEX[category_of(*item)]
        self.sums[category] = plus(self.sums[category], plus(self._measure(item.block), self._owed))
        self._owed, self._side = NOTHING, side_of(item)

    def _joined(self, header: Item) -> bool:
        """Whether a message goes on with the one before it."""
        return self._joins and self._side == side_of(header)


def _unwritten(applied: Applied, left_out: Sequence[int]) -> set[int]:
    """The positions of what is not written: what is left out, and the headers of messages of which nothing is left."""
    context, out = applied.context, set(left_out)
    for position in left_out:
        message = context.message_at(position)
        parts = range(message.start + 1, message.stop) if message is not None else ()
        if message is not None and message.headed and all(p in out or is_out(applied, p) for p in parts):
            out.add(message.start)
    return out


def is_out(applied: Applied, position: int) -> bool:
    """Whether edits take the raw block at `position` out."""
    change = applied.changes.get(position)
    return change is not None and change.after is None


def _asked(applied: Applied) -> int:
    """The raw position at which (or before which, where an edit put it in) a person began to speak last; 0 where
    nobody does."""
    tree = Tree()
    start = tree[tree.extend(ROOT, leaving(applied))].turn_start
    return applied.items[start - 1].position if start != ROOT else 0


def side_of(item: Item) -> str:
    """Who speaks, as requests tell it that have two sides: results are the user's."""
    return side_at(item.place)


def side_at(place: Place) -> str:
    """The same by where a block stands."""
    role = place.role
    return "" if place.section != "messages" else "user" if role in _RESULTS else role


def kept_apart(applied: Applied, position: int) -> bool:
    """Whether the raw message that begins at `position` stands behind one of the same side in the recording too, which
    keeps them apart, and still does."""
    context = applied.context
    if not position or is_out(applied, position - 1):
        return False
    return side_of(context.items[position - 1]) == side_of(context.items[position])
