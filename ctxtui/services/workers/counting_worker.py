"""Counting in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.core.block import Block
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.counting.counting import LocalCounts
from ctxtui.services.counting.label_search import Cut
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard

_BATCH: Final = 1 << 19
"""Bytes of bodies sent at once: packing them holds the GIL for well under a millisecond."""

Sent = list[tuple[str, bytes]]
"""Kinds and bodies of blocks."""


class CountThese(NamedTuple):
    """Asks for the features of blocks."""

    card: ModelCard
    blocks: Sent


class CountWords(NamedTuple):
    """Asks for the tokens of texts."""

    card: ModelCard
    texts: list[str]


class LabelThese(NamedTuple):
    """Asks for the labelled pieces of blocks, which come with their `categories`."""

    card: ModelCard
    labelling: Labelling
    categories: list[str]
    blocks: Sent


class CountingWorker:
    """A `Bench`, and a bench for labels, whose work is done by a child process; in this one if the child dies at it."""

    def __init__(self) -> None:
        self._child = ChildProcess("ctxtui.services.workers.counting_worker:make")
        self._instead: LocalCounts | None = None
        self.slow: set[str] = set()
        """Names of the label rules that took too long and are left out."""

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        """The features of each block."""
        return [one for batch in _batches(blocks) for one in self._count(card, batch)]

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        """The tokens of each of `texts`."""
        answer = self._ask(CountWords(card, texts))
        return self._instead.words(card, texts) if self._instead is not None else list(answer)

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        """The labelled pieces of each block, which comes with its category."""
        left = iter([category for category, _ in blocks])
        batches = _batches([block for _, block in blocks])
        return [one for batch in batches for one in self._label(card, labelling, list(islice(left, len(batch))), batch)]

    def _count(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        answer = self._ask(CountThese(card, _sent(blocks)))
        if self._instead is not None:
            return self._instead.features(card, blocks)
        return [Features(*one) for one in answer]

    def _label(self, card: ModelCard, labelling: Labelling, categories: list[str], blocks: list[Block]) -> list[Cut]:
        answer = self._ask(LabelThese(card, labelling, categories, _sent(blocks)))
        if self._instead is not None:
            return self._instead.cuts(card, labelling, list(zip(categories, blocks, strict=True)))
        found, self.slow = answer
        return list(found)

    def _ask(self, request: CountThese | CountWords | LabelThese) -> Any:
        if self._instead is None:
            try:
                return self._child.ask(request)
            except ChildGone:
                self._instead = LocalCounts()
        return None

    def close(self) -> None:
        """End the child."""
        self._child.close()


def _sent(blocks: list[Block]) -> Sent:
    return [(block.kind, block.body) for block in blocks]


def _taken(sent: Sent) -> list[Block]:
    return [Block("", kind, body) for kind, body in sent]


def _batches(blocks: list[Block]) -> Iterator[list[Block]]:
    batch: list[Block] = []
    size = 0
    for block in blocks:
        batch.append(block)
        size += len(block.body)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def make() -> Callable[[CountThese | CountWords | LabelThese], Any]:
    """What the child answers with: the features of the blocks it is sent, or their labelled pieces."""
    here = LocalCounts()

    def answer(request: CountThese | CountWords | LabelThese) -> Any:
        if isinstance(request, CountWords):
            return here.words(request.card, request.texts)
        blocks = _taken(request.blocks)
        if isinstance(request, CountThese):
            return [tuple(one) for one in here.features(request.card, blocks)]
        asked = list(zip(request.categories, blocks, strict=True))
        return here.cuts(request.card, request.labelling, asked), here.slow

    return answer
