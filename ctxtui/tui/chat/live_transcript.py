"""The transcript of a chat: an answer that comes in stands below the record and is painted thirty times a second."""

from __future__ import annotations

from textual.geometry import Region

from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.views.transcript.live_rows import LiveRows

_STATES = ("", "here", "on-cur")
"""The ways in which a line of a row may be painted (`Pane.row_state`)."""


class LiveTranscript(Transcript):
    """Draws `LiveRows`. `grew` paints what came since the last frame: as a rule one line."""

    @property
    def rows(self) -> LiveRows | None:
        """The rows, once there are some."""
        return self.data if isinstance(self.data, LiveRows) else None

    def opened_rows(self) -> frozenset[int]:
        """As for the record, and every row that comes in."""
        rows = self.rows
        live = range(rows.recorded, rows.count) if rows is not None and rows.live else ()
        return frozenset((*super().opened_rows(), *live))

    def grew(self) -> None:
        """More of the answer is there: a view that stood at the end follows."""
        rows = self.rows
        if rows is None:
            return
        following, before = self.at_end, self.heights
        if rows.count != before.count or not rows.live:
            self._measure_anew(following)
            return
        last = rows.count - 1
        height, was = rows.height(last, self.grid), before.height(last)
        self._forget_last(last, min(was, height))
        if height != was:
            before.set(last, height)
            if following:
                self.top = self.last_top
                self.refresh()
                return
        self._paint_from(before.line_of(last) + min(was, height) - 2)
        self._paint_head(last)

    def _measure_anew(self, following: bool) -> None:
        follows_cursor = self.cursor >= self.heights.count - 1
        self.forget()
        self.opened = self.opened_rows()
        self.measure()
        if follows_cursor:
            self.cursor = self._near(self.row_count - 1)
        if following:
            self.top = self.last_top
        self.refresh()

    def _forget_last(self, row: int, height: int) -> None:
        """Drop the painted lines that are others now: the head with its figure, and from the last one on."""
        # By name: looking through everything that was painted would cost more with every line.
        for line in (0, *range(max(1, height - 2), height + 1)):
            for state in _STATES:
                self._strips.pop((row, line, state), None)

    def _paint_from(self, line: int) -> None:
        first = max(0, line - self.top)
        if first < self.body_height:
            self.refresh(Region(0, self.body_top + first, self.size.width, self.body_height - first))

    def _paint_head(self, row: int) -> None:
        self.repaint_row(row)
