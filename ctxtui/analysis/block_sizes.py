"""Token counts of the blocks of one context, which may grow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container

from ctxtui.analysis.book import Book
from ctxtui.core.block import HEADER, Block
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import THINKING, Context
from ctxtui.tokens.weights import weigh


class BlockSizes:
    """Tokens of the blocks of one context by raw position, as one model reads them."""

    def __init__(self, book: Book, model: str, context: Context) -> None:
        self._context = context
        self._weights = book.weights(model)
        self._measure = book.measure(model)
        self._strips = book.card(model).strips_thinking
        self._tokens: list[int] = []
        self._by_digest: dict[str, int] = {}
        self._person_position = 0
        self._sum = 0
        self.grow()

    @property
    def person_position(self) -> int:
        """Position at which the turn begins, if the provider drops thinking before it; else 0."""
        return self._person_position

    def grow(self) -> None:
        """Count the blocks that were added to the context since."""
        items = self._context.items
        for position in range(len(self._tokens), len(items)):
            self._tokens.append(self.block_tokens(items[position].block))
            self._sum += self._tokens[-1]
        if self._strips:
            tree = self._context.tree
            start = tree[self._context.head].turn_start
            self._person_position = tree[start].depth - 1 if start != ROOT else 0

    def block_tokens(self, block: Block) -> int:
        """Tokens of any block, without the header of its message; 0 for a header."""
        if block.kind == HEADER:
            return 0
        tokens = self._by_digest.get(block.digest)
        if tokens is None:
            tokens = self._by_digest[block.digest] = round(weigh(self._measure(block), self._weights))
        return tokens

    @property
    def total(self) -> int:
        """Tokens of all blocks that are read."""
        if not self._person_position:
            return self._sum
        stripped = (p for p in self._context.thinking if p < self._person_position)
        return self._sum - sum(self._tokens[p] for p in stripped)

    def stripped_tokens(self, before: int, positions: Container[int]) -> int:
        """Tokens of newly dropped thinking at `positions`.

        `before` is the earlier `person_position`.
        """
        thinking = self._context.thinking
        newly_stripped = thinking[bisect_left(thinking, before) : bisect_left(thinking, self._person_position)]
        return sum(self._tokens[position] for position in newly_stripped if position in positions)

    def tokens_at(self, position: int) -> int:
        """Tokens of the block at a raw position; 0 for thinking that the provider removes."""
        if position < self._person_position and self._context.items[position].block.kind in THINKING:
            return 0
        return self._tokens[position]
