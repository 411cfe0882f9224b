"""Counts an answer while it streams: settled text once, only its end repeatedly.

A text is cut where a line ends and another begins: the tokenizer cuts there too, so the pieces add up to the whole.
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
    """A block of the answer while it streams; `thinks`: it is thinking."""

    thinks: bool
    open: str = ""
    """Text whose tokens may still change, without the `new` text."""
    new: list[str] = field(default_factory=list)
    length: int = 0
    """Number of settled characters."""
    settled: int = 0
    """Tokens of the settled characters."""
    tokens: int = 0


class LiveCount(Struct):
    """Counts the blocks of one answer for the model of `card`.

    `feed` is for the event loop, `advance` for a worker.
    """

    bench: WordCounter
    card: ModelCard
    weights: Weights
    _parts: dict[int, _LiveBlock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def feed(self, block: int, kind: str, text: str) -> None:
        with self._lock:
            part = self._parts.get(block)
            if part is None:
                part = self._parts[block] = _LiveBlock(kind in _THINKING)
            part.new.append(text)

    def advance(self) -> dict[int, int]:
        """Count the new text; return the tokens of every block so far."""
        with self._lock:
            work: list[tuple[_LiveBlock, str, int]] = []
            for part in self._parts.values():
                if part.new:
                    text = part.open + "".join(part.new)
                    part.new.clear()
                    cut = settled_end(text)
                    part.open = text[cut:]
                    work.append((part, text, cut))
        texts = [piece for _, text, cut in work for piece in (text[:cut], text[cut:]) if piece]
        counts = iter(self.bench.words(self.card, texts) if texts else ())
        for part, text, cut in work:
            part.settled += next(counts) if cut else 0
            part.length += cut
            tail = next(counts) if cut < len(text) else 0
            part.tokens = round(weigh(self._block_features(part, part.settled + tail, len(text) - cut), self.weights))
        return {number: part.tokens for number, part in self._parts.items()}

    def _block_features(self, part: _LiveBlock, words: int, tail: int) -> Features:
        """The features of the block so far; a call counts as text.

        `words` are its tokens, `tail` the characters that are not settled yet.
        """
        return Features(thinking=words) if part.thinks else Features(text=words, letters=(part.length + tail) / 4)


def settled_end(text: str) -> int:
    """The last position up to which the count of `text` is settled; 0 if there is none."""
    cut = 0
    for match in _LINE_START.finditer(text):
        cut = match.end()
    if not cut and len(text) > MAX_UNCUT_CHARS:
        # A very long paragraph: a blank is nearly as good, and the finished block is counted exactly.
        cut = max(0, text.rfind(" ", 0, len(text) - 1))
    return cut
