"""Cuts a block's text at the ends of label matches; the segments add up to the block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.analysis.labels.match import Match
from ctxtui.tokens.features import Features, plus

UNLABELLED: Final = -1
"""Rule number of text without a match."""


class LabelledSpan(NamedTuple):
    """Characters `start` up to `end` (exclusive) whose innermost match is of rule number `rule`.

    `begins` is 1 on the first piece of a match. A match whose text is all in inner ones is a piece without characters.
    """

    start: int
    end: int
    rule: int
    begins: int


class Segment(NamedTuple):
    """A piece with its `label` ("": no match).

    `category` is an index, `weight` the tokens of the piece counted alone.
    """

    start: int
    end: int
    label: str
    category: int
    begins: int
    weight: float


class _Open(Struct):
    """A match that has begun and not ended yet."""

    end: int
    rule: int
    has_pieces: bool = False


class _Cutter(Struct):
    """Cuts a text from left to right.

    `open` are the matches at the position `at`, the innermost last.
    """

    pieces: list[LabelledSpan] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    at: int = 0

    def cut_to(self, end: int) -> None:
        """Cut off the text before `end`, for the innermost open match."""
        if end <= self.at:
            return
        inner = self.open[-1] if self.open else None
        begins = int(inner is not None and not inner.has_pieces)
        self.pieces.append(LabelledSpan(self.at, end, inner.rule if inner else UNLABELLED, begins))
        if inner:
            inner.has_pieces = True
        self.at = end

    def close(self, before: int) -> None:
        while self.open and self.open[-1].end <= before:
            self.cut_to(self.open[-1].end)
            done = self.open.pop()
            if not done.has_pieces:
                self.pieces.append(LabelledSpan(self.at, self.at, done.rule, 1))


def cut_text(length: int, matches: Iterable[Match]) -> list[LabelledSpan]:
    """Cut a text of `length` characters into pieces, in order; empty without matches.

    Text belongs to the match that began last; of two with the same extent the earlier rule's is used.
    """
    cutter = _Cutter()
    extents: set[tuple[int, int]] = set()
    for start, end, rule in sorted(matches, key=lambda match: (match.start, -match.end, match.rule)):
        if (start, end) in extents:
            continue
        extents.add((start, end))
        cutter.close(start)
        cutter.cut_to(start)
        cutter.open.append(_Open(end, rule))
    cutter.close(length)
    if cutter.pieces:
        cutter.cut_to(length)
    return cutter.pieces


def segment_features(segments: Sequence[Segment], whole: Features, category: int) -> list[Features]:
    """Features of each segment of a block of `category`.

    They add up to those of the `whole` block. Features that are not text go to the first segment of the block's own
    category.
    """
    fixed_part = next((n for n, segment in enumerate(segments) if segment.category == category), 0)
    return split_features(whole, [segment.weight for segment in segments], fixed_part)


def by_category(segments: Sequence[Segment], whole: Features, category: int) -> list[tuple[int, Features]]:
    """Like `segment_features`, added up by category; that of the first segment comes first."""
    sums: dict[int, Features] = {}
    for segment, features in zip(segments, segment_features(segments, whole, category), strict=True):
        sums[segment.category] = plus(sums[segment.category], features) if segment.category in sums else features
    return list(sums.items())


_TEXT_FEATURES: Final = frozenset({"text", "result", "json", "tools", "symbols", "letters"})
"""Features that grow with the text; every other one (an image, a tool call) belongs to one segment."""


def split_features(whole: Features, weights: Sequence[float], fixed_part: int = 0) -> list[Features]:
    """Split `whole` in proportion to `weights` (tokens of each segment's text, by any count).

    Parts are whole numbers if `whole` is: they are differences of rounded running sums, so that they add up in
    any order. Features that do not grow with the text go to part `fixed_part`.
    """
    total = sum(weights)
    running = [so_far / total if total else 1.0 for so_far in accumulate(weights)]
    columns = [
        _spread_by_share(amount, running)
        if name in _TEXT_FEATURES
        else [amount if n == fixed_part else 0.0 for n in range(len(weights))]
        for name, amount in zip(Features._fields, whole, strict=True)
    ]
    return [Features(*row) for row in zip(*columns, strict=True)]


def _spread_by_share(amount: float, running: Sequence[float]) -> list[float]:
    if not amount:
        return [0.0] * len(running)
    ends = [min(amount, float(round(amount * share))) for share in running[:-1]] + [amount]
    return [end - start for start, end in zip([0.0, *ends], ends, strict=False)]
