"""What an earlier run kept of a session's counts: taken over once the recording is read, and kept for later runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.services.counting.counting import BookStore

SHORT: Final = 1000
"""Nodes up to which a session is counted at once: it is read before anything could wait."""
_GROWN: Final = 1.2
"""Times as many nodes as were kept, from which on they are kept again."""


class KeptCounts:
    """The counts of `book` as `kept` has them; None where they are not kept."""

    def __init__(self, book: Book, kept: BookStore | None) -> None:
        self.read: bool | None = None
        """Whether all of the recording is read; None where nobody says, and nothing is taken over or kept."""
        self._book = book
        self._store = kept
        self._held: bool | None = None
        """Whether an earlier run kept figures of this recording, which wait for the end of its reading."""
        self._taken = 0
        """Nodes whose counts were taken over, where that was all of them."""
        self._nodes = 0
        """Nodes that the session had when its figures were kept, or taken over."""

    def keep(self, counted: int, *, at_once: bool) -> None:
        """Keep the figures of a session of which so many nodes are counted; `at_once`: all of it was read before."""
        store, nodes = self._store, len(self._book.session.tree)
        if store is not None and self.read and nodes > _GROWN * self._nodes and counted == nodes:
            self._nodes = nodes
            # How contexts were read was worked out at once where all the rest was taken over.
            store.keep(self._book, at_once=at_once or nodes == self._taken)

    def waits(self, counted: Callable[[], int]) -> bool:
        """Whether what is to be counted waits for figures that an earlier run kept; takes them over once the recording
        is read. `counted` gives the nodes that are counted then."""
        store = self._store
        if store is None or self._held is False or self.read is None:
            return False
        session = self._book.session
        if self._held is None and len(session.tree) > SHORT:
            self._held = store.knows(session)
        if self.read:
            if self._held:
                whole, nodes = store.restore(self._book), len(session.tree)
                self._taken = nodes if counted() == nodes else 0
                self._nodes = nodes if whole else 0
                # All may be counted then, and not yet how contexts were read.
                self._book.advance(0)
            self._held = False
        return bool(self._held)

    def taken_elsewhere(self) -> None:
        """The book has taken over what another process counted."""
        self._held, self._nodes = False, len(self._book.session.tree)
