"""The lines of blocks as they were drawn last: with most keys nearly all rows of a screen say what they said before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import Spans
from ctxtui.views.transcript import rows
from ctxtui.views.transcript.rows import TranscriptRow

if TYPE_CHECKING:
    from ctxtui.views.model.staging import Staging

_MOST: Final = 2000
"""Lines that are kept."""


class DrawnRows:
    """Draws the row of a block, or gives the line that it gave before of the same: all that decides how a line looks is
    compared, so that a line is never older than what it says."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[object, Spans]] = {}

    def draw(self, node: int, row: TranscriptRow, grid: Grid, cursor: str, staging: Staging | None) -> Spans:
        """The line of the block of `node`, whose row is `row`; `staging` is what edits make of the context."""
        fate, mark, broken = None, "", False
        if staging is not None:
            fate, mark, broken = staging.fate(node), staging.mark(node), staging.behind(node)
        given = row, grid, cursor, fate, mark, broken, staging is not None
        known = self._lines.get(node)
        if known is not None and known[0] == given:
            return known[1]
        if staging is None:
            line: Spans = rows.draw(row, grid, cursor)
        else:
            # Imported here: most sessions are only looked at.
            from ctxtui.views.transcript import staged_row

            line = staged_row.draw(row, grid, cursor, fate, mark, broken=broken)
        if len(self._lines) >= _MOST:
            self._lines.clear()
        self._lines[node] = given, line
        return line
