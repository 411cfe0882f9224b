"""An answer that comes in at the end of the transcript: what came since a frame is painted, as a rule one line."""

from __future__ import annotations

from textual.geometry import Region

from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.views.transcript.live_rows import LiveRows


class GrowingAnswer:
    """Paints what comes in in `pane`, whose rows are `LiveRows`: whoever feeds them says so by `grew`."""

    def __init__(self, pane: Transcript) -> None:
        self._pane = pane

    @property
    def rows(self) -> LiveRows | None:
        """The rows, once there are some."""
        return self._pane.data if isinstance(self._pane.data, LiveRows) else None

    def grew(self) -> None:
        """More of the answer is there: a view that stood at the end follows."""
        rows, pane = self.rows, self._pane
        if rows is None:
            return
        following, before = pane.viewport.at_end, pane.viewport.heights
        if rows.count != before.count or not rows.live:
            self._measure_anew(following)
            return
        last = rows.count - 1
        height, was = rows.height(last, pane.grid), before.height(last)
        same = min(was, height)
        # The head with its figure, and from the last line on.
        pane.forget_lines(last, (0, *range(max(1, same - 2), same + 1)))
        if height != was:
            before.set(last, height)
            if following:
                pane.viewport.scroll_to_end()
                pane.refresh()
                return
        self._paint_from(before.line_of(last) + same - 2)
        pane.repaint_row(last)

    def _measure_anew(self, following: bool) -> None:
        pane = self._pane
        follows_cursor = pane.cursor >= pane.viewport.heights.count - 1
        pane.measure_anew()
        if follows_cursor:
            pane.to_last_row()
        if following:
            pane.viewport.scroll_to_end()
        pane.refresh()

    def _paint_from(self, line: int) -> None:
        pane = self._pane
        first = max(0, line - pane.viewport.top)
        if first < pane.body_height:
            pane.refresh(Region(0, pane.body_top + first, pane.size.width, pane.body_height - first))
