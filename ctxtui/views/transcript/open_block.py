"""Opened blocks: how each is open, its lines, and how they are drawn under its row."""

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
    from ctxtui.views.model.staging import New


MORE: Final = 8
"""By how much more of an opened block is shown each time more is asked for."""


class OpenBlock(Struct, frozen=True):
    """How a block is open: at most `lines` of it, as JSON where `raw`; its text from character `start` on where that is
    not None."""

    lines: int
    raw: bool = False
    start: int | None = None


class Bodies:
    """The bodies of opened blocks, kept while they are looked at."""

    def __init__(self, readings: Readings, highlight: Highlight | None) -> None:
        self._readings = readings
        self.highlight = highlight
        self._kept: Recent[Body] = Recent(256)
        self._find: Find | None = None

    def look_for(self, find: Find | None) -> None:
        """Mark these hits from now on; None marks nothing."""
        self._find = find
        self.forget()

    def body(self, scene: Scene, ledger: CostLedger | None, entry: int, how: OpenBlock, room: int) -> Body:
        """The lines of the block of node `entry` in `room` cells."""
        key = (entry, how.raw, how.start, room)
        found = self._kept.get(key)
        if found is None:
            got = self._content(scene, ledger, entry, how, room)
            found = self._kept.put(key, got.body(room, self._find))
        return found

    def put_in(self, new: New, how: OpenBlock, room: int) -> Body:
        """The lines of a block that an edit puts in."""
        key = (new.item.block.digest, how.raw, room)
        found = self._kept.get(key)
        if found is None:
            from ctxtui.views.blocks import content

            block = new.item.block
            got = content.raw(block) if how.raw else content.content(new.category, read(block), block.value())
            found = self._kept.put(key, got.body(room, self._find))
        return found

    def forget(self) -> None:
        """The blocks' facts changed."""
        self._kept.clear()

    def _content(self, scene: Scene, ledger: CostLedger | None, entry: int, how: OpenBlock, room: int) -> Content:
        # Imported here: nothing is open on the first screen.
        from ctxtui.analysis.figures import missing_block
        from ctxtui.analysis.labels.labelling import searched_text
        from ctxtui.views.blocks import content
        from ctxtui.views.blocks.content import facts

        if entry == MISSING:
            figure = missing_block(scene.book, scene.call, scene.figures.not_recorded or 0)
            told = "" if scene.call.fidelity == Fidelity.TRANSCRIPT else searched_text(read(figure.block))
            return content.missing(figure.tokens, figure.lo, figure.hi, scene.figures.attached, told)
        node = scene.session.tree[entry]
        if how.raw:
            return content.raw(node.block)
        if not self._readings.ready(entry):
            return content.coming()
        if how.start is not None:
            return content.excerpt(self._readings.words(entry), how.start)
        value, got = self._readings.decoded(entry)
        body = content.content(
            node.category,
            got,
            value,
            call=self._readings.call_of(node, got),
            highlight=self.highlight,
            facts=facts(got, scene, entry, ledger) if got.media else (),
        )
        return content.under(segment_lines(scene, entry, searched_text(got), room), body)


def body_line(
    body: Body,
    how: OpenBlock,
    line: int,
    gutter: Span,
    style: str,
    here: HitInLine | None = None,
    money: str = "",
    details: Sequence[Spans] = (),
) -> Spans:
    """Line `line` (from 1) under the row of an opened block: its body behind ``│``, its `details`, then the line that
    closes it. `here` is the hit at which a search stands, `money` what the block costs."""
    gutter = gutter if gutter.text in "┃╏┊" else Span(" ")
    shown = body.height(how.lines)
    if line <= shown:
        spots = body.spots(line - 1)
        if not spots:
            return [gutter, Span("     "), Span("│ ", style), *(body.line(line - 1) or ())]
        # Imported here: there is nothing to mark without a search.
        from ctxtui.views.transcript.hits import styled

        at = spots.index((here.start, here.end)) if here is not None and here.line == line - 1 else None
        return [gutter, Span("     "), Span("│ ", style), *styled(body.line(line - 1) or (), spots, at)]
    if line <= shown + len(details):
        return [gutter, Span("     "), Span("│ ", style), *details[line - shown - 1]]
    return [gutter, Span("     "), Span("╰ ", style), *closing(body.more(shown), how, money)]


def closing(more: int | None, how: OpenBlock, money: str = "") -> list[Span]:
    """The line under an open block: how much of it is not shown, what it costs, and the keys that act on it."""
    left = "" if more == 0 else "more lines  " if more is None else f"{more:,} more line{'s' if more != 1 else ''}  "
    keys = (
        "⏎ fold  " + ("e more  " if more != 0 else "") + "o pager  y copy  " + ("r read" if how.raw else "r raw JSON")
    )
    return [Span(left + (f"{money}  " if money else ""), "dim"), Span(keys, "faint")]


ONE_BY_ONE: Final = 8
"""Up to so many labelled segments are listed one by one; more of them label by label."""
_NAME: Final = 24
_BAR: Final = 12
_FIGURES: Final = _NAME + _BAR + 10


def segment_lines(scene: Scene, node: int, text: str, room: int) -> list[Spans]:
    """The segments of the block of `node` with `text` in `room` cells, then a rule; nothing where no rule splits it, or
    while its tokens are not counted."""
    if not scene.book.is_counted(scene.call.model, node):
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
