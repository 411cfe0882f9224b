"""Counts an answer while it streams: settled text once, only its end repeatedly.

A text is cut after a line end where the tokenizers cut too (`_LINE_START`), so their counts of the pieces add up to
that of the whole. A long paragraph is cut at a blank, with an error of a token or two; estimates (characters / 4) are
rounded for each piece.
"""

from __future__ import annotations

import re
import threading
from typing import Final, Protocol

from msgspec import Struct, field

from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, weigh

_LINE_START: Final = re.compile(r"\n(?=[^\s/])")
"""The end of a line before one that begins with neither whitespace nor a slash: the tokenizers cut there."""
MAX_UNCUT_CHARS: Final = 4000
"""Characters without such a place after which the text is cut at a blank."""
_THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


class WordCounter(Protocol):
    """Counts tokens, in this process or in another one."""

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        """Count the tokens of each of `texts` for the model of `card`."""


class _LiveBlock(Struct):
    """A block of the answer while it streams."""

    is_thinking: bool
    open: str = ""
    """Text whose tokens may still change, without the `new` text."""
    new: list[str] = field(default_factory=list)
    settled_chars: int = 0
    settled_tokens: int = 0
    tokens: int = 0


class LiveCount(Struct):
    """Counts the blocks of one answer for the model of `card`.

    `feed` is for the event loop, `advance` for a worker.
    """

    counter: WordCounter
    card: ModelCard
    weights: Weights
    _blocks: dict[int, _LiveBlock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Held to read or change the blocks, never while counting."""
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def feed(self, number: int, kind: str, text: str) -> None:
        with self._lock:
            block = self._blocks.get(number)
            if block is None:
                block = self._blocks[number] = _LiveBlock(kind in _THINKING)
            block.new.append(text)

    def advance(self) -> dict[int, int]:
        """Count the new text, unless another count runs; return the tokens of every block so far."""
        if self._counting.acquire(blocking=False):
            try:
                self._count_new_text()
            finally:
                self._counting.release()
        with self._lock:
            return {number: block.tokens for number, block in self._blocks.items()}

    def _count_new_text(self) -> None:
        with self._lock:
            work: list[tuple[_LiveBlock, str, int]] = []
            for block in self._blocks.values():
                if block.new:
                    text = block.open + "".join(block.new)
                    block.new.clear()
                    cut = settled_end(text)
                    block.open = text[cut:]
                    work.append((block, text, cut))
        texts = [piece for _, text, cut in work for piece in (text[:cut], text[cut:]) if piece]
        counts = iter(self.counter.words(self.card, texts) if texts else ())
        with self._lock:
            for block, text, cut in work:
                block.settled_tokens += next(counts) if cut else 0
                block.settled_chars += cut
                open_tokens = next(counts) if cut < len(text) else 0
                block.tokens = round(weigh(_block_features(block, open_tokens, len(text) - cut), self.weights))


def _block_features(block: _LiveBlock, open_tokens: int, open_chars: int) -> Features:
    """The features of the block so far, with its open part; a tool call counts as text."""
    tokens = block.settled_tokens + open_tokens
    if block.is_thinking:
        return Features(thinking=tokens)
    return Features(text=tokens, letters=(block.settled_chars + open_chars) / 4)


def settled_end(text: str) -> int:
    """The last position of `text` at which it may be cut for counting; 0 if there is none."""
    cut = 0
    for match in _LINE_START.finditer(text):
        cut = match.end()
    if not cut and len(text) > MAX_UNCUT_CHARS:
        # A very long paragraph: a blank is nearly as good, and the finished block is counted exactly.
        cut = max(0, text.rfind(" ", 0, len(text) - 1))
    return cut
