"""What an opened block begins with where label rules split it: its segments with their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ctxtui.analysis.labels.figures import SegmentFigure, label_figures, segment_figures
from ctxtui.analysis.short_names import first_words
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span, Spans, cropped

ONE_BY_ONE: Final = 8
"""Up to so many labelled segments are listed one by one; more of them label by label."""
_NAME: Final = 24
_BAR: Final = 12
_FIGURES: Final = _NAME + _BAR + 10


def lines(scene: Scene, node: int, text: str, room: int) -> list[Spans]:
    """The segments of the block of `node` with `text` in `room` cells, then a rule; nothing where no rule splits it, or
    while its tokens are not counted."""
    if not scene.book.counted(scene.call.model, node):
        return []
    segments = segment_figures(scene.book, scene.call.model, node)
    labelled = [one for one in segments if one.label]
    if not labelled:
        return []
    rest = sum(one.tokens for one in segments if not one.label)
    told = _each(labelled, text, rest) if len(labelled) <= ONE_BY_ONE else _summed(labelled, rest)
    return [cropped(row, room) for row in (*told, [Span("┄" * _FIGURES, "hair")])]


def _each(labelled: Sequence[SegmentFigure], text: str, rest: int) -> list[Spans]:
    most = max([rest, *(one.tokens for one in labelled)])
    told: list[Spans] = []
    for one in labelled:
        words = safe_text.one_line(first_words(text[one.start : one.end]))
        told.append([*_row(one.category, one.label, one.tokens, most), Span(f" {words}", "dim")])
    return [*told, *_unlabelled(rest, most)]


def _summed(labelled: Sequence[SegmentFigure], rest: int) -> list[Spans]:
    sums = label_figures(labelled)
    most = max([rest, *(one.tokens for one in sums)])
    rows = [_row(one.category, f"{numbers.exact(one.count)} × {one.label}", one.tokens, most) for one in sums]
    return [*rows, *_unlabelled(rest, most)]


def _unlabelled(rest: int, most: int) -> list[Spans]:
    return [_row("", "", rest, most)] if rest else []


def _row(category: str, name: str, tokens: int, most: int) -> list[Span]:
    sign = signs.category(category).span if category and name else Span(" ")
    return [
        sign,
        Span(" " + cells.left(safe_text.one_line(name) or "no label", _NAME), sign.style if name else "dim"),
        Span(cells.right(numbers.tokens(tokens), 7), "ink bold" if tokens >= 1000 else "ink"),
        Span(" " + bars.line(tokens, most or 1, _BAR).ljust(_BAR), sign.style),
    ]
