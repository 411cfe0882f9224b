"""Counts and prices in child processes.

Loading the tokenizer and the price library takes longer than a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ctxtui.analysis.labels.labelling import Labelling
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.pricing.price import keep_priced_fields
from ctxtui.pricing.table import PriceTable
from ctxtui.services.counting.counting import LocalCounts
from ctxtui.services.counting.label_search import Cut
from ctxtui.services.counting.pricing import Priced, Pricer, local_pricer
from ctxtui.services.worker import Worker
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard

_BATCH: Final = 1 << 19
"""Bytes of bodies sent at once: pickling them holds the GIL for well under a millisecond."""

PackedBlocks = list[tuple[str, bytes]]


class CountingWorker:
    """Counts blocks and searches labels in a child process; in this one if the child dies."""

    def __init__(self) -> None:
        self._worker = Worker(LocalCounts)
        self.slow: set[str] = set()

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        batches = (
            self._worker.call_or_run_here(_count_features, card, _pack(batch)) for batch in _split_batches(blocks)
        )
        return [Features(*values) for counts in batches for values in counts]

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        return self._worker.call_or_run_here(LocalCounts.words, card, texts)

    def cuts(self, card: ModelCard, labelling: Labelling, blocks: Sequence[tuple[str, Block]]) -> list[Cut]:
        """The labelled segments of each (category, block)."""
        result: list[Cut] = []
        categories = iter([category for category, _ in blocks])
        for batch in _split_batches([block for _, block in blocks]):
            batch_categories = list(islice(categories, len(batch)))
            cuts, self.slow = self._worker.call_or_run_here(
                _cut_blocks, card, labelling, batch_categories, _pack(batch)
            )
            result += cuts
        return result

    def close(self) -> None:
        self._worker.close()


def _count_features(here: LocalCounts, card: ModelCard, sent: PackedBlocks) -> list[tuple[float, ...]]:
    return [tuple(features) for features in here.features(card, _unpack(sent))]


def _cut_blocks(
    here: LocalCounts, card: ModelCard, labelling: Labelling, categories: list[str], sent: PackedBlocks
) -> tuple[list[Cut], set[str]]:
    return here.cuts(card, labelling, list(zip(categories, _unpack(sent), strict=True))), here.slow


def _pack(blocks: list[Block]) -> PackedBlocks:
    return [(block.kind, block.body) for block in blocks]


def _unpack(sent: PackedBlocks) -> list[Block]:
    return [Block("", kind, body) for kind, body in sent]


def _split_batches(blocks: list[Block]) -> Iterator[list[Block]]:
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
    """Prices calls in a child process; in this one if the child dies."""

    def __init__(self, table: PriceTable) -> None:
        self._worker = Worker(local_pricer, table)

    def __call__(self, calls: Sequence[Call]) -> list[Priced]:
        return self._worker.call_or_run_here(_price_calls, [keep_priced_fields(call) for call in calls])

    def close(self) -> None:
        self._worker.close()


def _price_calls(pricer: Pricer, calls: list[Call]) -> list[Priced]:
    return pricer(calls)
