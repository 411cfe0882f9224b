"""A search in the transcript: it opens the block of a hit as far as needed, and leaves the folds as they were."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.content.search import Find
from ctxtui.views.text.grid import Grid
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.hits import HitAt
from ctxtui.views.transcript.open_block import OpenBlock

_NEAR: Final = 60
"""Lines of a block that are laid out to find a hit in them; one further down is shown as an excerpt."""
_BEFORE: Final = 400
"""Characters of a long line that an excerpt shows before a hit."""


class Sought:
    """A search in `rows`, from its beginning to `end`."""

    def __init__(self, rows: ContextRows) -> None:
        self._rows = rows
        self._opened, self._folded = dict(rows.opened), set(rows.folded)

    def look_for(self, find: Find | None) -> None:
        """Mark the hits that `find` gives from now on; None marks nothing."""
        self._rows.find = find
        self._rows.bodies.look_for(find)
        self._refold()

    def end(self) -> None:
        """Mark nothing, fold and open as it was before."""
        self.look_for(None)

    def _refold(self) -> None:
        self._rows.opened, self._rows.folded = dict(self._opened), set(self._folded)
        self._rows.here = None

    def go(self, hit: HitAt, grid: Grid) -> int:
        """Open the block of `hit` so far that the hit is in view, unless its row shows all of it; the line of its row
        on which the hit is."""
        rows = self._rows
        self._refold()
        if not rows.readings.ready(hit.node):
            # A large block: what is shown first is where it begins, the hit when it is read.
            rows.opened[hit.node] = OpenBlock(rows.preview_lines, start=hit.start)
            return 1
        words = rows.readings.words(hit.node)
        if len(words) < grid.text // 2 and "\n" not in words and hit.node not in rows.opened:
            return 0
        rows.folded.discard(hit.node)
        return self._laid_out(hit, words, grid) or self._excerpt(hit, words, grid)

    def _laid_out(self, hit: HitAt, words: str, grid: Grid) -> int:
        """Open the block as it is always shown; 0 where the hit is too far down, or not among what is shown."""
        rows = self._rows
        if words.count("\n", 0, hit.start) >= _NEAR or hit.start > _NEAR * grid.body:
            return 0
        before = rows.opened.get(hit.node)
        how = OpenBlock(before.lines if before else rows.preview_lines)
        rows.opened[hit.node] = how
        spot = rows.body(rows.index_of(hit.node), how, grid.body).spot(hit.nth, 2 * _NEAR)
        if spot is None:
            return 0
        rows.opened[hit.node] = OpenBlock(max(how.lines, spot.line + 2))
        rows.here = hit.node, hit.nth
        return spot.line + 1

    def _excerpt(self, hit: HitAt, words: str, grid: Grid) -> int:
        """Open the block's plain text from a line before the hit on."""
        rows = self._rows
        line = words.rfind("\n", 0, hit.start) + 1
        start = max(words.rfind("\n", 0, max(0, line - 1)) + 1, hit.start - _BEFORE)
        assert rows.find is not None
        nth = sum(1 for _ in rows.find(words[start : hit.start]))
        how = rows.opened[hit.node] = OpenBlock(rows.preview_lines, start=start)
        spot = rows.body(rows.index_of(hit.node), how, grid.body).spot(nth, _NEAR)
        if spot is None:
            return 1
        rows.opened[hit.node] = OpenBlock(max(how.lines, spot.line + 2), start=start)
        rows.here = hit.node, nth
        return spot.line + 1
