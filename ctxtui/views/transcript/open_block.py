"""Opened blocks: their state, lines, and drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ctxtui.analysis.labels.figures import SegmentFigure, label_figures, segment_figures
from ctxtui.analysis.short_names import first_words
from ctxtui.core.block_content import read
from ctxtui.core.call import Fidelity
from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.model.block_cache import Readings, Recent
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span, Spans, cropped
from ctxtui.views.transcript.row_index import MISSING

if TYPE_CHECKING:
    from ctxtui.analysis.content.search import Find
    from ctxtui.analysis.money.ledger import CostLedger
    from ctxtui.views.blocks.body import Body, HitInLine
    from ctxtui.views.blocks.content import Content
    from ctxtui.views.model.staging import InsertedBlock


EXTENSION_FACTOR: Final = 8
"""`e` shows this many times as many lines."""


class OpenState(Struct, frozen=True):
    """The open state of a block: at most `lines` lines of content, as JSON if `raw`.

    `start`: show the plain text from this character on; None: all content.
    """

    lines: int
    raw: bool = False
    start: int | None = None


class Bodies:
    """Caches the wrapped lines of opened blocks.

    `clear` it when the figures or the call change.
    """

    def __init__(self, readings: Readings, highlight: Highlight | None) -> None:
        self._readings = readings
        self.highlight = highlight
        self._cache: Recent[Body] = Recent(256)
        self._find: Find | None = None

    def set_find(self, find: Find | None) -> None:
        self._find = find
        self.clear()

    def body(self, scene: Scene, ledger: CostLedger | None, entry: int, open_block: OpenState, room: int) -> Body:
        key = (entry, open_block.raw, open_block.start, room)
        body = self._cache.get(key)
        if body is None:
            content = self._content(scene, ledger, entry, open_block, room)
            body = self._cache.put(key, content.body(room, self._find))
        return body

    def insert_body(self, new: InsertedBlock, open_block: OpenState, room: int) -> Body:
        key = (new.item.block.digest, open_block.raw, room)
        body = self._cache.get(key)
        if body is None:
            from ctxtui.views.blocks import content

            block = new.item.block
            block_content = (
                content.raw(block) if open_block.raw else content.content(new.category, read(block), block.value())
            )
            body = self._cache.put(key, block_content.body(room, self._find))
        return body

    def clear(self) -> None:
        self._cache.clear()

    def _content(
        self, scene: Scene, ledger: CostLedger | None, entry: int, open_block: OpenState, room: int
    ) -> Content:
        # Late import: nothing is open on the first screen.
        from ctxtui.analysis.figures import missing_block, name_missing
        from ctxtui.analysis.labels.labelling import searched_text
        from ctxtui.views.blocks import content
        from ctxtui.views.blocks.content import media_facts

        if entry == MISSING:
            figure = missing_block(scene.book, scene.call, scene.figures.not_recorded or 0)
            name = name_missing(scene.book, scene.call, scene.figures.categories)
            attached = scene.figures.attached if scene.call.fidelity == Fidelity.TRANSCRIPT else None
            return content.describe_unrecorded(figure.tokens, figure.lo, figure.hi, name, attached)
        node = scene.session.tree[entry]
        if open_block.raw:
            return content.raw(node.block)
        if not self._readings.ready(entry):
            return content.loading()
        if open_block.start is not None:
            return content.excerpt(self._readings.words(entry), open_block.start)
        value, block_content = self._readings.decoded(entry)
        body = content.content(
            node.category,
            block_content,
            value,
            call=self._readings.call_of(node, block_content),
            highlight=self.highlight,
            facts=media_facts(block_content, scene, entry, ledger) if block_content.media else (),
        )
        return content.prepend(segment_lines(scene, entry, searched_text(block_content), room), body)


def body_line(
    body: Body,
    open_block: OpenState,
    line: int,
    gutter: Span,
    style: str,
    here: HitInLine | None = None,
    money: str = "",
    details: Sequence[Spans] = (),
) -> Spans:
    """Line `line` (from 1) under an opened block's row: body, `details`, closing line.

    `here` is the current search hit, `money` the block's cost.
    """
    gutter = gutter if gutter.text in "┃╏┊" else Span(" ")
    shown = body.height(open_block.lines)
    if line <= shown:
        hit_ranges = body.hits_in(line - 1)
        if not hit_ranges:
            return [gutter, Span("     "), Span("│ ", style), *(body.line(line - 1) or ())]
        # Late import: only needed for a search.
        from ctxtui.views.transcript.hits import highlight_ranges

        current = hit_ranges.index((here.start, here.end)) if here is not None and here.line == line - 1 else None
        return [
            gutter,
            Span("     "),
            Span("│ ", style),
            *highlight_ranges(body.line(line - 1) or (), hit_ranges, current),
        ]
    if line <= shown + len(details):
        return [gutter, Span("     "), Span("│ ", style), *details[line - shown - 1]]
    return [gutter, Span("     "), Span("╰ ", style), *_closing_line(body.count_hidden(shown), open_block, money)]


def _closing_line(more: int | None, open_block: OpenState, money: str) -> list[Span]:
    hidden = "" if more == 0 else "more lines  " if more is None else f"{numbers.many(more, 'more line')}  "
    keys = (
        "⏎ fold  "
        + ("e more  " if more != 0 else "")
        + "o pager  y copy  "
        + ("r read" if open_block.raw else "r raw JSON")
    )
    return [Span(hidden + (f"{money}  " if money else ""), "dim"), Span(keys, "faint")]


MAX_LISTED_SEGMENTS: Final = 8
"""Labelled segments listed individually; more are summed by label."""
# Cells of a segment's label, its bar, and all columns before its words.
_NAME: Final = 24
_BAR: Final = 12
_FIGURES: Final = _NAME + _BAR + 10


def segment_lines(scene: Scene, node: int, text: str, room: int) -> list[Spans]:
    """Rows of the labelled segments in `node`'s block with `text`, and a line below them.

    Empty if the block has no labels or is not counted.
    """
    if not scene.book.is_counted(scene.call.model, node):
        return []
    segments = segment_figures(scene.book, scene.call.model, node)
    labelled = [segment for segment in segments if segment.label]
    if not labelled:
        return []
    rest = sum(segment.tokens for segment in segments if not segment.label)
    rows = _list_segments(labelled, text, rest) if len(labelled) <= MAX_LISTED_SEGMENTS else _sum_labels(labelled, rest)
    return [cropped(row, room) for row in (*rows, [Span("┄" * _FIGURES, "hair")])]


def _list_segments(labelled: Sequence[SegmentFigure], text: str, rest: int) -> list[Spans]:
    most = max([rest, *(segment.tokens for segment in labelled)])
    rows: list[Spans] = []
    for segment in labelled:
        words = safe_text.one_line(first_words(text[segment.start : segment.end]))
        rows.append([*_row(segment.category, segment.label, segment.tokens, most), Span(f" {words}", "dim")])
    return [*rows, *_unlabelled_row(rest, most)]


def _sum_labels(labelled: Sequence[SegmentFigure], rest: int) -> list[Spans]:
    sums = label_figures(labelled)
    most = max([rest, *(figure.tokens for figure in sums)])
    rows = [
        _row(figure.category, f"{numbers.exact(figure.count)} × {figure.label}", figure.tokens, most) for figure in sums
    ]
    return [*rows, *_unlabelled_row(rest, most)]


def _unlabelled_row(rest: int, most: int) -> list[Spans]:
    return [_row("", "", rest, most)] if rest else []


def _row(category: str, name: str, tokens: int, most: int) -> list[Span]:
    sign = signs.category(category).span if category and name else Span(" ")
    return [
        sign,
        Span(" " + cells.left(safe_text.one_line(name) or "no label", _NAME), sign.style if name else "dim"),
        Span(cells.right(numbers.tokens(tokens), 7), "ink bold" if tokens >= 1000 else "ink"),
        Span(" " + bars.line(tokens, most or 1, _BAR).ljust(_BAR), sign.style),
    ]
