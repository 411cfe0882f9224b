"""Applies label rules to blocks within time limits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Final

from ctxtui.analysis.labels.labelling import Labelling, searched_text
from ctxtui.analysis.labels.match import Match
from ctxtui.analysis.labels.rules import LabelRule
from ctxtui.core.block import Block
from ctxtui.core.block_content import read


class Overdue(Exception):
    """The search exceeded its time limit."""


def can_stop() -> bool:
    """Whether a search can be stopped here: only the main thread receives signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Overdue` after `seconds` of processor time; only where `can_stop` is true.

    Python's regular expressions check for signals while they search.
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


RULE_SECONDS: Final = 1.0
"""Processor time allowed for one rule on a block, plus as much for each million characters of it."""

Cut = tuple[float, ...]
"""The pieces of a block, five numbers each: those of a `LabelledSpan`, and the tokens of the text.

In a block of one piece, the tokens are given as 1.
"""


class LabelSearch:
    """Applies rules to blocks; a rule that is too slow is skipped from then on."""

    def __init__(self) -> None:
        self.slow: set[str] = set()

    def cut(self, labelling: Labelling, category: str, block: Block, count: Callable[[str], float]) -> Cut:
        """Split `block` of the `category` into pieces; `count` returns the tokens of a text."""
        text = searched_text(read(block))
        pieces = labelling.cut(
            category, block.body, text, partial(self._search_within, RULE_SECONDS * (1 + len(text) / 1e6))
        )
        cut: list[float] = []
        for piece in pieces:
            cut += (*piece, count(text[piece.start : piece.end]) if len(pieces) > 1 else 1)
        return tuple(cut)

    def _search_within(self, seconds: float, rule: LabelRule, search: Callable[[], list[Match]]) -> list[Match]:
        """Run `search` with a time limit; a rule that exceeds it is skipped from then on.

        If searches cannot be stopped here, those of regular expressions are skipped: they could take forever.
        """
        if rule.name in self.slow or (rule.regex and not can_stop()):
            return []
        if not can_stop():
            return search()
        try:
            with time_limit(seconds):
                return search()
        except Overdue:
            self.slow.add(rule.name)
            return []
