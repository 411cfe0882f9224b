"""The few blocks that came since everything was counted: fetched by the thread that read them, counted before their
rows are first seen."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.book import Book
from ctxtui.core.tree import Node
from ctxtui.services.counting.counting import Counter

MOST: Final = 64
"""Nodes that are counted in the screen's turn: some 20 microseconds each."""
_BYTES: Final = 1 << 16
"""Bytes of blocks for whose count their rows may wait: some milliseconds."""


def fetch(book: Book, counter: Counter) -> None:
    """Have them counted and searched for labels, where that takes no time to speak of; for a worker thread."""
    for model in book.models:
        card, nodes = book.card(model), _uncounted(book, model)
        if nodes and not counter.knows(card, nodes) and sum(len(node.block.body) for node in nodes) <= _BYTES:
            counter.prefetch(card, [node.block for node in nodes])
            if counter.labels is not None:
                counter.labels.prefetch(card, nodes)


def count(book: Book, counter: Counter | None) -> bool:
    """Count them, where all that takes is known already; whether everything is counted then."""
    for model in book.models:
        nodes = _uncounted(book, model)
        if nodes is None or (counter is not None and not counter.knows(book.card(model), nodes)):
            return False
    book.count(MOST)
    return all(book.cumulated(model).done == len(book.session.tree) for model in book.models)


def _uncounted(book: Book, model: str) -> list[Node] | None:
    """The nodes that are not counted yet; None where those are many."""
    tree, first = book.session.tree, book.cumulated(model).done
    return list(tree.nodes(first, len(tree))) if len(tree) - first <= MOST else None
