"""Counting in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ctxtui.core.block import Block
from ctxtui.runtime.apart import Child, ChildGone
from ctxtui.runtime.counting import Here
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard

_BATCH: Final = 1 << 19
"""Bytes of bodies sent at once: packing them holds the GIL for well under a millisecond."""

Request = tuple[ModelCard, list[tuple[str, bytes]]]


class Apart:
    """A `Bench` whose work is done by a child process; in this one if the child dies at it."""

    def __init__(self) -> None:
        self._child = Child("ctxtui.runtime.counting_apart:make")
        self._instead: Here | None = None

    def features(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        """The features of each block."""
        return [one for batch in _batches(blocks) for one in self._ask(card, batch)]

    def _ask(self, card: ModelCard, blocks: list[Block]) -> list[Features]:
        if self._instead is None:
            try:
                answer = self._child.ask((card, [(block.kind, block.body) for block in blocks]))
            except ChildGone:
                self._instead = Here()
            else:
                return [Features(*one) for one in answer]
        return self._instead.features(card, blocks)

    def close(self) -> None:
        """End the child."""
        self._child.close()


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


def make() -> Callable[[Request], list[tuple[float, ...]]]:
    """What the child answers with: the features of the blocks it is sent."""
    here = Here()

    def answer(request: Request) -> list[tuple[float, ...]]:
        card, blocks = request
        return [tuple(one) for one in here.features(card, [Block("", kind, body) for kind, body in blocks])]

    return answer
