"""The rows of blocks as they were made and drawn last: with most keys nearly all rows of a screen say what they said
before."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Final

from ctxtui.core.tree import Node
from ctxtui.views.model.call_charge import Charge, charge
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import Spans
from ctxtui.views.transcript import rows
from ctxtui.views.transcript.rows import TranscriptRow

if TYPE_CHECKING:
    from ctxtui.views.model.staging import Staging

_MOST: Final = 2000
"""Rows, and lines, that are kept."""


class KnownRows:
    """Makes the row of a block, or gives the one that it made before, as long as all that it is made of is the same: a
    key that stages an edit changes what is drawn of rows, not what they say."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._objects: tuple[object, ...] = ()
        self._charge: Charge | None = None
        self._rows: dict[int, tuple[Preview, TranscriptRow]] = {}

    def show(self, scene: Scene, path: Sequence[int]) -> Charge | None:
        """Make rows of `scene` from now on, whose context has the nodes of `path`; how its call was charged."""
        running, call = scene.running, scene.call
        # What grows in place is the same object, and another length.
        objects = running, scene.calls, scene.turns, scene.book.contexts.at(scene.head), call.usage
        of = running.version, running.done, len(scene.calls), scene.head, scene.missing, scene.partial, scene.counted
        same = len(self._objects) == len(objects) and all(map(is_, objects, self._objects))
        if not same or of != self._of:
            self._objects, self._of, self._charge = objects, of, charge(scene, path)
            self._rows.clear()
        return self._charge

    def row(self, scene: Scene, node: Node, says: Preview) -> TranscriptRow:
        """The row of a block of the scene shown, without its call and its cost."""
        known = self._rows.get(node.id)
        if known is not None and known[0] is says:
            return known[1]
        made = rows.block_row(scene, node, says, self._charge)
        if len(self._rows) >= _MOST:
            self._rows.clear()
        self._rows[node.id] = says, made
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
