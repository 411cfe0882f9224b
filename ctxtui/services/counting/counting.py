"""Counting blocks: features by digest, remembered; the tokenizer is loaded when the first new block needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from ctxtui.analysis.book import Book
from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.core.block import Block
from ctxtui.core.tree import Node
from ctxtui.services.config.package_data import vocabulary
from ctxtui.services.counting.label_search import Cut, LabelSearch
from ctxtui.services.counting.labels import Labels
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.encode import TokenizerFailure, count_text
from ctxtui.tokens.estimators import ESTIMATORS
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.vocab import ENCODINGS, build_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding


@cache
def tokenizer(name: str) -> Encoding:
    """The tokenizer for the encoding `name`; the first use takes about 0.4 s."""
    return build_encoding(name, vocabulary(ENCODINGS[name].vocabulary))


STEP: Final = 512
"""Nodes counted between two looks at whether to go on."""
_SHORT, _MOST = 48, 4096
"""Characters of a text that is counted once however often it comes, and how many are remembered: names of tools."""


class Bench(Protocol):
    """Where the counting is done: in this process or in another one."""

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        """The features of each of `blocks` as the model of `card` is counted."""


class LocalCounts:
    """Counts in this process. Building an encoding holds the GIL for some 0.3 s, a long text for up to 80 ms: not for a
    process with a screen."""

    def __init__(self) -> None:
        self.failures = 0
        """Texts on which the tokenizer gave up: they were taken at 4 bytes a token."""
        self._search = LabelSearch()

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        """The features of each block."""
        count = self._counter(card.encoding)
        return [count_features(block, count, card) for block in blocks]

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        """The tokens of each of `texts`."""
        return list(map(self._counter(card.encoding), texts))

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        """The labelled pieces of each block, which comes with its category."""
        count = self._counter(card.encoding)
        return [self._search.cut(labelling, category, block, count) for category, block in blocks]

    @property
    def slow(self) -> set[str]:
        """Names of the label rules that took too long and are left out."""
        return self._search.slow

    def _counter(self, name: str) -> Callable[[str], int]:
        if name in ESTIMATORS:
            return ESTIMATORS[name]

        short: dict[str, int] = {}

        def count(text: str) -> int:
            found = short.get(text) if len(text) <= _SHORT else None
            if found is not None:
                return found
            try:
                found = count_text(tokenizer(name), text)
                if len(text) <= _SHORT and len(short) < _MOST:
                    short[text] = found
                return found
            except TokenizerFailure:
                self.failures += 1
                return -(-len(text.encode("utf-8", "replace")) // 4)

        return count


class Counter:
    """Features of blocks, each counted once. A `Book` takes it as its `measure`.

    `recall` is asked once per way of counting and batch for what is remembered (the store's token counts), `unsaved`
    gives what is new. Counts belong to the digest and to `ModelCard.counting`. `labels` split the blocks, where rules
    are wanted.
    """

    def __init__(
        self,
        bench: Bench | None = None,
        recall: Callable[[str, list[str]], Mapping[str, Features]] | None = None,
        labels: Labels | None = None,
    ):
        self._bench: Bench = bench or LocalCounts()
        self._recall = recall
        self.labels = labels
        self._known: dict[str, dict[str, Features]] = {}
        self._new: dict[str, dict[str, Features]] = {}
        self._changing = threading.Lock()
        """Held while `_new` is changed: two threads count, and one keeps what they counted."""

    def __call__(self, card: ModelCard) -> Callable[[Block], Features]:
        """The function that gives a block's features as the model of `card` is counted."""
        known = self._known.setdefault(way(card), {})

        def measure(block: Block) -> Features:
            found = known.get(block.digest)
            if found is None:
                self.prefetch(card, [block])
                found = known[block.digest]
            return found

        return measure

    def prefetch(self, card: ModelCard, blocks: Iterable[Block]) -> None:
        """Count those of `blocks` that are not known yet, in one go."""
        name = way(card)
        known = self._known.setdefault(name, {})
        missing = {block.digest: block for block in blocks if block.digest not in known}
        if missing and self._recall is not None:
            known.update(self._recall(name, list(missing)))
            missing = {digest: block for digest, block in missing.items() if digest not in known}
        if missing:
            counted = self._bench.features(card, list(missing.values()))
            fresh = dict(zip(missing, counted, strict=True))
            known.update(fresh)
            with self._changing:
                self._new.setdefault(name, {}).update(fresh)

    def knows(self, card: ModelCard, nodes: Sequence[Node]) -> bool:
        """Whether nothing of `nodes` has to be counted, or searched for labels, any more."""
        known = self._known.get(way(card), {})
        return all(node.block.digest in known for node in nodes) and (
            self.labels is None or self.labels.knows(card, nodes)
        )

    def unsaved(self) -> Mapping[str, Mapping[str, tuple[float, ...]]]:
        """What was worked out since the last call, by way of counting and digest: for the store to keep."""
        with self._changing:
            new, self._new = self._new, {}
        return {**new, **(self.labels.unsaved() if self.labels else {})}


FORMULAS: Final = 3
"""Raised when `count_features` counts differently: what was remembered before is then not used."""


def way(card: ModelCard) -> str:
    """How a model is counted, as a short text: what a remembered count is filed under."""
    return "|".join(map(str, (FORMULAS, *card.counting)))


def count_on(book: Book, counter: Counter, limit: int = STEP) -> tuple[int, int]:
    """Count up to `limit` further nodes of `book`, new blocks in one batch; returns (nodes counted, nodes in all).

    For a worker: call it until both are equal.
    """
    tree = book.session.tree
    for model in book.models:
        first = book.cumulated(model).done
        last = min(len(tree), first + limit)
        if first < last:
            counter.prefetch(book.card(model), (tree[node].block for node in range(first, last)))
            if counter.labels is not None:
                counter.labels.prefetch(book.card(model), (tree[node] for node in range(first, last)))
    return book.advance(limit)


def count_all(book: Book, counter: Counter) -> None:
    """Count everything that is in the session now."""
    done, total = 0, 1
    while done < total:
        done, total = count_on(book, counter, STEP * 8)
