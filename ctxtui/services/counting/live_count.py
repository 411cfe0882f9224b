"""Tokens of an answer that is coming in: what will not change is counted once, only the end again and again.

A text is cut where a line ends and another begins: there the tokenizer cuts too, so the pieces add up to the whole.
"""

from __future__ import annotations

import re
import threading
from typing import Final, Protocol

from msgspec import Struct, field

from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, weigh

_CUT: Final = re.compile(r"\n(?=[^\s])")
_LONG: Final = 4000
"""Characters of an end without such a place from which it is cut at a blank."""
_THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


class WordCounter(Protocol):
    """Where the counting is done: in this process or in another one."""

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        """The tokens of each of `texts` as the model of `card` cuts them."""


class _Part(Struct):
    thinks: bool
    open: str = ""
    """What may still be cut otherwise, less what is `new`."""
    new: list[str] = field(default_factory=list)
    length: int = 0
    """Characters that are settled."""
    settled: int = 0
    tokens: int = 0
    """What all of it comes to."""


class LiveCount(Struct):
    """Counts the blocks of one answer for the model of `card`. `feed` is for the event loop, `advance` for a worker."""

    bench: WordCounter
    card: ModelCard
    weights: Weights
    _parts: dict[int, _Part] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def feed(self, block: int, kind: str, text: str) -> None:
        """More of block number `block`."""
        with self._lock:
            part = self._parts.get(block)
            if part is None:
                part = self._parts[block] = _Part(kind in _THINKING)
            part.new.append(text)

    def advance(self) -> dict[int, int]:
        """Count what came since; the tokens of every block so far."""
        with self._lock:
            work: list[tuple[_Part, str, int]] = []
            for part in self._parts.values():
                if part.new:
                    text = part.open + "".join(part.new)
                    part.new.clear()
                    cut = cut_of(text, 0)
                    part.open = text[cut:]
                    work.append((part, text, cut))
        wanted = [some for _, text, cut in work for some in (text[:cut], text[cut:]) if some]
        found = iter(self.bench.words(self.card, wanted) if wanted else ())
        for part, text, cut in work:
            part.settled += next(found) if cut else 0
            part.length += cut
            tail = next(found) if cut < len(text) else 0
            part.tokens = round(weigh(self._features(part, part.settled + tail, len(text) - cut), self.weights))
        return {number: part.tokens for number, part in self._parts.items()}

    def _features(self, part: _Part, words: int, tail: int) -> Features:
        """As `tokens.block_features` has them of the block that all of it will be."""
        return Features(thinking=words) if part.thinks else Features(text=words, letters=(part.length + tail) / 4)


def cut_of(text: str, start: int) -> int:
    """The last place from `start` on up to which the count of `text` will not change."""
    cut = start
    for found in _CUT.finditer(text, start):
        cut = found.end()
    if cut == start and len(text) - start > _LONG:
        # A paragraph without end: a blank does nearly as well, and the block's own count is exact in the end.
        blank = text.rfind(" ", start, len(text) - 1)
        cut = blank if blank > start else cut
    return cut
