"""The rows of blocks as they were made and drawn last: nearly all rows of a screen say what they said before, with most
keys and behind a call that adds to them many times a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctxtui.core.tree import Node
from ctxtui.views.model.call_charge import Charge
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript import rows
from ctxtui.views.transcript.rows import TranscriptRow

if TYPE_CHECKING:
    from ctxtui.views.model.staging import Staging

_MOST: Final = 2000
"""Rows, and lines, that are kept."""


class MadeRows:
    """Makes the row of a block, or gives the one that it made before of the same: all that decides what a row says is
    compared, of the scene once for all rows."""

    def __init__(self) -> None:
        self._of: object = None
        self._rows: dict[int, tuple[tuple[Preview, str, Span], TranscriptRow]] = {}

    def show(self, scene: Scene, charge: Charge | None) -> None:
        """The rows of `scene` are asked for from now on, with the `charge` of its call."""
        running, head = scene.running, scene.head
        if not scene.counted:
            # Nothing is kept of it; the end of a long recording has no book yet.
            self._of = None
            self._rows.clear()
            return
        of = head, running, running.version, len(running.elsewhere), scene.book.contexts.at(head), charge, scene.partial
        if self._of != of:
            self._of = of
            self._rows.clear()

    def row(
        self, scene: Scene, node: Node, says: Preview, charge: Charge | None, call: str, cost: Span
    ) -> TranscriptRow:
        """As `rows.block_row`."""
        given, known = (says, call, cost), self._rows.get(node.id)
        if known is not None and known[0] == given:
            return known[1]
        made = rows.block_row(scene, node, says, charge, call=call, cost=cost)
        # The number of a turn may be another one when its call comes; what is not counted soon is.
        if self._of is not None and scene.running.counted(node.id) and not node.opens_turn:
            if len(self._rows) >= _MOST:
                self._rows.clear()
            self._rows[node.id] = given, made
        return made


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
