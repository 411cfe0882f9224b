"""Figures of labelled segments, which sum to their block and their category."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import BlockFigure
from ctxtui.analysis.labels.segments import segment_features
from ctxtui.core.category import CATEGORIES
from ctxtui.tokens.features import plus
from ctxtui.tokens.weights import weigh


class SegmentFigure(Struct, frozen=True):
    """A segment of a block's text, with its tokens.

    `begins` is 1 on the first segment of a match, else 0.
    """

    start: int
    end: int
    label: str
    category: str
    begins: int
    tokens: int


class LabelFigure(Struct, frozen=True):
    """Totals of one label: number of matches, and tokens without those of inner labels."""

    label: str
    category: str
    count: int
    tokens: int


def segment_figures(book: Book, model: str, node: int) -> list[SegmentFigure]:
    """Segments of the block of `node` as `model` counts them, in order.

    Empty if no rule splits it. Raises `IndexError` while a split block is not counted.
    """
    node_row, cumulated, weights = book.session.tree[node], book.cumulated(model), book.weights(model)
    split = book.segments(model, node)
    if not split:
        return []
    before = cumulated.composition_at(node_row.parent)
    sums = {category: before[category] for category in cumulated.categories(node)}
    segments: list[SegmentFigure] = []
    owed = cumulated.header_features(node)
    for segment, features in zip(
        split, segment_features(split, cumulated.measure(node_row.block), node_row.category), strict=True
    ):
        start = sums[segment.category]
        sums[segment.category] = plus(start, plus(features, owed) if not segments else features)
        grown = round(weigh(sums[segment.category], weights)) - round(weigh(start, weights))
        segments.append(
            SegmentFigure(
                segment.start, segment.end, segment.label, CATEGORIES[segment.category], segment.begins, grown
            )
        )
    return segments


def label_figures(segments: Iterable[SegmentFigure]) -> list[LabelFigure]:
    """Add up segments by label, in order of first appearance; unlabelled ones are left out."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for segment in segments:
        if segment.label:
            count, so_far = sums.get((segment.label, segment.category), (0, 0))
            sums[segment.label, segment.category] = count + segment.begins, so_far + segment.tokens
    return [LabelFigure(*key, *sums_) for key, sums_ in sums.items()]


def by_category(segments: Iterable[SegmentFigure]) -> list[tuple[str, list[SegmentFigure]]]:
    """Group neighbouring segments of one category, in order.

    Empty segments stay with their neighbours.
    """
    parts: list[tuple[str, list[SegmentFigure]]] = []
    waiting: list[SegmentFigure] = []
    for segment in segments:
        empty = segment.start == segment.end and not segment.tokens
        if parts and (empty or parts[-1][0] == segment.category):
            parts[-1][1].append(segment)
        elif empty:
            waiting.append(segment)
        else:
            parts.append((segment.category, [*waiting, segment]))
            waiting = []
    return parts or [(segment.category, [segment]) for segment in waiting]


def segments_of(book: Book, model: str, blocks: Iterable[BlockFigure]) -> list[SegmentFigure]:
    """Segments of those of a context's `blocks` that rules split and that are present."""
    return [
        part for block in blocks if block.node and not block.gone for part in segment_figures(book, model, block.node)
    ]


def session_labels(book: Book) -> list[LabelFigure]:
    """Totals of all labels in a session, each block counted once, by the main model's counts."""
    model, visited = book.session.model, set()
    segments: list[SegmentFigure] = []
    for node in book.cumulated(model).split_nodes:
        node_row = book.session.tree[node]
        if (node_row.block.digest, node_row.category) not in visited:
            visited.add((node_row.block.digest, node_row.category))
            segments += segment_figures(book, model, node)
    return label_figures(segments)
