"""Opened blocks: how each is open, its lines, and how they are drawn under its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ctxtui.core.block_content import read
from ctxtui.core.call import Fidelity
from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.model.block_cache import Readings, Recent
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.span import Span, Spans
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
        from ctxtui.analysis.labels.labelling import words
        from ctxtui.views.blocks import content
        from ctxtui.views.blocks.content import facts
        from ctxtui.views.transcript import segment_lines

        if entry == MISSING:
            figure = missing_block(scene.book, scene.call, scene.figures.not_recorded or 0)
            told = "" if scene.call.fidelity == Fidelity.TRANSCRIPT else words(read(figure.block))
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
        return content.under(segment_lines.lines(scene, entry, words(got), room), body)


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
