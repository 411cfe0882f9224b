"""Segments: a block's text cut at the ends of what label rules found, so that the pieces add up to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.analysis.labels.match import Match
from ctxtui.tokens.features import Features, plus
from ctxtui.tokens.share import split_features

UNLABELLED: Final = -1
"""The rule number of text that no rule found."""


class LabelledSpan(NamedTuple):
    """Characters `start` up to `end` (exclusive) whose innermost finder is rule number `rule`; `begins` is 1 on the
    first piece of what the rule found, so that pieces can be counted. A finding whose text all belongs to inner ones
    is a piece without characters."""

    start: int
    end: int
    rule: int
    begins: int


class Segment(NamedTuple):
    """A piece with what its rule calls it: `label` ("" for text that no rule found), the index of the `category` in
    which it counts, and its `weight`, the tokens of its text counted by itself."""

    start: int
    end: int
    label: str
    category: int
    begins: int
    weight: float


class _Open(Struct):
    end: int
    rule: int
    told: bool = False


class _Knife(Struct):
    pieces: list[LabelledSpan] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    at: int = 0

    def to(self, end: int) -> None:
        """Cut off what lies before `end`, for the innermost finding that is open."""
        if end <= self.at:
            return
        inner = self.open[-1] if self.open else None
        begins = int(inner is not None and not inner.told)
        self.pieces.append(LabelledSpan(self.at, end, inner.rule if inner else UNLABELLED, begins))
        if inner:
            inner.told = True
        self.at = end

    def close(self, before: int) -> None:
        """Close the findings that end at or before `before`."""
        while self.open and self.open[-1].end <= before:
            self.to(self.open[-1].end)
            done = self.open.pop()
            if not done.told:
                self.pieces.append(LabelledSpan(self.at, self.at, done.rule, 1))


def cut(length: int, found: Iterable[Match]) -> list[LabelledSpan]:
    """The pieces of a text of `length` characters, in order; none where nothing was found.

    The finding that began last has the text: of one inside another the inner one. Of two of the same extent the one of
    the earlier rule is left.
    """
    knife = _Knife()
    extents: set[tuple[int, int]] = set()
    for start, end, rule in sorted(found, key=lambda one: (one.start, -one.end, one.rule)):
        if (start, end) in extents:
            continue
        extents.add((start, end))
        knife.close(start)
        knife.to(start)
        knife.open.append(_Open(end, rule))
    knife.close(length)
    if knife.pieces:
        knife.to(length)
    return knife.pieces


def featured(segments: Sequence[Segment], whole: Features, category: int) -> list[Features]:
    """The features of each segment of a block of `category`, which add up to those of the `whole` block; what is no
    text goes to the first segment that counts in the block's own category."""
    keeper = next((n for n, one in enumerate(segments) if one.category == category), 0)
    return split_features(whole, [one.weight for one in segments], keeper)


def by_category(segments: Sequence[Segment], whole: Features, category: int) -> list[tuple[int, Features]]:
    """As `featured`, added up by category; that of the first segment comes first."""
    sums: dict[int, Features] = {}
    for one, own in zip(segments, featured(segments, whole, category), strict=True):
        sums[one.category] = plus(sums[one.category], own) if one.category in sums else own
    return list(sums.items())
