"""Counts the features of blocks by digest.

Features are raw counts (tokens of prose, of JSON, of images ...), to which a model's weights are applied. The tokenizer
is loaded for the first block that is not cached.
"""

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


STEP_NODES: Final = 512
_MAX_CACHED_CHARS, _MAX_CACHED_TEXTS = 48, 4096
"""Maximum characters of a text whose count is cached, such as a tool's name; maximum number of such texts."""


class Bench(Protocol):
    """Counts features, in this process or in another one."""

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        """Count each of `blocks` for the model of `card`."""


class LocalCounts:
    """Counts in this process.

    Not for a process with a screen: building an encoding holds the GIL for about 0.3 s, a long text for up to 80 ms.
    """

    def __init__(self) -> None:
        self._search = LabelSearch()

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        count = self._make_text_counter(card.encoding)
        return [count_features(block, count, card) for block in blocks]

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        return list(map(self._make_text_counter(card.encoding), texts))

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        """Split each block, given with its category, into labelled pieces."""
        count = self._make_text_counter(card.encoding)
        return [self._search.cut(labelling, category, block, count) for category, block in blocks]

    @property
    def slow(self) -> set[str]:
        """Names of the label rules that were too slow and are skipped."""
        return self._search.slow

    def _make_text_counter(self, name: str) -> Callable[[str], int]:
        if name in ESTIMATORS:
            return ESTIMATORS[name]

        by_text: dict[str, int] = {}

        def count(text: str) -> int:
            tokens = by_text.get(text) if len(text) <= _MAX_CACHED_CHARS else None
            if tokens is not None:
                return tokens
            try:
                tokens = count_text(tokenizer(name), text)
                if len(text) <= _MAX_CACHED_CHARS and len(by_text) < _MAX_CACHED_TEXTS:
                    by_text[text] = tokens
                return tokens
            except TokenizerFailure:
                return -(-len(text.encode("utf-8", "replace")) // 4)

        return count


class Counter:
    """Features of blocks, each counted once. A `Book` takes it as its `measure`.

    - `recall`: returns cached counts (the store's); called once per way of counting and batch.
    - `labels`: splits blocks into labelled segments; None: no labels.

    Counts belong to a digest and to `ModelCard.counting`.
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
        self._features: dict[str, dict[str, Features]] = {}
        self._new: dict[str, dict[str, Features]] = {}
        self._lock = threading.Lock()
        """Protects `_new`: two threads count, and one stores their counts."""

    def __call__(self, card: ModelCard) -> Callable[[Block], Features]:
        features = self._features.setdefault(counting_key(card), {})

        def measure(block: Block) -> Features:
            block_features = features.get(block.digest)
            if block_features is None:
                self.prefetch(card, [block])
                block_features = features[block.digest]
            return block_features

        return measure

    def prefetch(self, card: ModelCard, blocks: Iterable[Block]) -> None:
        """Count the new ones among `blocks` in one batch."""
        name = counting_key(card)
        features = self._features.setdefault(name, {})
        missing = {block.digest: block for block in blocks if block.digest not in features}
        if missing and self._recall is not None:
            features.update(self._recall(name, list(missing)))
            missing = {digest: block for digest, block in missing.items() if digest not in features}
        if missing:
            counted = self._bench.features(card, list(missing.values()))
            new_features = dict(zip(missing, counted, strict=True))
            features.update(new_features)
            with self._lock:
                self._new.setdefault(name, {}).update(new_features)

    def has_counted(self, card: ModelCard, nodes: Sequence[Node]) -> bool:
        """Whether all `nodes` are counted and searched for labels."""
        features = self._features.get(counting_key(card), {})
        return all(node.block.digest in features for node in nodes) and (
            self.labels is None or self.labels.has_searched(card, nodes)
        )

    def unsaved(self) -> Mapping[str, Mapping[str, tuple[float, ...]]]:
        """Take the counts made since the last call, by way of counting and digest, for the store."""
        with self._lock:
            new, self._new = self._new, {}
        return {**new, **(self.labels.unsaved() if self.labels else {})}


FORMULAS: Final = 5
"""Version of `count_features`: raised when it counts differently, so that older cached counts are ignored."""


def counting_key(card: ModelCard) -> str:
    return "|".join(map(str, (FORMULAS, *card.counting)))


def count_step(book: Book, counter: Counter, limit: int = STEP_NODES) -> tuple[int, int]:
    """Count up to `limit` more nodes of `book`, new blocks in one batch.

    Return (nodes counted, nodes in all).
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
    done, total = 0, 1
    while done < total:
        done, total = count_step(book, counter, STEP_NODES * 8)
