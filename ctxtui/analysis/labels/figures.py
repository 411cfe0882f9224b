"""The figures of labelled segments: a block's segments sum to the block, those of a category to the category."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import BlockFigure
from ctxtui.analysis.labels.segments import featured
from ctxtui.core.category import CATEGORIES
from ctxtui.tokens.features import plus
from ctxtui.tokens.weights import weigh


class SegmentFigure(Struct, frozen=True):
    """Characters `start` up to `end` of a block's text with their tokens. `label` is "" where no rule found anything,
    `begins` 1 on the first segment of what a rule found."""

    start: int
    end: int
    label: str
    category: str
    begins: int
    tokens: int


class LabelFigure(Struct, frozen=True):
    """What one label comes to: how often it was found, and the tokens that no inner label has."""

    label: str
    category: str
    count: int
    tokens: int


def segment_figures(book: Book, model: str, node: int) -> list[SegmentFigure]:
    """The segments of the block of `node` as `model` counts them, in order; none where no rule splits it. Raises
    `IndexError` while one that is split is not counted."""
    here, ways, weights = book.session.tree[node], book.cumulated(model), book.weights(model)
    split = book.segments(model, node)
    if not split:
        return []
    before = ways.composition_at(here.parent)
    sums = {category: before[category] for category in ways.categories(node)}
    out: list[SegmentFigure] = []
    owed = ways.header_features(node)
    for one, own in zip(split, featured(split, ways.measure(here.block), here.category), strict=True):
        start = sums[one.category]
        sums[one.category] = plus(start, plus(own, owed) if not out else own)
        grown = round(weigh(sums[one.category], weights)) - round(weigh(start, weights))
        out.append(SegmentFigure(one.start, one.end, one.label, CATEGORIES[one.category], one.begins, grown))
    return out


def label_figures(segments: Iterable[SegmentFigure]) -> list[LabelFigure]:
    """Segments added up by label, in order of first appearance; what has none is left out."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for one in segments:
        if one.label:
            count, so_far = sums.get((one.label, one.category), (0, 0))
            sums[one.label, one.category] = count + one.begins, so_far + one.tokens
    return [LabelFigure(*key, *found) for key, found in sums.items()]


def by_category(segments: Iterable[SegmentFigure]) -> list[tuple[str, list[SegmentFigure]]]:
    """Neighbouring segments that count in one category, in order. One without characters stays with its neighbours."""
    parts: list[tuple[str, list[SegmentFigure]]] = []
    waiting: list[SegmentFigure] = []
    for one in segments:
        empty = one.start == one.end and not one.tokens
        if parts and (empty or parts[-1][0] == one.category):
            parts[-1][1].append(one)
        elif empty:
            waiting.append(one)
        else:
            parts.append((one.category, [*waiting, one]))
            waiting = []
    return parts or [(one.category, [one]) for one in waiting]


def segments_of(book: Book, model: str, blocks: Iterable[BlockFigure]) -> list[SegmentFigure]:
    """The segments of those of a context's `blocks` that rules split and that are there."""
    return [part for one in blocks if one.node and not one.gone for part in segment_figures(book, model, one.node)]


def session_labels(book: Book) -> list[LabelFigure]:
    """What the labels of a whole session come to, each block counted once however often it was sent, as the model of
    most calls counts it."""
    model, seen = book.session.model, set()
    found: list[SegmentFigure] = []
    for node in book.cumulated(model).split_nodes:
        here = book.session.tree[node]
        if (here.block.digest, here.category) not in seen:
            seen.add((here.block.digest, here.category))
            found += segment_figures(book, model, node)
    return label_figures(found)
