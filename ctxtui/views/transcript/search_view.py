"""A search in the transcript: opens the block of a hit, and restores the folds afterwards."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.content.search import Find
from ctxtui.views.text.grid import Grid
from ctxtui.views.transcript.context_rows import ContextRows
from ctxtui.views.transcript.hits import HitAt
from ctxtui.views.transcript.open_block import OpenState

MAX_LINES_TO_HIT: Final = 60
"""Lines of a block that are laid out to find a hit; a later hit is shown as an excerpt."""
CHARS_BEFORE_HIT: Final = 400


class TranscriptSearch:
    """Shows the hits of one search in `rows`; `end` folds what it opened."""

    def __init__(self, rows: ContextRows) -> None:
        self._rows = rows
        self._opened, self._folded = dict(rows.opened), set(rows.folded)

    def set_find(self, find: Find | None) -> None:
        self._rows.find = find
        self._rows.bodies.set_find(find)
        self._refold()

    def end(self) -> None:
        self.set_find(None)

    def _refold(self) -> None:
        self._rows.opened, self._rows.folded = dict(self._opened), set(self._folded)
        self._rows.current_hit = None

    def go(self, hit: HitAt, grid: Grid) -> int:
        """Open the block of `hit` unless its row shows it; return the line of the hit in its row."""
        rows = self._rows
        self._refold()
        if not rows.readings.ready(hit.node):
            # A large block is not decoded yet: show its start until it is.
            rows.opened[hit.node] = OpenState(rows.preview_lines, start=hit.start)
            return 1
        words = rows.readings.words(hit.node)
        if len(words) < grid.text // 2 and "\n" not in words and hit.node not in rows.opened:
            return 0
        rows.folded.discard(hit.node)
        return self._open_normally(hit, words, grid) or self._open_excerpt(hit, words, grid)

    def _open_normally(self, hit: HitAt, words: str, grid: Grid) -> int:
        """Open the block as usual; 0 if the hit is too far down, or not in the displayed text."""
        rows = self._rows
        if words.count("\n", 0, hit.start) >= MAX_LINES_TO_HIT or hit.start > MAX_LINES_TO_HIT * grid.body:
            return 0
        before = rows.opened.get(hit.node)
        state = OpenState(before.lines if before else rows.preview_lines)
        rows.opened[hit.node] = state
        spot = rows.body(rows.index_of(hit.node), state, grid.body).hit(hit.nth, 2 * MAX_LINES_TO_HIT)
        if spot is None:
            return 0
        rows.opened[hit.node] = OpenState(max(state.lines, spot.line + 2))
        rows.current_hit = hit.node, hit.nth
        return spot.line + 1

    def _open_excerpt(self, hit: HitAt, words: str, grid: Grid) -> int:
        rows = self._rows
        line = words.rfind("\n", 0, hit.start) + 1
        start = max(words.rfind("\n", 0, max(0, line - 1)) + 1, hit.start - CHARS_BEFORE_HIT)
        assert rows.find is not None
        nth = sum(1 for _ in rows.find(words[start : hit.start]))
        state = rows.opened[hit.node] = OpenState(rows.preview_lines, start=start)
        spot = rows.body(rows.index_of(hit.node), state, grid.body).hit(nth, MAX_LINES_TO_HIT)
        if spot is None:
            return 1
        rows.opened[hit.node] = OpenState(max(state.lines, spot.line + 2), start=start)
        rows.current_hit = hit.node, nth
        return spot.line + 1
