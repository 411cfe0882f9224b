"""The diff of two contexts: of two calls in one tree, or of two sessions.

In one tree the contexts share a path; two sessions are compared by digest. What differs there is held against each
other by what it says (`normalized`), so that another dialect or another id is told apart from other words. Blocks that
stand for each other are two versions of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.analysis.content.normalized import neutral, words_of
from ctxtui.analysis.content.parting import read_nodes, reads
from ctxtui.analysis.figures import block_figure, figures, not_recorded
from ctxtui.core.block import Block
from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.sequence_diff import Range, align
from ctxtui.core.tree import Node, Tree

CHANGED, ENTERED, LEFT, RESPELLED = "changed", "entered", "left", "respelled"
"""How a block differs: other words in its place; only in the second context; only in the first; the same words with
another id or spelling, which a cache does not take for the same."""

TAKEN_OUT: Final = "taken out by the provider"
"""Why thinking of earlier turns is not read."""


class DiffSide(Struct, frozen=True):
    """One side: a call, chosen from the session that `book` counts; everything on its path must be counted."""

    book: Book
    chosen: ChosenCall

    @property
    def tree(self) -> Tree:
        """The session's tree."""
        return self.book.session.tree

    def rows(self) -> list[int]:
        """The nodes that the model read of the context in prompt order, headers left out."""
        return read_nodes(self.book, self.chosen.call)

    def unread(self, node: int) -> str:
        """Why the model did not read a block that the context holds, in words; "" where it did, or has no such
        block."""
        book, call = self.book, self.chosen.call
        if not self.tree.holds(call.sent_head, node) or reads(book, call, node):
            return ""
        gone = book.contexts.at(call.sent_head).get(node)
        return TAKEN_OUT if gone is None else gone.says

    @property
    def context_tokens(self) -> int:
        """All tokens of the context, as `figures` has them."""
        return figures(self.book, self.chosen.call).context_tokens

    def category(self, node: int) -> int:
        """The index of the category that a block is shown in."""
        return self.book.category(self.chosen.call.model, node)

    def by_category(self, node: int) -> dict[int, int]:
        """As `tokens`, by the index of the category that they count in."""
        tokens, parts = self.tokens(node), self.book.own_by_category(self.chosen.call.model, node)
        # Of a block that is not read, or in part, nobody knows which part.
        return parts if sum(parts.values()) == tokens else {self.category(node): tokens}

    def tokens(self, node: int) -> int:
        """Tokens of one block, 0 where the provider takes it out."""
        found = block_figure(self.book, self.chosen.call, node)
        return found.tokens if found.read else 0


def since(side: DiffSide) -> Callable[[int], int]:
    """The function that gives the number (from 1) of the thread's first call whose context holds a node of the side."""
    stays = Stays(side.tree)
    stays.advance(side.book.session.thread_calls(side.chosen.thread) or [side.chosen.call])

    def number(node: int) -> int:
        first = stays.first(node)
        return side.chosen.number if first is None else first + 1

    return number


class Change(Struct, frozen=True):
    """One difference: `kind` as above; the nodes `before` and `after` in the tree of their side and their tokens (None
    on the side that lacks it); `at` is the place in the context that has it, in blocks from 1."""

    kind: str
    before: int | None
    after: int | None
    tokens_before: int | None
    tokens_after: int | None
    at: int


class Diff(Struct, frozen=True, kw_only=True):
    """What turns the context of `a` into that of `b`.

    Both begin with `shared` blocks of `shared_tokens`; of the blocks behind these `kept` stand in both. `changes` are
    in prompt order. Tokens are those of the side that a block stands on, of `b` where it stands on both.
    """

    a: DiffSide
    b: DiffSide
    shared: int
    shared_tokens: int
    kept: int
    kept_tokens: int
    changes: tuple[Change, ...]

    def why(self, change: Change) -> str:
        """Why a block left that the second context still holds, in words; "" where it does not, or did not leave."""
        if change.kind != LEFT or change.before is None or self.a.tree is not self.b.tree:
            return ""
        return self.b.unread(change.before)

    @property
    def token(self) -> int:
        """The token of the second context at which they part, system prompt and tools that are not recorded
        included."""
        return self.shared_tokens + (not_recorded(self.b.book, self.b.chosen.call) or 0)

    @property
    def same(self) -> bool:
        """Whether the model reads the same blocks."""
        return not self.changes

    @property
    def first(self) -> Change | None:
        """Where the contexts part."""
        return self.changes[0] if self.changes else None

    def total(self, kind: str) -> tuple[int, int, int]:
        """How many changes of a kind there are, and their tokens before and after."""
        mine = [change for change in self.changes if change.kind == kind]
        return (len(mine), sum(c.tokens_before or 0 for c in mine), sum(c.tokens_after or 0 for c in mine))


