"""Diff of two contexts: of two calls in one tree, or of two sessions.

A block with another id or spelling is *respelled*, one with other words is *changed*. The same content in another
session's dialect is no change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.content.first_difference import read_nodes, reads_block
from ctxtui.analysis.content.normalized import diff_text, neutral_key
from ctxtui.analysis.figures import block_figure, figures, not_recorded_tokens
from ctxtui.core.block import Block
from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.sequence_diff import Range, align
from ctxtui.core.tree import Node, Tree

CHANGED, ENTERED, LEFT, RESPELLED = "changed", "entered", "left", "respelled"
"""Kinds of changes: other words in its place; only in the second context; only in the first; the same words with
another id or spelling, which a cache treats as different."""

TAKEN_OUT: Final = "taken out by the provider"
"""Reason why thinking of earlier turns is not read."""


class DiffSide(Struct, frozen=True):
    """A call of the session that `book` counts; everything on its path must be counted."""

    book: Book
    chosen: ChosenCall

    @property
    def tree(self) -> Tree:
        return self.book.session.tree

    def rows(self) -> list[int]:
        """Nodes that the model read, in prompt order, without headers."""
        return read_nodes(self.book, self.chosen.call)

    def unread_reason(self, node: int) -> str:
        """Reason why the model did not read a block of the context. "" if it did, or if it is not in it."""
        book, call = self.book, self.chosen.call
        if not self.tree.holds(call.sent_head, node) or reads_block(book, call, node):
            return ""
        absence = book.contexts.absences_at(call.sent_head).get(node)
        return TAKEN_OUT if absence is None else absence.reason_text

    @property
    def context_tokens(self) -> int:
        return figures(self.book, self.chosen.call).context_tokens

    def category(self, node: int) -> int:
        return self.book.category(self.chosen.call.model, node)

    def by_category(self, node: int) -> dict[int, int]:
        """Like `tokens`, by category index."""
        tokens, parts = self.tokens(node), self.book.block_tokens_by_category(self.chosen.call.model, node)
        # For a block that is partly read, the parts are unknown.
        return parts if sum(parts.values()) == tokens else {self.category(node): tokens}

    def tokens(self, node: int) -> int:
        """Tokens of one block that the model reads; 0 if it does not read it."""
        figure = block_figure(self.book, self.chosen.call, node)
        return figure.tokens if figure.read else 0


def first_call_numbers(side: DiffSide) -> Callable[[int], int]:
    """Return a function from a node to the first call of the thread (from 1) that held it.

    If none did, it is the side's own call.
    """
    lifetimes = BlockLifetimes(side.tree)
    lifetimes.advance(side.book.session.thread_calls(side.chosen.thread) or [side.chosen.call])

    def number(node: int) -> int:
        first = lifetimes.first_call(node)
        return side.chosen.number if first is None else first + 1

    return number


class Change(Struct, frozen=True):
    """One difference between two contexts: nodes, and tokens. None on the side that lacks the block.

    `at` is its position, from 1, among the blocks of `DiffSide.rows`; of the second side if both have it.
    """

    kind: str
    before: int | None
    after: int | None
    tokens_before: int | None
    tokens_after: int | None
    at: int


class Diff(Struct, frozen=True, kw_only=True):
    """Changes from the context of `a` to that of `b`.

    Both begin with `shared` blocks (`shared_tokens`). Of the later blocks, `kept` are in both (`kept_tokens`), with
    the respelled ones. Their tokens are those of `b`. `changes` are in prompt order.
    """

    a: DiffSide
    b: DiffSide
    shared: int
    shared_tokens: int
    kept: int
    kept_tokens: int
    changes: tuple[Change, ...]

    def removal_reason(self, change: Change) -> str:
        """Why a block that the second context still holds is not read there; else ""."""
        if change.kind != LEFT or change.before is None or self.a.tree is not self.b.tree:
            return ""
        return self.b.unread_reason(change.before)

    @property
    def token_of_difference(self) -> int:
        """Tokens of the second context before the first difference, with unrecorded ones."""
        return self.shared_tokens + (not_recorded_tokens(self.b.book, self.b.chosen.call) or 0)

    @property
    def is_same(self) -> bool:
        return not self.changes

    @property
    def first_change(self) -> Change | None:
        return self.changes[0] if self.changes else None

    def count_changes(self, kind: str) -> tuple[int, int, int]:
        """Number of changes of a kind, and their tokens before and after."""
        changes = [change for change in self.changes if change.kind == kind]
        before, after = (sum(c.tokens_before or 0 for c in changes), sum(c.tokens_after or 0 for c in changes))
        return len(changes), before, after


def compare_contexts(a: DiffSide, b: DiffSide) -> Diff:
    """Compare the blocks that the models of two calls read."""
    old_rows, new_rows = a.rows(), b.rows()
    shared = _count_shared(a, b, old_rows, new_rows)
    changes: list[Change] = []
    kept_count = kept_tokens = 0
    for (start, end), (first, last), equal in matching_ranges(a.tree, b.tree, old_rows[shared:], new_rows[shared:]):
        olds, news = old_rows[shared + start : shared + end], new_rows[shared + first : shared + last]
        if equal:
            kept_count, kept_tokens = kept_count + len(news), kept_tokens + sum(map(b.tokens, news))
            changes += _find_respelled(a, b, olds, news, shared + first)
        else:
            changes += _find_changes(a, b, olds, news, (shared + start, shared + first))
    return Diff(
        a=a,
        b=b,
        shared=shared,
        shared_tokens=sum(map(b.tokens, new_rows[:shared])),
        kept=kept_count,
        kept_tokens=kept_tokens,
        changes=tuple(changes),
    )


def _count_shared(a: DiffSide, b: DiffSide, old_rows: Sequence[int], new_rows: Sequence[int]) -> int:
    # Headers are no rows: the same blocks may follow a header that is spelled differently.
    same, count = a.tree is b.tree, 0
    while count < min(len(old_rows), len(new_rows)) and (
        (same and old_rows[count] == new_rows[count])
        or _block_key(a.tree[old_rows[count]]) == _block_key(b.tree[new_rows[count]])
    ):
        count += 1
    return count


def _find_respelled(
    a: DiffSide, b: DiffSide, old_rows: Sequence[int], new_rows: Sequence[int], start: int
) -> Iterator[Change]:
    for number, (old, new) in enumerate(zip(old_rows, new_rows, strict=True), start + 1):
        before, after = a.tree[old].block, b.tree[new].block
        # Between two sessions, the same words in another shape come from another dialect.
        if before.digest != after.digest and (a.tree is b.tree or _shape_of(before) == _shape_of(after)):
            yield Change(RESPELLED, old, new, a.tokens(old), b.tokens(new), number)


def _shape_of(block: Block) -> Hashable:
    value = block.value()
    return block.kind, frozenset(value) if isinstance(value, dict) else type(value)


def _find_changes(
    a: DiffSide, b: DiffSide, old_rows: Sequence[int], new_rows: Sequence[int], starts: tuple[int, int]
) -> Iterator[Change]:
    """Yield changes in order; a block and its other version are one."""
    pairs = dict(match_versions(a.tree, b.tree, old_rows, new_rows))
    done = 0
    for old_index, old in enumerate(old_rows):
        new_index = pairs.get(old_index)
        if new_index is None:
            yield Change(LEFT, old, None, a.tokens(old), None, starts[0] + old_index + 1)
            continue
        yield from _make_entered(b, new_rows[done:new_index], starts[1] + done)
        yield Change(
            CHANGED, old, new_rows[new_index], a.tokens(old), b.tokens(new_rows[new_index]), starts[1] + new_index + 1
        )
        done = new_index + 1
    yield from _make_entered(b, new_rows[done:], starts[1] + done)


def _make_entered(side: DiffSide, nodes: Sequence[int], start: int) -> Iterator[Change]:
    for number, node in enumerate(nodes, start + 1):
        yield Change(ENTERED, None, node, None, side.tokens(node), number)


_MAX_DISTANCE: Final = 24
"""Blocks searched for a block's changed version."""
_MIN_OVERLAP: Final = 0.4
"""Share of common words in two versions of one block."""
_MAX_CHARACTERS: Final = 50_000
"""Characters of a block that are compared to find its other version."""


