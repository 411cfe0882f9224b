"""What all variants of a thread share at one call: the recorded context, what its blocks come to, who quotes whom."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container

from ctxtui.analysis.book import Book
from ctxtui.core.block import HEADER, Block
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import THINKING, Context
from ctxtui.curation.price.dependence import Literals
from ctxtui.tokens.weights import tokens
from ctxtui.wire.grammars import ANTHROPIC
from ctxtui.wire.translate.anthropic import is_signed


class SharedContext:
    """The recorded context of one thread, call by call."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.context: Context | None = None
        self.literals: Literals | None = None
        self.made = False
        """Whether its request is not on record: what would leave is built anew."""
        self._unsigned: list[int] = []
        self._signed_upto = 0
        self._unwritten: tuple[int, frozenset[int]] = (-1, frozenset())
        self._sizes: dict[str, BlockSizes] = {}
        self._earlier: tuple[Context | None, Literals | None] = (None, None)

    def literals_of(self, context: Context) -> Literals:
        """The literals of `context`: the one of this call, or the one that stood before it."""
        known = self.literals if context is self.context else self._earlier[1] if context is self._earlier[0] else None
        return known if known is not None else Literals(context)

    def go(self, call: Call) -> Context:
        """The context of `call`: the one before, grown, where it goes on from it."""
        made = call.skeleton is None
        before = self.context
        if before is not None and made == self.made and (made or before.dialect == _dialect(call)):
            found = before.grown(call.sent_head)
        else:
            found = Context.of_call(self._book.session.tree, call, call.sent_head)
        if found is not before:
            self._earlier = (before, self.literals)
            self.context, self.literals = found, Literals(found)
            self._unsigned, self._signed_upto, self._sizes, self._unwritten = [], 0, {}, (-1, frozenset())
        self.made = made
        return found

    @property
    def unwritten(self) -> frozenset[int]:
        """The positions of what a request that is built from a transcript leaves out (`request_counts.left_out`)."""
        context = self.context
        if context is None or not self.made:
            return frozenset()
        if self._unwritten[0] == len(context):
            return self._unwritten[1]
        if context.dialect == ANTHROPIC:
            for position in range(self._signed_upto, len(context)):
                block = context.items[position].block
                if block.kind in THINKING and not is_signed(block.value()):
                    self._unsigned.append(position)
            self._signed_upto = len(context)
        found = frozenset((*self._unsigned, *context.unanswered))
        # The same object where nothing changed: who holds it against the one of the call before sees that at once.
        self._unwritten = len(context), self._unwritten[1] if found == self._unwritten[1] else found
        return self._unwritten[1]

    def sizes(self, model: str) -> BlockSizes:
        """The tokens of its blocks as `model` counts them."""
        assert self.context is not None
        found = self._sizes.get(model)
        if found is None:
            found = self._sizes[model] = BlockSizes(self._book, model, self.context)
        found.grow()
        return found


class BlockSizes:
    """Tokens of the blocks of one context, by raw position, as one model reads them."""

    def __init__(self, book: Book, model: str, context: Context) -> None:
        self._context = context
        self._weights = book.weights(model)
        self._measure = book.measure(model)
        self._strips = book.card(model).strips_thinking
        self._own: list[int] = []
        self._known: dict[str, int] = {}
        self._asked = 0
        self._sum = 0

    @property
    def asked(self) -> int:
        """The position in front of which thinking does not count."""
        return self._asked

    def grow(self) -> None:
        """Take in what came to the context."""
        items = self._context.items
        for position in range(len(self._own), len(items)):
            self._own.append(self.of(items[position].block))
            self._sum += self._own[-1]
        if self._strips:
            tree = self._context.tree
            start = tree[self._context.head].turn_start
            self._asked = tree[start].depth - 1 if start != ROOT else 0

    def of(self, block: Block) -> int:
        """Tokens of any block; headers count with what follows them."""
        if block.kind == HEADER:
            return 0
        found = self._known.get(block.digest)
        if found is None:
            found = self._known[block.digest] = round(tokens(self._measure(block), self._weights))
        return found

    @property
    def whole(self) -> int:
        """Tokens of all its blocks."""
        if not self._asked:
            return self._sum
        stripped = (p for p in self._context.thinking if p < self._asked)
        return self._sum - sum(self._own[p] for p in stripped)

    def stripped(self, before: int, positions: Container[int]) -> int:
        """Tokens of thinking at `positions` that the provider takes out by now, and did not when it took out what
        stands in front of `before`."""
        thinking = self._context.thinking
        here = thinking[bisect_left(thinking, before) : bisect_left(thinking, self._asked)]
        return sum(self._own[position] for position in here if position in positions)

    def at(self, position: int) -> int:
        """Tokens of the block at a raw position; none of thinking that the provider takes out."""
        if position < self._asked and self._context.items[position].block.kind in THINKING:
            return 0
        return self._own[position]


def _dialect(call: Call) -> str:
    return call.skeleton.dialect if call.skeleton is not None else ""