def diff(a: DiffSide, b: DiffSide) -> Diff:
    """The diff of two contexts. Time grows with what differs; in one tree what is shared costs nothing."""
    one, other = a.rows(), b.rows()
    shared = _shared(a, b, one, other)
    found: list[Change] = []
    kept = kept_tokens = 0
    for (start, end), (first, last), equal in parts(a.tree, b.tree, one[shared:], other[shared:]):
        olds, news = one[shared + start : shared + end], other[shared + first : shared + last]
        if equal:
            kept, kept_tokens = kept + len(news), kept_tokens + sum(map(b.tokens, news))
            found += _respelled(a, b, olds, news, shared + first)
        else:
            found += _changes(a, b, olds, news, (shared + start, shared + first))
    begun = sum(map(b.tokens, other[:shared]))
    return Diff(a=a, b=b, shared=shared, shared_tokens=begun, kept=kept, kept_tokens=kept_tokens, changes=tuple(found))


def _shared(a: DiffSide, b: DiffSide, one: Sequence[int], other: Sequence[int]) -> int:
    # Headers are no rows: behind one that is spelled otherwise the same blocks may go on.
    same, count = a.tree is b.tree, 0
    while count < min(len(one), len(other)) and (
        (same and one[count] == other[count]) or key(a.tree[one[count]]) == key(b.tree[other[count]])
    ):
        count += 1
    return count


def _respelled(a: DiffSide, b: DiffSide, one: Sequence[int], other: Sequence[int], at: int) -> Iterator[Change]:
    for number, (old, new) in enumerate(zip(one, other, strict=True), at + 1):
        before, after = a.tree[old].block, b.tree[new].block
        # The same words in another shape are another dialect's: no change of the conversation.
        if before.digest != after.digest and _shape(before) == _shape(after):
            yield Change(RESPELLED, old, new, a.tokens(old), b.tokens(new), number)


def _shape(block: Block) -> Hashable:
    value = block.value()
    return block.kind, frozenset(value) if isinstance(value, dict) else type(value)


def _changes(
    a: DiffSide, b: DiffSide, one: Sequence[int], other: Sequence[int], at: tuple[int, int]
) -> Iterator[Change]:
    """What left and what entered, in order; a block and its other version as one change."""
    pairs = dict(versions(a.tree, b.tree, one, other))
    done = 0
    for here, old in enumerate(one):
        there = pairs.get(here)
        if there is None:
            yield Change(LEFT, old, None, a.tokens(old), None, at[0] + here + 1)
            continue
        yield from _entered(b, other[done:there], at[1] + done)
        yield Change(CHANGED, old, other[there], a.tokens(old), b.tokens(other[there]), at[1] + there + 1)
        done = there + 1
    yield from _entered(b, other[done:], at[1] + done)


def _entered(side: DiffSide, nodes: Sequence[int], at: int) -> Iterator[Change]:
    for number, node in enumerate(nodes, at + 1):
        yield Change(ENTERED, None, node, None, side.tokens(node), number)


_NEAR: Final = 24
"""How many blocks further a block's changed version is looked for."""
_ALIKE: Final = 0.4
"""The share of words that two versions of one block have in common, at least."""
_COMPARED: Final = 50_000
"""Characters of a block that are compared to find its other version."""


def key(node: Node) -> Hashable:
    """What makes a block the same one, letter for letter."""
    return node.block.digest, node.category


def parts(a: Tree, b: Tree, one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[Range, Range, bool]]:
    """Ranges of both that are equal, by digest or at least in what they say, and those that are not."""
    olds, news = [key(a[n]) for n in one], [key(b[n]) for n in other]
    for (start, end), (first, last) in align(olds, news):
        if olds[start:end] == news[first:last]:
            yield (start, end), (first, last), True
            continue
        said = [neutral(a[n]) for n in one[start:end]]
        says = [neutral(b[n]) for n in other[first:last]]
        for (low, high), (left, right) in align(said, says):
            equal = said[low:high] == says[left:right]
            yield (start + low, start + high), (first + left, first + right), equal


def versions(a: Tree, b: Tree, one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Indices of blocks that are two versions of one: the same kind of thing, alike in words or in place."""
    alone, free = len(one) == len(other) == 1, 0
    for here, old in enumerate(one):
        for there in range(free, min(len(other), free + _NEAR)):
            if _are_versions(a[old], b[other[there]], alone):
                yield here, there
                free = there + 1
                break


def _are_versions(old: Node, new: Node, alone: bool) -> bool:
    if old.category != new.category:
        return False
    if alone and CATEGORIES[old.category] not in ("tool_call", "tool_result"):
        return True
    was, now = read(old.block), read(new.block)
    if (was.call_id and was.call_id == now.call_id) or (CATEGORIES[old.category] == "tools" and was.name == now.name):
        return True
    if was.name != now.name:
        return False
    return alike(words_of(old), words_of(new)) >= _ALIKE


def alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, of the longer one's: 0 to 1."""
    here, there = Counter(one[:_COMPARED].split()), Counter(other[:_COMPARED].split())
    most = max(here.total(), there.total())
    return (here & there).total() / most if most else 1.0