def _block_key(node: Node) -> Hashable:
    return node.block.digest, node.category


def matching_ranges(
    a: Tree, b: Tree, old_rows: Sequence[int], new_rows: Sequence[int]
) -> Iterator[tuple[Range, Range, bool]]:
    """Yield ranges of both sides, and whether they have equal content."""
    olds, news = [_block_key(a[n]) for n in old_rows], [_block_key(b[n]) for n in new_rows]
    for (start, end), (first, last) in align(olds, news):
        if olds[start:end] == news[first:last]:
            yield (start, end), (first, last), True
            continue
        old_keys = [neutral_key(a[n]) for n in old_rows[start:end]]
        new_keys = [neutral_key(b[n]) for n in new_rows[first:last]]
        for (low, high), (left, right) in align(old_keys, new_keys):
            equal = old_keys[low:high] == new_keys[left:right]
            yield (start + low, start + high), (first + left, first + right), equal


def match_versions(a: Tree, b: Tree, old_rows: Sequence[int], new_rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of indices: a removed and an added block that are two versions of one block."""
    is_single_pair, free = len(old_rows) == len(new_rows) == 1, 0
    for old_index, old in enumerate(old_rows):
        for new_index in range(free, min(len(new_rows), free + _MAX_DISTANCE)):
            if _are_versions(a[old], b[new_rows[new_index]], is_single_pair):
                yield old_index, new_index
                free = new_index + 1
                break


def _are_versions(old: Node, new: Node, is_single_pair: bool) -> bool:
    if old.category != new.category:
        return False
    if is_single_pair and CATEGORIES[old.category] not in ("tool_call", "tool_result"):
        return True
    was, now = read(old.block), read(new.block)
    # Google's results without an id name the tool instead.
    has_same_id = was.call_id == now.call_id and was.call_id not in ("", was.name)
    if has_same_id or (CATEGORIES[old.category] == "tools" and was.name == now.name):
        return True
    if was.name != now.name:
        return False
    return word_overlap(diff_text(old), diff_text(new)) >= _MIN_OVERLAP


def word_overlap(first: str, second: str) -> float:
    """Common words as a share (0 to 1) of those of the longer text; 1 if both are empty."""
    first_words, second_words = Counter(first[:_MAX_CHARACTERS].split()), Counter(second[:_MAX_CHARACTERS].split())
    most = max(first_words.total(), second_words.total())
    return (first_words & second_words).total() / most if most else 1.0
