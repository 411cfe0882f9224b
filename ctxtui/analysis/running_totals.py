"""Running totals of tokens for every prefix of a session, to look up a block's position."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from ctxtui.analysis.book import Book
from ctxtui.analysis.read.absence import Absence, Absences
from ctxtui.core.block import HEADER
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import is_read

_THINKING = INDEX["thinking"]


class _AbsentTotals:
    """Running totals of the absent blocks of a context: tokens, and tokens by category index."""

    def __init__(self, nodes: Sequence[int], parts: Sequence[dict[int, int]]) -> None:
        self._nodes = nodes
        self._sums = [(0,) * len(INDEX)]
        for part in parts:
            self._sums.append(tuple(n + part.get(category, 0) for category, n in enumerate(self._sums[-1])))
        self._totals = [sum(sums) for sums in self._sums]

    def tokens_until(self, node: int, start: int = ROOT) -> int:
        return self._totals[bisect_right(self._nodes, node)] - self._totals[bisect_left(self._nodes, start)]

    def by_category(self, node: int, start: int = ROOT) -> tuple[int, ...]:
        """Like `tokens_until`, per category index."""
        last, first = self._sums[bisect_right(self._nodes, node)], self._sums[bisect_left(self._nodes, start)]
        return tuple(a - b for a, b in zip(last, first, strict=True))


class RunningTotals:
    """Whole tokens of every prefix in a session's tree, as one model counts them.

    `advance` takes over new counts and weights of the session's `Book`; a worker thread may call it. The other methods
    are for nodes that are `is_counted`. A header's tokens are counted with the first block after it. `version` is that
    of the book's weights; the totals stay in use until those under new weights are complete.
    """

    def __init__(self, book: Book, model: str) -> None:
        self._book = book
        self._tree = book.session.tree
        self._model = model
        self.strips_thinking = book.card(model).strips_thinking
        self.version = book.version
        self._total, self._thinking = _empty_totals()
        self._next = (self.version, *_empty_totals())
        self.moved_categories: dict[int, int] = {}
        """Displayed category by node, for blocks that label rules move to another category."""
        self._along: tuple[Absences | None, tuple[int, ...], Sequence[int]] = None, (), ()
        """Absences and key (context, version, number of nodes) of the last `read_along`, and its result."""
        self._gone: tuple[Absences | None, int, _AbsentTotals, _AbsentTotals] = (None, 0, *_no_absences())
        """The last absences, the version of their totals, and these: of thinking, and of everything else."""

    @property
    def done(self) -> int:
        """Number of counted nodes: those with a smaller id."""
        return len(self._thinking)

    def is_counted(self, node: int) -> bool:
        return node < len(self._thinking)

    @property
    def is_behind(self) -> bool:
        """Whether the book has newer counts or weights."""
        return self.version != self._book.version or self.done < self._book.cumulated(self._model).done

    def advance(self, limit: int | None = None) -> None:
        """Add up to `limit` further nodes (None: all) under the book's current weights."""
        if self.version == self._book.version:
            self._extend_totals(self._total, self._thinking, limit)
            return
        if self._next[0] != self._book.version:
            self._next = (self._book.version, *_empty_totals())
        version, total, thinking = self._next
        self._extend_totals(total, thinking, limit)
        if len(thinking) >= self.done:
            self._total, self._thinking, self.version = total, thinking, version

    def _extend_totals(self, totals: array[int], thoughts: array[int], limit: int | None) -> None:
        book, model = self._book, self._model
        # The weights of one version, also if another thread publishes new ones meanwhile.
        cumulated, whole_tokens = book.cumulated(model), book.whole_tokens(model)
        first, last = len(thoughts), cumulated.done
        for id_ in range(first, last if limit is None else min(last, first + limit)):
            node = self._tree[id_]
            categories, block_tokens = cumulated.categories(id_), 0
            if node.block.kind != HEADER:
                for c in categories:
                    block_tokens += whole_tokens.category_tokens(id_, c) - whole_tokens.category_tokens(node.parent, c)
            if len(categories) > 1 or categories[0] != node.category:
                self._note_moved_category(id_)
            thinking = block_tokens if node.category == _THINKING else 0
            totals.append(totals[node.parent] + block_tokens)
            thoughts.append(thoughts[node.parent] + thinking)

    def _note_moved_category(self, node: int) -> None:
        shown_category = self._book.category(self._model, node)
        if shown_category != self._tree[node].category:
            self.moved_categories[node] = shown_category

    def category(self, node: int) -> int:
        """The category of a block, as `Book.category` gives it."""
        return self.moved_categories.get(node, self._tree[node].category)

    def block_tokens(self, node: int) -> int:
        """Tokens of one block, with its message's header if it is the first part; 0 for the root."""
        return self._total[node] - self._total[self._tree[node].parent] if node != ROOT else 0

    def between(self, first: int, last: int) -> int:
        """Tokens of the blocks from `first` to `last`, both included."""
        return self._total[last] - self._total[self._tree[first].parent]

    def is_read(self, head: int, node: int) -> bool:
        return (
            is_read(self._tree, head, node, strips_thinking=self.strips_thinking) and self.absence(head, node) is None
        )

    def absence(self, head: int, node: int) -> Absence | None:
        """Why the block of `node` is absent from the context `head`, by a report; None: it is not."""
        return self._book.contexts.absences_at(head).get(node)

    def sent_tokens(self, head: int, node: int) -> int:
        """Like `read_tokens`, with the blocks that a report shows to be absent.

        Thinking that the provider always drops is left out here too.
        """
        return self._sent_reader(head)(node)

    def read_tokens(self, head: int, node: int) -> int:
        """Tokens that the provider reads of the context `head` up to and including `node`."""
        return self.token_reader(head)(node)

    def token_reader(self, head: int) -> Callable[[int], int]:
        """Return `read_tokens` for one context, for many nodes on its path."""
        sent_until, absences = self._sent_reader(head), self._book.contexts.absences_at(head)
        if not absences:
            return sent_until
        start = self._tree[head].turn_start if self.strips_thinking else ROOT
        thoughts, other_totals = self._totals_of_absences(absences)
        return lambda node: (
            sent_until(node)
            - other_totals.tokens_until(node)
            - (thoughts.tokens_until(node, start) if node >= start else 0)
        )

    def read_along(self, head: int, nodes: Sequence[int]) -> Sequence[int]:
        """`read_tokens` of the context `head` at each of its `nodes`; the last result is cached."""
        absences, last = self._book.contexts.absences_at(head), self._along
        if last[0] is not absences or last[1] != (head, self.version, len(nodes)):
            last = self._along = (
                absences,
                (head, self.version, len(nodes)),
                array("q", map(self.token_reader(head), nodes)),
            )
        return last[2]

    def _sent_reader(self, head: int) -> Callable[[int], int]:
        total, thinking, start = self._total, self._thinking, self._tree[head].turn_start
        if not self.strips_thinking or start == ROOT:
            return total.__getitem__
        stale = thinking[self._tree[start].parent]
        return lambda node: total[node] - (thinking[node] if node < start else stale)

    def sums(self, head: int, node: int) -> tuple[int, ...]:
        """Like `read_tokens`, per category index."""
        sums = self._book.sums(self._model, node)
        start = self._tree[head].turn_start if self.strips_thinking else ROOT
        if start != ROOT:
            stale = self._thinking[node if node < start else self._tree[start].parent]
            sums = (*sums[:_THINKING], sums[_THINKING] - stale, *sums[_THINKING + 1 :])
        absences = self._book.contexts.absences_at(head)
        if not absences:
            return sums
        thoughts, other_totals = self._totals_of_absences(absences)
        parts = [other_totals.by_category(node), *([thoughts.by_category(node, start)] if node >= start else [])]
        return tuple(n - sum(absent_tokens) for n, *absent_tokens in zip(sums, *parts, strict=True))

    def _totals_of_absences(self, absences: Absences) -> tuple[_AbsentTotals, _AbsentTotals]:
        cached, version, thoughts, other_totals = self._gone
        if cached is not absences or version != self.version:
            thoughts, other_totals = (
                self._absent_totals(
                    [n for n in absences.by_node if (self._tree[n].category == _THINKING) == thought], absences
                )
                for thought in (True, False)
            )
            self._gone = (absences, self.version, thoughts, other_totals)
        return thoughts, other_totals

    def _absent_totals(self, nodes: list[int], absences: Absences) -> _AbsentTotals:
        parts = [dict(self._book.block_tokens_by_category(self._model, node)) for node in nodes]
        for node, part in zip(nodes, parts, strict=True):
            # The replacement of a cleared result is still read.
            part[next(iter(part))] -= min(absences.by_node[node].left, sum(part.values()))
        return _AbsentTotals(nodes, parts)


def _no_absences() -> tuple[_AbsentTotals, _AbsentTotals]:
    return _AbsentTotals((), ()), _AbsentTotals((), ())


def _empty_totals() -> tuple[array[int], array[int]]:
    return array("q", [0]), array("q", [0])


def running_totals(book: Book) -> Callable[[str], RunningTotals]:
    """Return a function from a model to its running totals. Everything in `book` must be counted."""
    by_model: dict[str, RunningTotals] = {}

    def totals_of(model: str) -> RunningTotals:
        totals = by_model.get(model)
        if totals is None:
            totals = by_model[model] = RunningTotals(book, model)
            totals.advance()
        return totals

    return totals_of
