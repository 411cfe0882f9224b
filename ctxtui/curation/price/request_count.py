"""Counts the tokens of a request under edits, without writing it out.

The count equals that of the written request under the same weights. Unchanged stretches are taken from the sums of the
raw context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.category import CATEGORIES, INDEX, category_of
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import Applied, sent_items
from ctxtui.curation.apply.moved_markers import inserted_items
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, minus, plus
from ctxtui.tokens.weights import Weights, weigh

Measure = Callable[[Block], Features]

_THINKING: Final = INDEX["thinking"]
_RESULTS: Final = frozenset({"tool", "function"})


class RequestCount(NamedTuple):
    """A request in tokens.

    - `body`: its blocks as written.
    - `client`: what the client adds and the recording lacks (system prompt and tools).
    - `back`: tokens of the body that are gone according to the last report: the client stopped sending them, but a
      written request has them again.
    - `residual`: what the provider reports in addition to all of these.
    - `categories`: tokens of the body by category index.
    """

    body: int
    client: int = 0
    back: int = 0
    residual: int = 0
    categories: tuple[int, ...] = ()

    @property
    def whole(self) -> int:
        """Tokens that the provider will report: how full the context is."""
        return max(0, self.body - self.back + self.client + self.residual)

    @property
    def beyond(self) -> int:
        """Tokens of the whole beyond body and client."""
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
    """Tokens of the request sent under `applied`, by category index.

    - `counts`: the running sums of features of its tree.
    - `strips`: the provider drops thinking of earlier turns.
    - `left_out`: raw positions that are not written although no edit is about them.
    - `joins`: adjacent messages of one side are written as one.

    Raises `IndexError` while the context is not counted.
    """
    context, new = applied.context, inserted_items(applied)
    length = applied.length if applied.length >= 0 else len(context)
    unwritten = _find_unwritten(applied, [p for p in left_out if p < length and p not in applied.changes])
    last_turn_start = _last_turn_start(applied) if strips and context.thinking else 0
    walk, earlier, here = _CategorySums(applied, counts, measure, joins), NOTHING, 0
    for position in sorted({*new, *applied.changes, *unwritten, last_turn_start, length}):
        walk.add_unchanged(here, position)
        if position == last_turn_start:
            earlier = walk.sums[_THINKING]
        for item in new.get(position, ()):
            walk.add(Item(item.block, item.place._replace(mark="")))
        change = applied.changes.get(position)
        if change is not None and change.after is not None:
            walk.add(Item(change.after, context.items[position].place))
        here = position + (change is not None or position in unwritten)
    rounded = [round(weigh(features, weights)) for features in walk.sums]
    rounded[_THINKING] -= round(weigh(earlier, weights))
    return rounded


class _CategorySums:
    """Sums the features of the blocks sent under `applied` by category, front to back.

    A message's header counts with its first part.
    """

    def __init__(self, applied: Applied, counts: Cumulated, measure: Measure, joins: bool) -> None:
        self._applied = applied
        self._counts = counts
        self._measure = measure
        self._joins = joins
        self._owed = NOTHING
        """The features of headers without a part so far."""
        self._side = ""
        self.sums = [NOTHING] * len(CATEGORIES)

    def add_unchanged(self, start: int, stop: int) -> None:
        if start >= stop:
            return
        counts, context, sums = self._counts, self._applied.context, self.sums
        before, last = context.nodes[start - 1] if start else ROOT, context.nodes[stop - 1]
        # Headers at `before` that have no part yet: the sums count them with their first part, which is here.
        features_before = counts.pending_features(before)
        first = context.items[start]
        if first.block.kind == HEADER and self._is_joined_header(first) and not is_kept_apart(self._applied, start):
            features_before = counts.pending_features(context.nodes[start])
        part = next((p for p in range(start, stop) if context.items[p].block.kind != HEADER), None)
        if part is not None:
            for category, (was, now) in enumerate(
                zip(counts.composition_at(before), counts.composition_at(last), strict=True)
            ):
                if was is not now:
                    sums[category] = plus(sums[category], minus(now, was))
            category = counts.categories(context.nodes[part])[0]
            sums[category] = plus(sums[category], minus(self._owed, features_before))
            self._owed = features_before = NOTHING
        self._owed = plus(self._owed, minus(counts.pending_features(last), features_before))
        self._side = side_of(context.items[stop - 1].place)

    def add(self, item: Item) -> None:
        if item.block.kind == HEADER:
            self._owed = self._owed if self._is_joined_header(item) else plus(self._owed, self._measure(item.block))
            return
        category = INDEX[category_of(*item)]
        self.sums[category] = plus(self.sums[category], plus(self._measure(item.block), self._owed))
        self._owed, self._side = NOTHING, side_of(item.place)

    def _is_joined_header(self, header: Item) -> bool:
        """Whether a message continues the one before it."""
        return self._joins and self._side == side_of(header.place)


def _find_unwritten(applied: Applied, left_out: Sequence[int]) -> set[int]:
    """The positions left out, and headers of messages without remaining parts."""
    context, unwritten = applied.context, set(left_out)
    for position in left_out:
        message = context.message_at(position)
        parts = range(message.start + 1, message.stop) if message is not None else ()
        if message is not None and message.has_header and all(p in unwritten or applied.is_removed(p) for p in parts):
            unwritten.add(message.start)
    return unwritten


def _last_turn_start(applied: Applied) -> int:
    """The raw position of the last user turn, or before which it is inserted; 0 without one."""
    tree = Tree()
    start = tree[tree.extend(ROOT, sent_items(applied))].turn_start
    return applied.items[start - 1].position if start != ROOT else 0


def side_of(place: Place) -> str:
    """The side of a block, for APIs with two sides: results are the user's."""
    return "" if place.section != "messages" else "user" if place.role in _RESULTS else place.role


def is_kept_apart(applied: Applied, position: int) -> bool:
    """Whether the raw message at `position` still follows one of the same side, as recorded."""
    context = applied.context
    if not position or applied.is_removed(position - 1):
        return False
    return side_of(context.items[position - 1].place) == side_of(context.items[position].place)
