"""A diff as a list of rows: a summary, one row per change with its word diff under it, then what changes in the run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from ctxtui.analysis.content.diff import CHANGED, RESPELLED, Change, Diff, DiffSide
from ctxtui.analysis.content.normalized import words_of
from ctxtui.analysis.content.volatile import Unsteady
from ctxtui.core.word_diff import DiffSpan, word_diff
from ctxtui.views.blocks.body import Body
from ctxtui.views.blocks.word_diff import drawn
from ctxtui.views.lists import diff_rows
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans

OPENED: Final = 8
"""Changed blocks that are open from the start."""
_LINES: Final = 400
"""Lines of one open block at most: more is for the pager of its own row."""

Row = Spans | Change | Unsteady


class DiffList:
    """The rows of `found` and of the blocks that change in the run of its second side. `opened` are the indices of
    the rows that are open, `whole` says that all lines of a changed block are shown, not only those near a change."""

    def __init__(self, found: Diff, steady: Sequence[Unsteady]) -> None:
        self.found = found
        self.rows: list[Row] = [*diff_rows.summary(found), *found.changes]
        if steady:
            self.rows.append([Span("╌╌ changing within the run: the same place, other content ╌╌", "hair")])
            self.rows += steady
        changed = (i for i, row in enumerate(self.rows) if isinstance(row, Change) and row.kind == CHANGED)
        self.opened: frozenset[int] = frozenset(islice(changed, OPENED))
        self.whole = False
        self._bodies: dict[tuple[int, int, bool], Body] = {}

    def selectable(self, index: int) -> bool:
        """Whether row `index` is a difference."""
        return isinstance(self.rows[index], Change | Unsteady)

    def change(self, index: int) -> Change | None:
        """The change of row `index`."""
        row = self.rows[index] if index < len(self.rows) else None
        return row if isinstance(row, Change) else None

    def toggle(self, index: int) -> None:
        """Open row `index`, or fold it."""
        self.opened = self.opened ^ {index}

    def height(self, index: int, room: int) -> int:
        """Lines of row `index` where it is open."""
        return 1 + self._body(index, room).height(_LINES) if self.selectable(index) else 1

    def line(self, index: int, line: int, room: int, *, here: bool) -> Spans:
        """Line `line` of row `index` in `room` cells; `here` is where the cursor stands."""
        row = self.rows[index]
        if line:
            return [Span("  "), *(self._body(index, room).line(line - 1) or ())]
        if isinstance(row, Change):
            return diff_rows.row(self.found, row, room - 1, here=here)
        if isinstance(row, Unsteady):
            return diff_rows.steady_row(self.found.b, row, room - 1, here=here)
        return [Span(" "), *row]

    def _body(self, index: int, room: int) -> Body:
        key = (index, room, self.whole)
        found = self._bodies.get(key)
        if found is None:
            found = self._bodies[key] = self._made(self.rows[index], room - 3)
        return found

    def _made(self, row: Row, room: int) -> Body:
        if isinstance(row, Unsteady):
            side = self.found.b
            return Body(drawn(_words(side, side, row.nodes[-2], row.nodes[-1]), room, whole=self.whole), room)
        assert isinstance(row, Change)
        if row.before is not None and row.after is not None:
            pieces = _words(self.found.a, self.found.b, row.before, row.after, raw=row.kind == RESPELLED)
            return Body(drawn(pieces, room, whole=self.whole), room)
        side, node = (self.found.a, row.before) if row.after is None else (self.found.b, row.after)
        assert node is not None
        style = "del" if row.after is None else "add"
        lines = safe_text.lines(words_of(side.tree[node]))
        return Body(([Span("  │ ", style), *safe_text.spans(text, "ink")] for text in lines), room, hang=4)


def _words(a: DiffSide, b: DiffSide, before: int, after: int, *, raw: bool = False) -> list[DiffSpan]:
    old, new = a.tree[before], b.tree[after]
    if raw:
        return word_diff(old.block.body.decode("utf-8", "replace"), new.block.body.decode("utf-8", "replace"))
    return word_diff(words_of(old), words_of(new))
