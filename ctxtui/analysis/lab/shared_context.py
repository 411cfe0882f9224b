"""What all variants of a thread share at one call: the recorded context, what its blocks come to, who quotes whom."""

from __future__ import annotations

from ctxtui.analysis.block_sizes import BlockSizes
from ctxtui.analysis.book import Book
from ctxtui.core.call import Call
from ctxtui.curation.context import THINKING, Context
from ctxtui.curation.price.dependence import Literals
from ctxtui.wire.grammar import ANTHROPIC
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
            found = before.grow_to(call.sent_head)
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


def _dialect(call: Call) -> str:
    return call.skeleton.dialect if call.skeleton is not None else ""
