"""Counting and pricing in processes of their own: loading tokenizer and price library takes longer than a frame may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.pricing.price import PriceTable, keep_priced_fields
from ctxtui.services.counting.counting import LocalCounts
from ctxtui.services.counting.label_search import Cut
from ctxtui.services.counting.pricing import Priced, Pricer, price_here
from ctxtui.services.worker import Worker
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard

_BATCH: Final = 1 << 19
"""Bytes of bodies sent at once: packing them holds the GIL for well under a millisecond."""

Sent = list[tuple[str, bytes]]
"""Kinds and bodies of blocks."""


class CountingWorker:
    """A `Bench`, and a bench for labels, whose work is done by a child process; in this one if the child dies at it."""

    def __init__(self) -> None:
        self._worker = Worker(LocalCounts)
        self.slow: set[str] = set()
        """Names of the label rules that took too long and are left out."""

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        """The features of each block."""
        found = (self._worker.anyhow(_features, card, _sent(batch)) for batch in _batches(blocks))
        return [Features(*one) for some in found for one in some]

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        """The tokens of each of `texts`."""
        return self._worker.anyhow(LocalCounts.words, card, texts)

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        """The labelled pieces of each block, which comes with its category."""
        found: list[Cut] = []
        categories = iter([category for category, _ in blocks])
        for batch in _batches([block for _, block in blocks]):
            theirs = list(islice(categories, len(batch)))
            cuts, self.slow = self._worker.anyhow(_cuts, card, labelling, theirs, _sent(batch))
            found += cuts
        return found

    def close(self) -> None:
        """End the child."""
        self._worker.close()


def _features(here: LocalCounts, card: ModelCard, sent: Sent) -> list[tuple[float, ...]]:
    return [tuple(one) for one in here.features(card, _taken(sent))]


def _cuts(
    here: LocalCounts, card: ModelCard, labelling: Labelling, categories: list[str], sent: Sent
) -> tuple[list[Cut], set[str]]:
    return here.cuts(card, labelling, list(zip(categories, _taken(sent), strict=True))), here.slow


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


class PricingWorker:
    """A pricer whose work is done by a child process; in this one if the child dies at it."""

    def __init__(self, table: PriceTable) -> None:
        self._worker = Worker(price_here, table)

    def __call__(self, calls: Sequence[Call]) -> list[Priced]:
        """The prices of `calls`."""
        return self._worker.anyhow(_prices, [keep_priced_fields(call) for call in calls])

    def close(self) -> None:
        """End the child."""
        self._worker.close()


def _prices(pricer: Pricer, calls: list[Call]) -> list[Priced]:
    return pricer(calls)
