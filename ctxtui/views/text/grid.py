"""The transcript's grid: columns by the width of pane and screen."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Struct

from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span

MIN_BAR_WIDTH: Final = 100
"""Screen width from which rows have bars."""
MIN_COST_WIDTH: Final = 160
"""Screen width from which rows show their call and cost, without staged edits."""
_LEAD: Final = 7
"""Cells of gutter, cursor, turn (2), blank, glyph, blank."""
BODY: Final = 8
"""Column at which an opened block's text begins."""


class Grid(Struct, frozen=True):
    """Widths in cells; hidden columns are 0.

    While edits are `staged`, `before` is the column of the size before them.
    """

    width: int
    text: int
    bar: int = 0
    call: int = 0
    cost: int = 0
    staged: bool = False
    before: int = 0

    @classmethod
    @lru_cache(maxsize=16)
    def for_pane(cls, pane: int, screen: int, *, staged: bool = False) -> Grid:
        if staged:
            before, bar = (8, 4) if screen >= MIN_BAR_WIDTH else (0, 0)
            right = 2 + before + 7 + 1 + (bar + 1 if bar else 0)
            return cls(pane, max(1, pane - _LEAD - right), bar, staged=True, before=before)
        bar = 8 if screen >= MIN_COST_WIDTH else 6 if screen >= MIN_BAR_WIDTH else 0
        call, cost = (5, 7) if screen >= MIN_COST_WIDTH else (0, 0)
        right = (call + 1 + cost if call else 0) + 1 + 1 + 7 + 1 + (bar + 1 if bar else 0)
        return cls(pane, max(1, pane - _LEAD - right), bar, call=call, cost=cost)

    @property
    def body(self) -> int:
        """Width of a line of an opened block."""
        return max(1, self.width - BODY - 2)

    def draw_heads(self, above: int, blocks: int, *, partial: bool = False) -> list[Span]:
        """Right end of the transcript's title line: column heads and the number of rows `above`.

        Those are the rows before the first visible one. On screens below `MIN_BAR_WIDTH` the number of `blocks` takes
        the place of the heads. With staged edits there are heads only. No counts if the rows are the end of a longer
        list (`partial`).
        """
        up = "↑ ·" if partial else f"↑ {above:,}" if above else ""
        if self.staged:
            columns = f"{'before→':>7}  {'after':>5}" + " " * (self.bar + 1) if self.before else "after "
            return [Span(columns, "dim")]
        if not self.bar:
            return [Span(("·" if partial else numbers.many(blocks, "block")) + (f"  {up}" if up else ""), "dim")]
        right = "tokens" + " " * self.bar
        if self.call:
            right = f"{'call':>{self.call}} {'so far':>{self.cost}}  {'tokens':>7}" + " " * self.bar
        return [Span(f"{up}   {right}" if up else right, "dim")]
