"""Running totals as plain numbers: which block stands at which token of a context, without arithmetic on features."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.analysis.book import Book
from ctxtui.core.block import HEADER
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT

_THINKING = INDEX["thinking"]


class RunningTotals:
    """Whole tokens of every prefix in a session's tree, as one model counts them.

    `advance` follows the book (a worker thread may call it); the rest only reads, for nodes that are `counted`. A
    block's tokens are those of `analysis.figures`: differences of rounded running sums, so that rows add up to figures.
    When the book has learnt new weights, `advance` makes the totals anew beside the old ones, and swaps them when they
    are as many; `version` is that of the weights behind those that are read.
    """

    def __init__(self, book: Book, model: str) -> None:
        self._book = book
        self._tree = book.session.tree
        self._model = model
        self.strips_thinking = book.card(model).strips_thinking
        self.version = book.version
        self._total, self._thinking = _none()
        self._next = (self.version, *_none())
        self.elsewhere: dict[int, int] = {}
        """Nodes whose block counts mostly in another category than its own, because label rules split it: that one."""

    @property
    def done(self) -> int:
        """Nodes with an id below this are known."""
        return len(self._thinking)

    def counted(self, node: int) -> bool:
        """Whether the tokens up to `node` are known yet."""
        return node < len(self._thinking)

    @property
    def behind(self) -> bool:
        """Whether `advance` has anything to do."""
        return self.version != self._book.version or self.done < self._book.cumulated(self._model).done

    def advance(self, limit: int | None = None) -> None:
        """Take in what the book has counted or learnt since, at most `limit` nodes."""
        if self.version == self._book.version:
            self._extend(self._total, self._thinking, limit)
            return
        if self._next[0] != self._book.version:
            self._next = (self._book.version, *_none())
        version, total, thinking = self._next
        self._extend(total, thinking, limit)
        if len(thinking) >= self.done:
            self._total, self._thinking, self.version = total, thinking, version

    def _extend(self, totals: list[int], thoughts: list[int], limit: int | None) -> None:
        book, model = self._book, self._model
        ways = book.cumulated(model)
        first, last = len(thoughts), book.cumulated(model).done
        for id_ in range(first, last if limit is None else min(last, first + limit)):
            node = self._tree[id_]
            own = 0 if node.block.kind == HEADER else book.own(model, id_)
            categories = ways.categories(id_)
            if len(categories) > 1 or categories[0] != node.category:
                self._place(id_)
            thinking = own if node.category == _THINKING else 0
            totals.append(totals[node.parent] + own)
            thoughts.append(thoughts[node.parent] + thinking)

    def _place(self, node: int) -> None:
        parts = self._book.own_by_category(self._model, node)
        most = max(parts, key=lambda category: parts[category])
        if most != self._tree[node].category:
            self.elsewhere[node] = most

    def category(self, node: int) -> int:
        """The index of the category that the block of `node` is shown in: where most of it counts."""
        return self.elsewhere.get(node, self._tree[node].category)

    def is_split(self, node: int) -> bool:
        """Whether label rules count the block of `node` in more than one category."""
        return len(self._book.cumulated(self._model).categories(node)) > 1

    def own(self, node: int) -> int:
        """Tokens of one block, with its message's header where it is the first part."""
        return self._total[node] - self._total[self._tree[node].parent] if node != ROOT else 0

    def between(self, first: int, last: int) -> int:
        """Tokens of the blocks from node `first` to node `last` further down the same path, both included."""
        return self._total[last] - self._total[self._tree[first].parent]

    def read(self, head: int, node: int) -> int:
        """Tokens that the provider reads of the context `head` up to and with `node`, which is on its path."""
        total = self._total[node]
        if not self.strips_thinking:
            return total
        start = self._tree[head].turn_start
        earlier = node if start == ROOT or node < start else self._tree[start].parent
        return total - (0 if start == ROOT else self._thinking[earlier])

    def reading(self, head: int) -> Callable[[int], int]:
        """`read` of one context, for many nodes on its path."""
        total, thinking, start = self._total, self._thinking, self._tree[head].turn_start
        if not self.strips_thinking or start == ROOT:
            return total.__getitem__
        gone = thinking[self._tree[start].parent]
        return lambda node: total[node] - (thinking[node] if node < start else gone)

    def sums(self, head: int, node: int) -> tuple[int, ...]:
        """As `read`, per category index."""
        sums = self._book.sums(self._model, node)
        start = self._tree[head].turn_start
        if not self.strips_thinking or start == ROOT:
            return sums
        earlier = self._thinking[node if node < start else self._tree[start].parent]
        return (*sums[:_THINKING], sums[_THINKING] - earlier, *sums[_THINKING + 1 :])


def _none() -> tuple[list[int], list[int]]:
    """The totals of the empty context: tokens, and tokens of thinking."""
    return [0], [0]


def running_of(book: Book) -> Callable[[str], RunningTotals]:
    """The running totals of each model of a book that is counted, made when they are asked for."""
    made: dict[str, RunningTotals] = {}

    def of(model: str) -> RunningTotals:
        found = made.get(model)
        if found is None:
            found = made[model] = RunningTotals(book, model)
            found.advance()
        return found

    return of
