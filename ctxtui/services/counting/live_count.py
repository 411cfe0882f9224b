"""Tokens of an answer that is coming in: what will not change is counted once, only the end again and again.

A text is cut where a line ends and another begins: there the tokenizer cuts too, so the pieces add up to the whole.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core.block import Block
from ctxtui.services.counting.counting import Bench
from ctxtui.tokens.features import NOTHING, Features, plus
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, tokens

_CUT: Final = re.compile(r"\n(?=[^\s])")
_LONG: Final = 4000
"""Characters of an end without such a place from which it is cut at a blank."""
_THINKING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


@dataclass(slots=True)
class _Part:
    kind: str
    text: str = ""
    upto: int = 0
    settled: Features = NOTHING
    tail: Features = NOTHING
    changed: bool = False


@dataclass(slots=True)
class LiveCount:
    """Counts the blocks of one answer for the model of `card`. `feed` is for the event loop, `advance` for a worker."""

    bench: Bench
    card: ModelCard
    weights: Weights
    _parts: dict[int, _Part] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def feed(self, block: int, kind: str, text: str) -> None:
        """More of block number `block`."""
        with self._lock:
            part = self._parts.setdefault(block, _Part(kind))
            part.text += text
            part.changed = True

    def advance(self) -> dict[int, int]:
        """Count what came since; the tokens of every block so far."""
        with self._lock:
            work = [(part, part.upto, cut_of(part.text, part.upto), len(part.text)) for part in self._parts.values()]
            work = [one for one in work if one[0].changed]
            pieces = [(one[0], one[0].text[one[1] : one[2]], one[0].text[one[2] : one[3]]) for one in work]
            for part, *_ in work:
                part.changed = False
        wanted = [_block(part.kind, text) for part, *texts in pieces for text in texts if text]
        found = iter(self.bench.features(self.card, wanted) if wanted else ())
        with self._lock:
            for (part, settled, tail), (_, _, cut, _) in zip(pieces, work, strict=True):
                if settled:
                    part.settled = plus(part.settled, next(found))
                part.upto = cut
                part.tail = next(found) if tail else NOTHING
            return {
                number: round(tokens(plus(part.settled, part.tail), self.weights))
                for number, part in self._parts.items()
            }


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


def _block(kind: str, text: str) -> Block:
    if kind in _THINKING:
        return blocks.make("thinking", {"type": "thinking", "thinking": text})
    return blocks.text(text)
