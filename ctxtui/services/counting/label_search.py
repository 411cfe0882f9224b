"""Label rules held against blocks, within limits of time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Final

from ctxtui.analysis.labels.labelling import Labelling, words
from ctxtui.analysis.labels.match import Match
from ctxtui.analysis.labels.rules import LabelRule
from ctxtui.core.block import Block
from ctxtui.core.block_content import read


class Overdue(Exception):
    """The search took longer than it may."""


def possible() -> bool:
    """Whether a search can be stopped here: only the main thread hears signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises `Overdue` once the block has taken `seconds` of processor time; only where it is `possible`.

    Python's regular expressions look for signals while they search.
    """

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Overdue

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


SECONDS: Final = 1.0
"""Processor time that one rule may take for a block, and as much again for each million characters of it."""

Cut = tuple[float, ...]
"""The pieces of a block, five numbers each: start, end, the rule's number, begins, tokens of its text."""


class LabelSearch:
    """Holds rules against blocks; one that takes too long is left out from then on."""

    def __init__(self) -> None:
        self.slow: set[str] = set()
        """Names of the rules that took too long."""

    def cut(self, labelling: Labelling, category: str, block: Block, count: Callable[[str], float]) -> Cut:
        """The pieces of `block`, which stands in `category`; `count` gives the tokens of a text."""
        text = words(read(block))
        pieces = labelling.pieces(category, block.body, text, partial(self._attempt, SECONDS * (1 + len(text) / 1e6)))
        cut: list[float] = []
        for piece in pieces:
            cut += (*piece, count(text[piece.start : piece.end]) if len(pieces) > 1 else 1)
        return tuple(cut)

    def _attempt(self, seconds: float, rule: LabelRule, search: Callable[[], list[Match]]) -> list[Match]:
        # Where nothing can stop a search, only those that cannot take for ever are made.
        if rule.name in self.slow or (rule.regex and not possible()):
            return []
        if not possible():
            return search()
        try:
            with time_limit(seconds):
                return search()
        except Overdue:
            self.slow.add(rule.name)
            return []
