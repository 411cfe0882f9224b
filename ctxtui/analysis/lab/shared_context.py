"""Data that all variants of a thread share at one call: context, token counts, quotes."""

from __future__ import annotations

from ctxtui.analysis.block_sizes import BlockSizes
from ctxtui.analysis.book import Book
from ctxtui.analysis.request_counts import omitted_positions
from ctxtui.core.call import Call
from ctxtui.curation.context import Context
from ctxtui.curation.price.dependence import Literals


class SharedContext:
    """The recorded context of one thread, call by call."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.context: Context | None = None
        self.literals: Literals | None = None
        self.is_rebuilt = False
        """Whether its request is not recorded, so that it would be built anew."""
        self._unwritten: tuple[int, frozenset[int]] = (-1, frozenset())
        self._sizes: dict[str, BlockSizes] = {}
        self._earlier: tuple[Context | None, Literals | None] = (None, None)

    def literals_of(self, context: Context) -> Literals:
        literals = (
            self.literals if context is self.context else self._earlier[1] if context is self._earlier[0] else None
        )
        return literals if literals is not None else Literals(context)

    def move_to(self, call: Call) -> Context:
        """Move to the context of `call`: the previous one, grown, if it extends it."""
        is_rebuilt = call.skeleton is None
        before = self.context
        if before is not None and is_rebuilt == self.is_rebuilt and (is_rebuilt or before.dialect == _dialect_of(call)):
            context = before.grow_to(call.sent_head)
        else:
            context = Context.of_call(self._book.session.tree, call, call.sent_head)
        if context is not before:
            self._earlier = (before, self.literals)
            self.context, self.literals = context, Literals(context)
            self._sizes, self._unwritten = {}, (-1, frozenset())
        self.is_rebuilt = is_rebuilt
        return context

    @property
    def unwritten(self) -> frozenset[int]:
        """Positions that a request built from a transcript leaves out; empty for other requests."""
        context = self.context
        if context is None or not self.is_rebuilt:
            return frozenset()
        if self._unwritten[0] == len(context):
            return self._unwritten[1]
        positions = frozenset(omitted_positions(context))
        # Return the same object if nothing changed, so that callers can compare by identity.
        self._unwritten = len(context), self._unwritten[1] if positions == self._unwritten[1] else positions
        return self._unwritten[1]

    def sizes(self, model: str) -> BlockSizes:
        """Tokens of the context's blocks, as `model` counts."""
        assert self.context is not None
        sizes = self._sizes.get(model)
        if sizes is None:
            sizes = self._sizes[model] = BlockSizes(self._book, model, self.context)
        sizes.grow()
        return sizes


def _dialect_of(call: Call) -> str:
    return call.skeleton.dialect if call.skeleton is not None else ""
