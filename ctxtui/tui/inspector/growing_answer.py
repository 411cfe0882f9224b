"""An answer being received at the end of the transcript.

Each frame paints only new lines, usually one.
"""

from __future__ import annotations

from textual.geometry import Region

from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.views.transcript.live_rows import LiveRows


class GrowingAnswer:
    """Paints an answer in `pane`, whose rows are `LiveRows`."""

    def __init__(self, pane: Transcript) -> None:
        self._pane = pane

    @property
    def rows(self) -> LiveRows | None:
        return self._pane.data if isinstance(self._pane.data, LiveRows) else None

    def grew(self) -> None:
        """Paint the growth; a view at the end follows."""
        rows, pane = self.rows, self._pane
        if rows is None:
            return
        is_following, before = pane.viewport.at_end, pane.viewport.heights
        if rows.count != before.count or not rows.live:
            self._measure_again(is_following)
            return
        last = rows.count - 1
        height, old_height = rows.height(last, pane.grid), before.height(last)
        same = min(old_height, height)
        # Repaint the head with its figure, and the last lines.
        pane.forget_lines(last, (0, *range(max(1, same - 2), same + 1)))
        if height != old_height:
            before.set(last, height)
            if is_following:
                pane.viewport.scroll_to_end()
                pane.refresh()
                return
        self._paint_from(before.line_of(last) + same - 2)
        pane.redraw_row(last)

    def _measure_again(self, is_following: bool) -> None:
        pane = self._pane
        follows_cursor = pane.cursor >= pane.viewport.heights.count - 1
        pane.measure_again()
        if follows_cursor:
            pane.to_last_row()
        if is_following:
            pane.viewport.scroll_to_end()
        pane.refresh()

    def _paint_from(self, line: int) -> None:
        pane = self._pane
        first = max(0, line - pane.viewport.top)
        if first < pane.body_height:
            pane.refresh(Region(0, pane.body_top + first, pane.size.width, pane.body_height - first))
